// SPDX-License-Identifier: BSD-3-Clause
// Groups whose members do not know each other: each leader knows how many leaders there are, and its own
// members (PMIX_GROUP_BOOTSTRAP, PMIX_GROUP_ADD_MEMBERS); these know the name alone. They are brought
// together by the server that the name itself names among all that know their job, and with all members known
// the construct is one like any other. The loop's thread only.
//
//   PMIx_Group_construct -> group_bootstrap to that server -> all leaders and all that they name are there ->
//   the replies, with all members -> each server has its own enter the construct (Gatherings)
//
// Place     Each name puts the nodes in an order of its own, and a call goes to the first one whose server
//           knows the caller's job: a server without processes, as weftrun's own, hears of no death. So
//           callers of one job meet, and those of several jobs where all of their servers know these jobs.
// Order     Leaders by namespace and rank, each before the members that it has added.
// Loss      A caller that ends or gives up, and a process that a leader has named and that ends, end it for
//           all; with PMIX_GROUP_OPTIONAL a named process is left out. When that server's node is lost, a view
//           says for each call that waits for it whether one of the servers has had its reply for a group with
//           this caller: then that is the reply, else the call goes to the next server in that order.
// One end   That server alone says how an attempt has ended, also to a caller whose time-out has passed. Calls
//           that come after an attempt has failed belong to it as long as they may (owes()). Each server
//           remembers which of its processes were in an attempt that has failed: a view gives the servers that
//           are left what a lost one has remembered.
// Source: PMIx Standard, chapter "Process Sets and Groups", "Bootstrap method".
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include "core/server/loop/loop.hpp"

#include "core/server/connections/requester.hpp"
#include "core/server/groups/operation/gatherings.hpp"
#include "core/server/groups/table/kept_wait.hpp"
#include "core/server/groups/table/peer_calls.hpp"
#include "core/server/operations/latest.hpp"

namespace weft::server {

/// A process has called, or will not be there any more.
struct BootstrapCall {
  static constexpr std::uint16_t wire_version = 3;
  std::string group;
  pmix_proc_t proc{};
  pmix_status_t status = PMIX_SUCCESS;  ///< another: why it is gone
  std::uint64_t leaders = 0;            ///< how many there are, of a leader; 0: it was added by one
  link::RankRuns members;               ///< of a leader: itself, and those that it adds
  bool is_optional = false;
};
template <class Archive>
void fields(Archive& archive, BootstrapCall& m) {
  archive(m.group, m.proc, m.status, m.leaders, m.members, m.is_optional);
}
inline bool is_valid(const BootstrapCall& m) {
  return link::procs_of(m.members).has_value();
}

/// The reply.
struct BootstrapReply {
  static constexpr std::uint16_t wire_version = 2;
  enum class Outcome : std::uint8_t {
    ended,        ///< with a status for the process
    failed,       ///< the attempt, with that status for all that are in it
    job_unknown,  ///< to that server: it hears of no end of the job's processes
  };
  Outcome outcome = Outcome::ended;
  pmix_status_t status = PMIX_SUCCESS;
  link::RankRuns members{};  ///< of PMIX_SUCCESS
};
template <class Archive>
void fields(Archive& archive, BootstrapReply& m) {
  archive(m.outcome, m.status, m.members);
}
inline bool is_valid(const BootstrapReply& m) {
  return m.outcome <= BootstrapReply::Outcome::job_unknown;
}

/// What a server knows of a bootstrap whose server may be lost, and what a view makes of that (ViewRoomOf).
struct BootstrapItem {
  static constexpr std::uint16_t wire_version = 1;
  bool is_open = false;  ///< calls wait there for a lost server, or it has remembered a failure
  std::string group;
  std::vector<link::RankRuns> ready{};  ///< the members of each group whose construct is under way
  pmix_status_t why = PMIX_SUCCESS;     ///< the latest attempt has failed
  std::vector<BootstrapCall> failed{};  ///< its calls

  const std::string& key() const { return group; }
  void add(BootstrapItem other);
};
template <class Archive>
void fields(Archive& archive, BootstrapItem& m) {
  archive(m.is_open, m.group, m.ready, m.why, m.failed);
}

class Bootstraps final : ViewRoomOf<BootstrapItem> {
 public:
  Bootstraps(Loop& loop, const Jobs& jobs, PeerCalls& peers, const Groups& groups,
             const OpenOperations& operations, Gatherings& gatherings);

  static bool is_for(const link::GroupConstruct& message);
  void enter(const Requester& from, link::GroupConstruct message);
  /// A process of any node has ended, or one of this node has finalized.
  void lose(const pmix_proc_t& proc, pmix_status_t status);
  void forget(std::string_view nspace);

  /// What comes together here.
  void each_wait(const SeeWait& see);
  /// A process of this node, in what any node brings together.
  bool has_called(const FenceName& name, const pmix_proc_t& proc) const;

 private:
  /// A call of a process of this node.
  struct Waiting : KeptRequest {
    Requester from;
    link::GroupConstruct message;
    BootstrapCall call;
    std::unique_ptr<Timer> deadline{};
    std::optional<std::list<std::shared_ptr<Waiting>>::iterator>
        at{};                            ///< in waiting_; nothing: it has ended
    std::set<NodeNumber> passed_over{};  ///< nodes whose servers do not know the process's job
    std::unique_ptr<Timer> pause{};
    Loop::TimePoint since{};
  };
  using WaitingRef = std::shared_ptr<Waiting>;
  /// At the server that brings them together.
  using Reply = std::function<void(const BootstrapReply&)>;
  struct Caller {
    BootstrapCall call;
    Reply reply;  ///< null: it has had it
  };
  /// One attempt. That of the latest that has failed is kept for calls that belong to it and come later.
  struct Boot {
    std::vector<Caller> callers{};
    Procs left_out{};
    std::size_t named = 0;  ///< by leaders that have called, without those that are left out
    Loop::TimePoint since;
    bool is_reported = false;
    // Of one that has failed:
    pmix_status_t status = PMIX_SUCCESS;
    NodeNumber place = 0;  ///< whose server answers late calls; at any other only its own processes are known
    bool is_followed = false;  ///< processes that were in it have called again: another attempt has begun
  };
  using Boots = std::map<std::string, Boot>;
  using BootAt = Boots::iterator;
  static constexpr std::chrono::seconds watch_period{2};
  static constexpr std::size_t most_names = 1024;  ///< that are remembered
  pmix_status_t read(const Requester& from, const link::GroupConstruct& message, BootstrapCall& out) const;
  void send(const WaitingRef& waiting);
  void replied(const WaitingRef& waiting, pmix_status_t status, Bytes body);
  void finish(const WaitingRef& waiting, pmix_status_t status, const link::RankRuns& runs);
  void note_failure(const Waiting& waiting, pmix_status_t status);
  void tell_end(const WaitingRef& waiting, pmix_status_t status);
  void erase(const WaitingRef& waiting);
  NodeNumber place_of(const std::string& group, const std::set<NodeNumber>& passed_over) const;
  void look_elsewhere(const WaitingRef& waiting);
  void take(NodeNumber from, BootstrapCall call, const Rpc::Reply& reply);
  void add(BootstrapCall call, const Reply& reply);
  bool is_under_way(const std::string& group, const Procs& members) const;
  pmix_status_t leave_out_gone(Boot& boot) const;
  void look(BootAt boot);
  void watch();
  void ask_for_ended(const std::string& group, const Boot& boot);
  static Procs members_of(const Boot& boot);
  static std::uint64_t wanted_leaders(const Boot& boot);
  static std::uint64_t leaders_of(const Boot& boot);
  static bool has_called(const Boot& boot, const pmix_proc_t& proc);
  static FenceName name_of(const std::string& group, const Boot& boot);
  void end(BootAt boot, pmix_status_t status);
  static bool owes(const Boot& failed, const BootstrapCall& call);
  void answer_late(const std::string& group, std::vector<Caller> late);
  void remember(const BootstrapItem& item);

  bool is_orphan(const Waiting& waiting) const { return waiting.at && peers_.is_gone(waiting.keeper); }
  bool has_undecided() const override;
  std::vector<BootstrapItem> items() const override;
  void settle(std::vector<BootstrapItem> decided) override;

  Loop& loop_;
  const Jobs& jobs_;
  PeerCalls& peers_;
  const Groups& groups_;
  const OpenOperations& operations_;
  Gatherings& gatherings_;
  std::list<WaitingRef> waiting_;
  Boots boots_;
  std::unique_ptr<Timer> watch_timer_;  ///< while there are some
  /// The latest of each name. A process that calls for a forgotten one begins another, and waits there for
  /// its time-out.
  Latest<std::string, Boot, most_names> failed_;
  /// Of the latest of each name; those whose construct is under way here are not forgotten.
  Latest<std::string, Procs, most_names> latest_members_;
  std::set<std::pair<std::string, pmix_rank_t>> gone_;
};

}  // namespace weft::server
