// SPDX-License-Identifier: BSD-3-Clause
// All fences of this node's processes: which set has which board, what moves a set
// from state to state, and which ranks are missing.
//
//   a member arrives   at its board in the segment, or here by message, where the server's stand-in arrives
//                      for it
//   the board is full  (a notice of the last member, if other nodes take part) -> CardExchange -> the
//                      generation ends
//   a member is lost, a deadline passes, another node asks -> the table of fence_steps.hpp
//
// Threads   The loop's.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>
#include "core/server/loop/loop.hpp"

#include "core/link/messages.hpp"
#include "core/server/connections/connection.hpp"
#include "core/server/counter.hpp"
#include "core/server/fences/exchange/card_exchange.hpp"
#include "core/server/fences/fence_board.hpp"
#include "core/server/fences/local_part.hpp"

namespace weft::server {

class Fences {
 public:
  struct Settings {
    std::optional<bool> collects;  ///< WEFT_FENCE: whether cards travel, whatever the callers ask for
  };
  Fences(Loop& loop, Jobs& jobs, CardExchange& cards, Cluster& cluster, Exchanges& exchanges,
         shm::Segment& segment, Settings settings);
  ~Fences();

  // Jobs and their processes.
  void open_job(const Job& job);
  void close_job(const std::string& nspace);
  /// A process takes its place: for the first time, or again.
  void join(const Job& job, std::uint32_t local);
  /// A local process will not arrive any more, because of `status`.
  void lose(const Job& job, std::uint32_t local, pmix_status_t status);
  /// The connection of a client is closed, for whatever reason.
  void disconnect(const ClientConnection& connection);

  // Messages of clients.
  /// A set with a namespace that the host has not registered yet waits for that: as long as the caller's
  /// PMIX_TIMEOUT, else registration_wait.
  void enter(const ConnectionRef& connection, std::uint64_t tag, link::Fence message);
  void withdraw(const ClientConnection& connection, const link::Withdraw& message);
  void take_directives(const ClientConnection& connection, link::FenceDirectives message);
  void turned_away(const ClientConnection& connection, const link::TurnedAway& message);
  /// A member's notice: the board of that number is full, or members of it want messages. all: some notice
  /// was lost.
  void look_at(const Job& job, store::BoardNumber number);
  void look_at_all(const Job& job);

  /// No collective begins from here on: the cluster ends.
  void stop_exchanging() noexcept { may_exchange_ = false; }

  // The missing ranks: the one computation that the stuck report, weftinfo and other nodes read.
  /// Fences that a local member has entered. Between nodes the generation is that of the collective, the same
  /// at all nodes.
  std::vector<FencePart> open_parts();
  /// This node's part in a fence that another node has named. Nothing: processes that are not known here.
  std::optional<FencePart> part_in(const FenceName& name);
  /// The nodes of the fence's participants; empty: not known, or the host exchanges and each node knows its
  /// own side only.
  std::vector<NodeNumber> nodes_of(const FenceName& name) const;
  struct Waiting {
    FencePart part;
    std::chrono::seconds age;
    bool is_between_nodes;         ///< by our own collective
    bool is_ours_to_tell = false;  ///< also where a lower node is in it
    std::string also{};            ///< what is missing besides, in words
  };
  /// Fences in which local members have waited for local members for `limit`; each once.
  std::vector<Waiting> waiting_for(std::chrono::seconds limit);

  struct Counters {
    std::uint64_t by_message = 0;  ///< fences that a client entered by message
    std::uint64_t boards = 0;      ///< sets that have a board of the pool now
    std::uint64_t no_board = 0;    ///< sets that got none, once a fence
  };
  Counters counters() const;

 private:
  using BoardRef = store::SetBoards<FenceBoard>::Ref;
  using Verdict = store::Board::Verdict;

  BoardRef board_of(const Job& job) const;
  BoardRef find(const Procs& procs) const;
  BoardRef find(const Job& job, store::BoardNumber number) const;
  BoardRef open(const Procs& procs);
  std::optional<FenceBoard::Shape> shape_of(const Participants& procs) const;
  std::optional<store::SetBoard> take_place(const FenceBoard::Shape& shape);
  bool give_back(const BoardRef& fence);
  bool means_whole_job(const Procs& procs, const ClientConnection& connection) const;

  /// cause: of a failure, a loss, or a deadline.
  void step(const BoardRef& fence, FenceEvent event, Verdict cause = {PMIX_SUCCESS, store::Board::no_member});
  enum class Try { first, with_everything };
  void begin_exchange(const BoardRef& fence, Try which = Try::first);
  store::KeptEntry begin_trace(const FenceBoard& fence) const;
  void exchange_ended(const BoardRef& fence, CardExchange::End end, Try which = Try::first);
  void failed_here(const BoardRef& fence, store::Generation generation, pmix_status_t why);
  void look(const BoardRef& fence);
  void send_moved(FenceBoard& fence);
  void answer(FenceBoard& fence, const FenceBoard::Reply& reply);
  void enter_when_registered(const std::string& nspace, const ConnectionRef& connection, std::uint64_t tag,
                             link::Fence message);
  void arm_deadline(const BoardRef& fence, std::uint32_t member, store::Generation generation,
                    std::chrono::milliseconds after);

  bool is_by_host(const FenceBoard& fence) const noexcept;
  bool has_all_directives(FenceBoard& fence) const;
  CardExchange::Load load_of(store::Wants wants) const noexcept;
  static data::Infos directives_for_host(bool collect, pmix_status_t here);
  FenceBoard::Failed failure(store::Wants wants, pmix_status_t why) const;
  void failed_at_host(const BoardRef& fence, store::Generation generation, pmix_status_t why);
  void turned_away(const BoardRef& fence, std::uint32_t member, store::Generation generation);
  void tell_host(const BoardRef& fence);

  FencePart part_of(const Procs& procs, std::uint64_t generation, const HasArrived& has_arrived) const;
  FencePart part_of(FenceBoard& fence);
  FencePart part_in(const Participants& procs, std::uint64_t generation);
  std::optional<Participants> known_participants(const FenceName& name) const;
  void answer_part(Bytes body, const Rpc::Reply& reply);
  void end_hopeless(const Participants& procs, std::uint64_t generation);
  pmix_status_t hopeless(const Procs& procs) const;

  Loop& loop_;
  Jobs& jobs_;
  CardExchange& cards_;
  Exchanges& exchanges_;
  const Settings settings_;
  bool may_exchange_ = true;
  store::SetBoards<FenceBoard> boards_;
  Counters counters_;
};

inline constexpr Counter<Fences> fence_counters[] = {
    {"fences.by_message", "fences that a client entered by a message and not at a board",
     [](Fences& fences) { return fences.counters().by_message; }},
    {"boards.in_use", "sets that are not a whole job and have a board now",
     [](Fences& fences) { return fences.counters().boards; }, Measure::things_now},
    {"boards.refused", "sets that found no board free",
     [](Fences& fences) { return fences.counters().no_board; }},
};

}  // namespace weft::server
