// SPDX-License-Identifier: BSD-3-Clause
// The boards at which sets of processes of this node make and end groups by themselves (core/client/group_meetings.hpp), from the server's side:
// which set has one, when it is dissolved, and what its members have made. The loop's thread only.
//
//   none --(a construct by message has ended, and no other is under way)--> open --(a message about a group of the set; a member ends;
//   a member has waited for long; tags that differ)--> dissolved --(the last member has let go)--> none
//
// Dissolving    ends what is under way there for all its members: each of them sends a message then. So whatever is not the plain case is
//               decided by messages, in one place (gatherings.hpp).
// Records       Members write the names of what they make into the board's ledger, and the server reads them when it needs its table of
//               groups: what a message tells of has its records before it.
#pragma once

#include <optional>
#include <vector>

#include "core/link/requests.hpp"
#include "core/server/jobs/proc_set.hpp"
#include "core/store/board_pool.hpp"

namespace weft::server {

class GroupBoards {
 public:
  /// What members of one board have made or ended, in their order.
  struct Made {
    link::RankRuns members;
    std::vector<store::GroupRecord> records;
  };

  explicit GroupBoards(shm::Segment& segment) : pool_(segment, store::PoolPart::groups) {}

  /// A board for the set, which has none; members: all of it, by group rank, each of them here and with the segment. Nothing: there is none to spare.
  std::optional<link::GroupMembers> open(const Procs& set, const link::RankRuns& members);
  /// What is under way at the board of this set becomes messages; the set has no board any more.
  void dissolve(const Procs& set);
  /// A process has ended, or all of a namespace: the same for all its sets.
  void lose(const pmix_proc_t& proc);

  bool owns(store::BoardNumber number) const noexcept { return pool_.owns(number); }
  /// A member of the board says that it has waited for long.
  void withdraw(const pmix_proc_t& member, store::BoardNumber number, store::Generation generation);
  /// A process's notice: its board is full of tags that differ, or records wait. number 0: any of its boards.
  void look_at(const pmix_proc_t& member, store::BoardNumber number);

  /// What has been made since the last call, board by board.
  std::vector<Made> take_records();

 private:
  struct Place {
    Procs set;
    link::RankRuns members;
    std::uint32_t count;
    store::BoardNumber number;
    store::Generation read;                        ///< up to which records were read
    std::optional<store::Generation> dissolved{};  ///< the first that has not succeeded
    bool is_given_back = false;                    ///< its slot; else a member still holds it
    std::vector<store::GroupRecord> records{};     ///< that were read and not taken
  };

  void dissolve(Place& place);
  void read_records(Place& place);
  void sweep();

  store::BoardPool pool_;
  std::vector<Place> places_;
};

}  // namespace weft::server
