// SPDX-License-Identifier: BSD-3-Clause
// The boards of groups from the side of a simulated process: as client::GroupMeetings, and by the same steps
// of store::BoardMember, without a thread that waits. What does not end well at a board becomes a message.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/link/requests.hpp"
#include "core/server/jobs/proc_set.hpp"
#include "core/server/loop/loop.hpp"
#include "core/store/boards/board_member.hpp"
#include "core/store/boards/group_ledger.hpp"
#include "core/store/segment/board_pool.hpp"

namespace weft::simulation {

class GroupBoards {
 public:
  using Time = server::Loop::TimePoint;
  /// Its place at the board of one array of members.
  struct Seat {
    server::Procs array;
    link::RankRuns members;
    store::BoardNumber number;
    std::unique_ptr<store::BoardMember> member;
    store::GroupLedger* ledger;  ///< null: another member writes it
  };
  using SeatRef = std::shared_ptr<Seat>;
  /// What is under way at one.
  struct Meeting {
    SeatRef seat;
    store::BoardMember::Entry entry;
    Time since, asks_at;  ///< then it asks the server to end it
    /// well: it has ended for all members, by group rank. Else it has to be a message.
    std::function<void(bool well, const link::RankRuns& members, std::chrono::milliseconds waited)> end;
  };
  /// What the process says to its server.
  struct Words {
    std::function<void(store::NoticeKind, store::BoardNumber)> note;
    std::function<void(const link::Withdraw&)> withdraw;
  };

  explicit GroupBoards(Words say) : say_(std::move(say)) {}

  /// A construct with that array has ended by message.
  void take_seat(const store::JobView& job, const pmix_proc_t& self, server::Procs array,
                 const link::GroupMembers& offer);
  SeatRef of_array(const server::Procs& array) const;
  SeatRef of_members(const link::RankRuns& members) const;
  /// False: there is no place at the board any more. timeout: of the call.
  bool enter(const SeatRef& seat, store::GroupAct act, const std::string& group,
             std::optional<std::chrono::milliseconds> timeout, Time now, decltype(Meeting::end) end);
  /// True: something has moved.
  bool look(Time now);
  /// When look() has something to do though nothing comes; max(): never.
  Time deadline() const;
  std::size_t open() const noexcept { return meetings_.size(); }
  void clear();

 private:
  const Words say_;
  std::vector<SeatRef> seats_;  ///< the one that was taken last at the end
  std::deque<Meeting> meetings_;
};

}  // namespace weft::simulation
