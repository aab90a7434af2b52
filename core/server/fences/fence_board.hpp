// SPDX-License-Identifier: BSD-3-Clause
// One set of processes at its fences, as the server of a node holds it: its board, its local members, and the
// server's stand-in for each member that fences by message. The loop's thread only.
//
// The board lies in the segment: a whole job's own, or one of the pool for any other set. A set that gets
// none of the pool has a board in this process's memory, where every member is stood in for.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>
#include "core/server/loop/loop.hpp"

#include "core/server/fences/absences.hpp"
#include "core/server/fences/exchange/exchange.hpp"
#include "core/server/fences/fence_directives.hpp"
#include "core/server/fences/fence_steps.hpp"
#include "core/server/fences/participants.hpp"
#include "core/server/fences/stuck.hpp"
#include "core/server/jobs/jobs.hpp"
#include "core/store/boards/board_member.hpp"
#include "core/store/segment/set_boards.hpp"

namespace weft::server {

class FenceBoard : public store::SetBoard {
 public:
  /// A local member; its place in the list is its cell.
  struct Member {
    std::string nspace;
    std::uint32_t local;
    pmix_status_t lost = PMIX_SUCCESS;  ///< why it cannot arrive
  };
  /// A fence that a member entered by message.
  struct Request {
    ConnectionRef connection;
    std::uint64_t tag;
    store::BoardMember::Entry entry;
    std::unique_ptr<Timer> deadline;
  };
  /// A request that has ended.
  struct Reply {
    ConnectionRef connection;
    std::uint64_t tag;
    pmix_status_t status;
    std::uint32_t member;
    store::Generation generation;
    bool is_turned_away;     ///< it did not arrive: the board is broken, and the host is to hear it
    bool is_last;            ///< the member has no other request open
    store::Generation next;  ///< of the member's next fence
  };
  struct Shape {
    Participants procs;
    std::vector<Member> members;
    bool is_remote = false;  ///< other nodes take part
  };

  /// In the segment.
  FenceBoard(Shape shape, const store::SetBoard& at);
  /// Without a place in the segment.
  explicit FenceBoard(Shape shape);

  const Participants& procs() const noexcept { return shape_.procs; }
  bool is_of_job() const noexcept { return memory_.empty() && !is_pooled(); }
  std::vector<Member>& members() noexcept { return shape_.members; }
  std::optional<std::uint32_t> member_of(std::string_view nspace, std::uint32_t local) const;

  store::Wants wanted() const noexcept { return board().wanted(cells()); }
  bool has_arrived(std::string_view nspace, std::uint32_t local, store::Generation generation) const;
  /// The server's stand-in takes the request's ticket. Nothing: the member is at the board itself.
  Request* enter(std::uint32_t member, const ConnectionRef& connection, std::uint64_t tag,
                 store::Wants wants);
  /// Steps all stand-ins until none of them moves. True: the server has to look at the board (it is full, or
  /// members want messages). ended: gets what is to be answered.
  bool step(std::vector<Reply>& ended);
  bool has_requests() const noexcept;
  /// A fence that the member entered by message is open.
  bool is_stood_in_for(std::uint32_t member) const;
  Request* find(std::uint32_t member, store::Generation generation);
  /// The connection is closed: its requests end without a reply.
  void drop(const ClientConnection& connection);
  /// The generation at which a member begins that fences by message. It has no stand-in until then, and may
  /// go to the board by itself.
  void begin_at(std::uint32_t member, store::Generation next);
  /// A lost member is back, in another process: all begin at the open generation.
  void begin_anew(std::uint32_t member);

  // Where the set stands between the nodes; Fences moves it by the table of fence_steps.hpp.
  FenceState state = FenceState::gathering;
  store::Generation exchanged = 0;                    ///< that is being exchanged
  std::optional<Exchanges::Key> exchange;             ///< by ourselves
  std::vector<store::Board::Verdict> lost_meanwhile;  ///< members, while it is exchanged
  StuckClock clock;
  store::KeptEntry traced;  ///< of the generation that is being exchanged

  // For a set whose fences the host carries.
  struct Failed {
    bool collect;
    data::Infos directives;
  };
  FenceDirectives directives;
  Absences absences;
  std::deque<Failed> untold;  ///< fences of which the host has not heard

 private:
  struct StandIn {
    StandIn(store::ServerBoard& board, std::uint32_t member, store::Incarnation incarnation,
            store::Generation next)
        : at(board, member, incarnation, next) {}
    store::BoardMember at;
    std::deque<Request> requests;
  };
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  FenceBoard(std::vector<Line> memory, Shape&& shape);
  store::Generation first_generation(std::uint32_t member);
  bool step_front(StandIn& stand_in, std::vector<Reply>& ended, bool& server_must_look);

  Shape shape_;
  std::vector<Line> memory_;                                     ///< of a private board
  std::map<std::uint32_t, std::unique_ptr<StandIn>> stand_ins_;  ///< by member
  std::map<std::uint32_t, store::Generation> first_;             ///< by member: where its stand-in begins
};

}  // namespace weft::server
