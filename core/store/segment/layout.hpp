// SPDX-License-Identifier: BSD-3-Clause
// The map of the node segment (transport/shm/segment.hpp), everything zero when new.
//
//   server's          SegmentHeader | JobHeader | its areas | JobHeader | its areas | ...
//   clients' of a job control | first pages of its cards | rests of its cards | boards of sets | logs
//
// | area of a job      | memory   | writer            | readers                    | protocol                              |
// |--------------------|----------|-------------------|----------------------------|---------------------------------------|
// | JobHeader          | server's | server            | all                        | immutable once `state` says live      |
// | ranks: RankEntry[] | server's | server            | all                        | immutable, but `card` (atomic)        |
// | index: JobIndex    | server's | server            | all                        | immutable; job_index.hpp              |
// | info: KeyedLog     | server's | server            | all                        | keyed_log.hpp                         |
// | remote: RemoteCards| server's | server            | all                        | remote_cards.hpp                      |
// | locals: Local[]    | server's | server            | all                        | atomics, see Local                    |
// | control            | clients' | local clients     | the job's ranks here       | board.hpp, fetch_cell.hpp, start_cell.hpp, NoticeRing, Doorbell |
// | card of a local    | clients' | that client       | the same, other nodes by reads | keyed_log.hpp |
// | log of a local     | clients' | that client       | server                     | trace_log.hpp; where a launcher traces the job |
//
// A client has its own job's memory and no other: of the cards of another job on this node it asks the
// server.
//
// Offsets count from the start of the memory that the thing lies in. All bounds and offsets are in the
// server's memory, which the kernel lets no client write.
//
// A card has one page among the first pages of all cards, which are contiguous: reading 64 small cards then
// takes four page faults (the kernel maps 16 neighbours at a time) and not 64. The rest of a
// card that does not fit lies elsewhere.
//
// A client maps everything read-only, and makes writable: `control` of its job, its own card, and the boards
// of the sets that it is a member of (board_pool.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/store/boards/board.hpp"
#include "core/store/boards/group_ledger.hpp"
#include "core/store/cards/fetch_cell.hpp"
#include "core/store/cards/keyed_log.hpp"
#include "core/store/cards/remote_cards.hpp"
#include "core/store/segment/start_cell.hpp"
#include "core/store/segment/trace_log.hpp"
#include "transport/shm/doorbell.hpp"
#include "transport/shm/notice_ring.hpp"
#include "transport/shm/segment.hpp"

namespace weft::store {

/// Raised when anything in this file, KeyedLog, RemoteCards, JobIndex, Board, GroupLedger, FetchCell,
/// StartCell, TraceLog, NoticeRing, Doorbell or the value encoding changes shape.
inline constexpr std::uint32_t layout_version = 15;
inline constexpr std::uint64_t segment_magic = 0x544d4753'54464557;  // "WEFTSGMT"
inline constexpr std::uint32_t max_jobs = 400;
/// Boards of sets that are not a whole job, and of sets that make groups: slots of one size.
inline constexpr std::uint32_t most_pool_boards = 256;
inline constexpr std::uint32_t most_group_boards = 64;
inline constexpr std::uint32_t most_pool_members = 1024;
inline constexpr std::uint64_t pool_board_bytes = shm::page_aligned(Board::footprint(most_pool_members));
/// The last fifth of the slots.
constexpr std::uint32_t group_slots_of(std::uint32_t slots) noexcept {
  return slots / 5;
}
static_assert(group_slots_of(most_pool_boards + most_group_boards) == most_group_boards);
/// A board of groups has its ledger at the end of its slot, and so fewer cells.
inline constexpr std::uint64_t group_ledger_at = pool_board_bytes - sizeof(GroupLedger);
inline constexpr std::uint32_t most_group_members = 800;
static_assert(Board::footprint(most_group_members) <= group_ledger_at && group_ledger_at % 64 == 0);
/// The log of a rank's calls: whole pages, of which those count that the calls have come to.
inline constexpr std::uint64_t trace_log_bytes = 10 * shm::page_bytes;
inline constexpr std::uint32_t none = 0xffffffff;
inline constexpr std::uint16_t none16 = 0xffff;

struct SegmentHeader {
  std::uint64_t magic;
  std::uint64_t server_bytes;            ///< of this memory
  std::atomic<std::uint32_t> version;    ///< stored last by the creator (release)
  std::atomic<std::uint32_t> job_count;  ///< jobs[0 .. job_count) may be read
  char socket[64];                       ///< name of the server's socket, which identifies the server
  char server_nspace[256];
  std::uint32_t server_rank;
  /// Boards of sets, then those of groups, of all jobs together: board n lies at its place in the memory of
  /// the job whose set has it. Fewer in a small segment.
  std::uint32_t board_slots;
  std::atomic<std::uint64_t> jobs[max_jobs];
};
static_assert(sizeof(SegmentHeader) <= shm::page_bytes);

/// The states in which a client may find a segment that it maps; unless the segment is ready, the client uses
/// the socket instead.
enum class Attach { absent, too_short, not_ready, wrong_version, ready };
Attach check_segment(const shm::SegmentBytes& segment) noexcept;

/// A rank of a job, on any node; unknown fields hold none / none16. With the index at most 32 bytes a rank.
struct RankEntry {
  std::uint32_t node;
  /// The rank's card: local_card + its index in `locals`, or the link to its newest piece among the remote
  /// cards.
  std::atomic<std::uint32_t> card;
  std::uint32_t appnum;
  std::uint32_t app_rank;
  std::uint32_t global_rank;
  std::uint16_t local_rank;
  std::uint16_t node_rank;

  static constexpr std::uint32_t local_card = RemoteCards::end_of_links;
};
static_assert(sizeof(RankEntry) == 24);
static_assert(std::uint64_t{RankEntry::local_card} + Board::max_members <= 0xffffffff);

/// A rank on this node.
struct alignas(64) Local {
  enum State : std::uint32_t { registered = 0, connected = 1, finalized = 2, gone = 3 };
  std::atomic<std::uint32_t> rank;
  std::atomic<std::uint32_t> state;
  /// Set by the server while it waits for a commit of this rank; read by the client after each commit (C1,
  /// C2).
  std::atomic<std::uint32_t> watched;
  std::atomic<std::int32_t> pid;
  std::uint64_t card;       ///< offset of its page among the first pages of all cards; clients' memory
  std::uint64_t card_rest;  ///< offset of the rest of its data; clients' memory
};
static_assert(sizeof(Local) == 64);

struct Area {
  std::uint64_t offset;
  std::uint64_t bytes;
};

struct JobHeader {
  enum State : std::uint32_t { absent = 0, live = 1, gone = 2 };
  std::atomic<std::uint32_t> state;
  std::uint32_t ranks;
  std::uint32_t nodes;
  std::uint32_t apps;
  std::uint32_t my_node;
  std::uint32_t local_capacity;  ///< entries in `locals`, cells of the board
  std::atomic<std::uint32_t> local_count;
  std::uint32_t cores;  ///< cores of this node, shared by the local ranks
  std::uint32_t info_buckets;
  std::uint32_t card_buckets;
  std::uint64_t info_capacity;
  std::uint64_t remote_capacity;
  std::uint64_t card_first;       ///< bytes of a card's data in its first page
  std::uint64_t card_capacity;    ///< bytes of a card's data in all
  std::uint64_t card_rest_bytes;  ///< virtual bytes from the rest of a card to that of the next, whole pages
  Area rank_area, index_area, info_area, remote_area, local_area;  ///< in the server's memory
  Area control_area, card_area, card_rest_area, board_area;        ///< in the job's clients' memory
  Area trace_area;            ///< there, too: logs of local ranks; of 0 bytes: no launcher traces the job
  std::uint64_t board;        ///< offset; inside control_area
  std::uint64_t rings;        ///< offset of NoticeRing[local_capacity]; inside control_area
  std::uint64_t fetch_cells;  ///< offset of FetchCell[local_capacity]; inside control_area
  std::uint64_t start_cells;  ///< offset of StartCell[local_capacity]; inside control_area; 0: there are none
  std::uint64_t dirty;        ///< offset of atomic<u64>[], a bit a ring with notices; inside control_area
  std::uint64_t doorbell;     ///< offset; inside control_area: a damaged one silences its own job only
  char nspace[256];
  CardKey card_key;               ///< if cards_are_keyed
  std::uint64_t clients_at;       ///< the server: where its clients' memory lies among those of all jobs
  std::uint64_t clients_bytes;    ///< of that memory
  std::uint64_t clients_inode;    ///< of its file, by which a client tells it from another
  std::int32_t clients_fd;        ///< its descriptor in the server's process
  std::uint32_t cards_are_keyed;  ///< the records of cards are checked under card_key (record_check.hpp)
};

/// Notices of a client to its server, through its ring.
enum class NoticeKind : std::uint32_t {
  committed = 1,    ///< the card has grown while `watched` was set
  board_full = 2,   ///< last local arrival, other nodes take part; arg: the board's number (board_pool.hpp)
  board_ended = 3,  ///< this client ended a generation and a member wants a message; arg: the board's number
  fetch = 4,        ///< there is a new request in the FetchCell
  group_records = 5,  ///< records wait in the ledger of a board of groups; arg: the board's number
};

}  // namespace weft::store
