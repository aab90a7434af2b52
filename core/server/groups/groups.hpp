// SPDX-License-Identifier: BSD-3-Clause
// Groups that the servers make, and processes that they connect: what becomes of a construct, destruct, connect or disconnect when the
// participants of this node have met. On one node it
// ends there; else it is one exchange of the servers, under a signature of its own, so that fences of the same processes and
// operations of other groups cannot mix with it. The host hears nothing. The loop's thread only.
//
// Generations   As those of fences (Exchanges): an attempt that fails on one node is refused there, so that the attempts of all nodes
//               pair up. One that another node gave up for its time-out, or for other members, before this node came to it is passed over. A generation that was refused because another node asked stands for the next attempt of this one.
// Agreement     The name and the set make the signature. Nodes whose members named other members are in two collectives that wait for ever;
//               each looks once a second for another of the same name (Exchanges::end_rivals), and ends both.
// Source: RFC 0033; PMIx Standard, chapter "Process Sets and Groups".
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "core/server/events/event_relay.hpp"
#include "core/server/fences/card_exchange.hpp"
#include "core/server/groups/group_part.hpp"
#include "core/server/groups/group_table.hpp"
#include "core/server/groups/meeting.hpp"

namespace weft::server {

class Groups {
 public:
  /// exchanges: null where there is no other node. server: the upper half of context identifiers.
  Groups(asio::io_context& loop, Jobs& jobs, Gets& gets, CardExchange& cards, Exchanges* exchanges,
         EventRelay& events, GroupBoards& boards, std::uint32_t server)
      : loop_(loop),
        jobs_(jobs),
        gets_(gets),
        cards_(cards),
        exchanges_(exchanges),
        events_(events),
        boards_(boards),
        server_(server),
        table_(boards) {}

  /// As Rooms::join().
  void join(Exchanges& exchanges) noexcept { exchanges_ = &exchanges; }

  GroupTable& table() noexcept { return table_; }
  GroupBoards& boards() noexcept { return boards_; }

  /// All participants of this node have come, or are left out: answers them when the operation has ended.
  void run(Meeting meeting);
  /// It fails on this node: answers those that have come, and ends the operation at the other nodes.
  void fail(const Meeting& meeting, pmix_status_t why);
  /// The attempt that another node is in fails here before any participant has come.
  void refuse(const Participants& participants, pmix_status_t why);
  Participants participants_of(const Meeting& meeting) const;
  /// Attempts of this operation that have begun or failed here.
  std::uint64_t attempts(const Participants& participants) const;
  bool has_other_nodes(const Procs& set) const;
  /// PMIx_Connect has returned for these processes, and PMIx_Disconnect has not.
  bool are_connected(const Procs& set) const { return connected_.count(link::runs_of(set)) != 0; }
  /// With each job that is named as a whole spelt by its ranks, in the order of `procs`.
  link::RankRuns by_rank(const Procs& procs) const;
  /// Operations that are under way between the nodes, as Fences::open_parts().
  std::vector<FencePart> open_parts() const;

  /// A process has ended, or has finalized: groups that asked for it tell their members here. Returns its groups that have no member of
  /// this node any more.
  std::vector<std::string> process_ended(const pmix_proc_t& proc);
  /// The namespace has ended here.
  void forget(const std::string& nspace);
  /// No collective begins from here on: the cluster ends.
  void stop_exchanging() noexcept { may_exchange_ = false; }

 private:
  struct Operation;
  using OperationRef = std::shared_ptr<Operation>;

  bool are_all_here(const Procs& set) const;
  GroupPart part_of(const Meeting& meeting);
  void exchange(const OperationRef& operation);
  void exchanged(const OperationRef& operation, CardExchange::End end);
  void watch_rivals();
  void end(const Meeting& meeting, const std::vector<GroupPart>& parts);
  bool may_meet_at_board(const Meeting& meeting, const link::RankRuns& members) const;
  void store(const GroupPart& part, std::uint64_t context_id);
  bool store(const MemberData& data, std::uint64_t context_id);
  bool has_live_members(const Group& group, const pmix_proc_t& ended) const;
  void tell_members(pmix_status_t code, const std::string& name, const Group& group,
                    const pmix_proc_t& about);

  asio::io_context& loop_;
  Jobs& jobs_;
  Gets& gets_;
  CardExchange& cards_;
  Exchanges* exchanges_;
  EventRelay& events_;
  GroupBoards& boards_;
  const std::uint32_t server_;
  GroupTable table_;
  std::multiset<link::RankRuns> connected_;
  std::uint32_t last_context_ = 0;
  std::map<collectives::Signature, unsigned> refused_ahead_;  ///< generations
  std::map<Exchanges::Key, OperationRef> open_;
  bool may_exchange_ = true;
  std::unique_ptr<asio::steady_timer> rival_timer_;  ///< while an operation is under way
};

}  // namespace weft::server
