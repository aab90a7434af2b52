// SPDX-License-Identifier: BSD-3-Clause
// Operations that the members of this node have come to at a board while other nodes take part: how each
// member learns of the end.
//
//   open --(it ends well, as the members take it from the board)--> the board says so
//     +----(any other end; the board has been dissolved)--> each member's message is answered, when it comes
//
// A member that the board sends away asks by message, at once or long after the end: so what has ended is
// kept until each member has its answer, or has ended itself. The loop's thread only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/server/groups/open/meeting.hpp"
#include "core/server/groups/table/group_boards.hpp"

namespace weft::server {

class BoardMeetings {
 public:
  explicit BoardMeetings(GroupBoards& boards) : boards_(boards) {}

  /// Returns the number of the meeting, never 0. plain: the answer that the members take it for if the board
  /// says that it has ended well.
  std::uint64_t add(Meeting::Kind kind, const GroupBoards::Full& full, const link::Answer& plain);
  /// The end of it, for all members that have no answer yet.
  void answer(std::uint64_t number, const link::Answer& answer);
  /// For this member only, which takes no part any more.
  void answer(std::uint64_t number, const pmix_proc_t& member, pmix_status_t status);

  /// It is in an operation of that group at a board, and has not its answer yet.
  bool holds(const pmix_proc_t& member, Meeting::Kind kind, const std::string& group) const;
  /// A member's call has come as a message: it gets the answer of the meeting that it has been in at the
  /// board, now or at its end. set: of a construct. Returns the number of the meeting; 0: it has been in none
  /// such.
  std::uint64_t claim(const Requester& from, Meeting::Kind kind, const std::string& group, const Procs* set);
  /// A process has ended, or all of a namespace.
  void lose(const pmix_proc_t& proc);

 private:
  using Bytes = std::vector<std::byte>;
  struct Member {
    pmix_proc_t proc;
    Requester from{};  ///< of tag 0: its message has not come
    Bytes answer{};    ///< what it gets then; empty: the meeting has not ended for it
  };
  struct Entry {
    Meeting::Kind kind;
    std::string group;
    Procs set;
    BoardTicket ticket;
    Bytes plain;
    std::vector<Member> waiting;  ///< that have no answer yet
  };

  static bool settle(Member& member, const Bytes& answer);

  GroupBoards& boards_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Entry> open_;
};

}  // namespace weft::server
