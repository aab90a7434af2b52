// SPDX-License-Identifier: BSD-3-Clause
// Construct, destruct and fences of groups at a board of the members of this node: no message, and where all
// members are here no daemon in the path. Any thread.
//
// A seat    is this process's place at the board of one array of members. The server offers it with the
//           answer to a construct that was a message; it serves the next constructs with that array, and the
//           destructs of their groups.
// A tag     goes with each arrival: a hash of the operation and the name. The members' tags agree, and the
//           operation has ended well for all; or it becomes a message of each member, and they meet by name
//           at the server (core/server/groups/operation/gatherings.hpp). Where there are members on other
//           nodes the server compares the tags, exchanges with the others, and ends the operation at the
//           board.
// Messages  win: any message about a group of these members has the server dissolve the board first. An
//           operation that has not ended there becomes a message, too, so no member waits at one place for a
//           member that waits at the other.
// Patience  A member that has waited for a moment has the board dissolved. So deadlines, deaths, reports of
//           what is stuck and the state of the server's loop are all those of messages.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/client/fence/board_fence.hpp"
#include "core/client/fence/set_fences.hpp"
#include "core/link/requests.hpp"

namespace weft::client {

class GroupMeetings {
 public:
  using Procs = std::span<const pmix_proc_t>;
  static constexpr std::size_t most_seats = 64;
  static constexpr std::chrono::milliseconds patience{50};
  /// The members of a group come to its fences in their own time, and the server is needed only when one ends
  /// or leaves: it dissolves the board then.
  static constexpr std::chrono::milliseconds fence_patience{2000};

  /// How an operation went at a board.
  struct Outcome {
    bool has_ended = false;               ///< well, for all members; false: it has to be a message
    std::chrono::milliseconds waited{0};  ///< before it was clear that it has to be one
  };

  GroupMeetings(const pmix_proc_t& self, Connection& connection) : self_(self), connection_(connection) {}
  /// REQUIRES: before the first operation that may use a board. Until then every operation is a message.
  /// What the boards refer to outlives this object.
  void attach(const JobBoards& boards) { boards_ = boards; }

  /// members: gets the group's, by group rank, if it has ended.
  Outcome construct(std::string_view name, Procs procs, const data::Infos& directives,
                    link::RankRuns& members);
  /// members: of the group, as construct gave them.
  Outcome destruct(std::string_view name, const link::RankRuns& members, const data::Infos& directives);
  /// As destruct(), for a fence of the group. The cards of members of other nodes come, whatever
  /// PMIX_COLLECT_DATA says.
  Outcome fence(std::string_view name, const link::RankRuns& members, const data::Infos& directives);
  /// A construct with that array has ended by message.
  void take_seat(Procs procs, const link::GroupMembers& offer);

 private:
  struct Seat {
    ProcList array;
    link::RankRuns members;
    bool is_remote;  ///< some of them are on other nodes
    std::shared_ptr<BoardFence> board;
    store::GroupLedger* ledger;  ///< null: another member writes it
  };
  using SeatRef = std::shared_ptr<Seat>;
  using Act = store::GroupAct;

  template <class Matches>
  SeatRef find(Matches&& matches) const;
  Outcome meet_members(Act act, std::string_view name, const link::RankRuns& members,
                       const data::Infos& directives);
  void leave(const SeatRef& seat);
  bool may_block() const noexcept;
  Outcome meet(const SeatRef& seat, Act act, std::string_view name, const data::Infos& directives);
  void write_record(const Seat& seat, BoardFence::Ticket& ticket, Act act, std::string_view name);

  const pmix_proc_t self_;
  Connection& connection_;

  JobBoards boards_;  ///< empty until attach()

  mutable std::mutex mutex_;    // guards the rest
  std::vector<SeatRef> seats_;  ///< the one that was taken last at the end
};

}  // namespace weft::client
