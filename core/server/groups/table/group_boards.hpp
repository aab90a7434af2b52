// SPDX-License-Identifier: BSD-3-Clause
// The boards at which the members of this node make and end groups (core/client/group/group_meetings.hpp),
// from the server's side: which set has one, when it is dissolved, and what its members have made. The loop's
// thread only.
//
// Where all members are here they do it by themselves. Where some are not, the last one leaves the full board
// to the server: look_at() says what they mean, and what becomes of it is told by complete() or by
// dissolve().
//
//   none --(a construct by message has ended, and no other is under way)--> open
//   open --(a message about a group of the set; a member ends; a member has waited for long;
//           tags that differ)--> dissolved --(the last member has let go)--> none
//
// Dissolving    ends what is under way there for all its members: each of them sends a message then. So
//               whatever is not the plain case is decided by messages, in one place (gatherings.hpp).
// Records       Members write the names of what they make into the board's ledger, and the server reads them
//               when it needs its table of groups: what a message tells of has its records before it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "core/link/requests.hpp"
#include "core/server/jobs/proc_set.hpp"
#include "core/store/segment/set_boards.hpp"

namespace weft::server {

/// The board of one set's groups.
class GroupBoard : public store::SetBoard {
 public:
  GroupBoard(const store::SetBoard& at, Procs procs, link::RankRuns by_rank, Procs local)
      : SetBoard(at),
        set(std::move(procs)),
        members(std::move(by_rank)),
        here(std::move(local)),
        read(board().open_generation() - 1) {}

  const Procs set;
  const link::RankRuns members;                ///< all of them, by group rank
  const Procs here;                            ///< those of this node, by cell
  store::Generation read;                      ///< up to which records were read
  std::optional<store::Generation> dissolved;  ///< the first that has not succeeded

  store::GroupLedger& ledger() const noexcept { return store::ledger_of(board()); }
};

/// An operation at a board.
struct BoardTicket {
  std::shared_ptr<GroupBoard> board;
  store::Generation generation;
};

class GroupBoards {
 public:
  /// What members have made or ended at their boards, in their order.
  using Made = std::map<link::RankRuns, std::vector<store::GroupRecord>>;
  /// What the members of this node have come to, and wait for.
  struct Full {
    BoardTicket ticket;
    store::GroupRecord record;
  };

  explicit GroupBoards(shm::Segment& segment) : boards_(segment, store::PoolPart::groups) {}

  /// A board for the set, which has none; members: all of it, by group rank; here: those of this node, in the
  /// same order, all of this job and with the segment. Nothing: there is none to spare.
  std::optional<link::GroupMembers> open(const store::JobView& job, const Procs& set,
                                         const link::RankRuns& members, const link::RankRuns& here);
  /// What is under way at the board of this set becomes messages; the set has no board any more.
  void dissolve(const Procs& set);
  /// A process has ended, or a namespace whose memory goes: the same for all its sets.
  void lose(const pmix_proc_t& proc);

  bool owns(store::BoardNumber number) const noexcept { return boards_.owns(number); }
  /// A member of the board says that it has waited for long.
  void withdraw(const pmix_proc_t& member, store::BoardNumber number, store::Generation generation);
  /// A process's notice: its board is full, or records wait. number 0: any of its boards. Returns what the
  /// members of this node have agreed upon, each once; a full board of tags that differ is dissolved.
  std::vector<Full> look_at(const pmix_proc_t& member, store::BoardNumber number);
  /// What the members have come to has ended well, for all of them. False: it has become messages before.
  bool complete(const BoardTicket& ticket);
  /// It has not, or needs the members' own calls.
  void dissolve(const BoardTicket& ticket);

  // Members that had arrived at a board when it was dissolved: each of them sends a message, and has called
  // before that comes.
  /// Those whose messages have not come, of the operation with this tag (store::tag_of()).
  Procs sent_away(std::uint64_t tag) const;
  /// The message of one of them has come.
  void came(const pmix_proc_t& member, std::uint64_t tag);

  /// What has been made since the last call.
  Made take_records();

 private:
  using Ref = store::SetBoards<GroupBoard>::Ref;
  struct SentAway {
    pmix_proc_t member;
    std::uint64_t tag;
  };
  /// Beyond that the oldest goes, whose message counts as a call that comes with it.
  static constexpr std::size_t most_sent_away = 4096;

  bool dissolve(const Ref& board);
  void keep_arrivals(const GroupBoard& board);
  void read_records(GroupBoard& board);
  std::optional<Full> read_full(const Ref& board);
  std::vector<Ref> boards_of(const pmix_proc_t& member, store::BoardNumber number) const;
  static bool is_open(const BoardTicket& ticket) noexcept;
  void sweep();

  store::SetBoards<GroupBoard> boards_;
  Made made_;  ///< read, and not taken
  std::deque<SentAway> sent_away_;
};

}  // namespace weft::server
