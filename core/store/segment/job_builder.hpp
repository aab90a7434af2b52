// SPDX-License-Identifier: BSD-3-Clause
// The server's side of a job in the segment: lays it out, adds local ranks, appends what it learns later.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/store/boards/server_board.hpp"
#include "core/store/segment/job_view.hpp"

namespace weft::store {

/// A rank as the host registered it; unknown fields hold none / none16.
struct RankSpec {
  std::uint32_t node = none;
  std::uint32_t appnum = none;
  std::uint32_t app_rank = none;
  std::uint32_t global_rank = none;
  std::uint16_t local_rank = none16;
  std::uint16_t node_rank = none16;
};

struct KeySpec {
  KeyOwner owner;
  std::string key;
  data::Value value;
};

struct JobSpec {
  std::string nspace;
  std::vector<RankSpec> ranks;  ///< by rank
  std::uint32_t nodes = 1;
  std::uint32_t my_node = 0;
  std::uint32_t apps = 1;
  std::vector<std::uint32_t> local_ranks;  ///< ascending
  std::uint32_t local_capacity = 0;        ///< at least local_ranks.size(): members of the board
  std::vector<std::string> node_names;     ///< by node; may be fewer than nodes, and empty
  std::vector<KeySpec> keys;
  std::optional<CardKey> card_key;  ///< none: a hash without a key is check enough
  bool has_start_cells = false;     ///< a launcher accounts for the start
  bool has_trace_logs = false;      ///< a launcher traces the job
};

struct Limits {
  std::uint64_t card_bytes = 16u << 20;  ///< virtual bytes of a local rank's card
};

struct ServerName {
  std::string_view socket;
  std::string_view nspace;
  std::uint32_t rank = 0;
};

/// Writes the header of the segment; called once, by its creator. Truncates names that are too long.
Result<void> format_segment(shm::Segment& segment, const ServerName& server = {});

/// The writer of a job. Used by the server's loop thread only.
class JobWriter {
 public:
  /// Lays the job out, fills it and publishes it. Errors, with nothing visible then: no_space (also of
  /// memory), invalid.
  static Result<JobWriter> create(shm::Segment& segment, const JobSpec& spec, const Limits& limits);

  const JobView& view() const noexcept { return view_; }
  std::uint64_t offset() const noexcept { return offset_; }
  ServerBoard& board() const noexcept {
    return static_cast<ServerBoard&>(view_.board());
  }  // made so by create()

  /// Sets JobSpec::card_key of a job that is laid out. REQUIRES: no rank of it has attached.
  void check_cards_with(const CardKey& key) noexcept;
  /// Gives `rank` an entry in `locals` and a card on this node; returns its index, also if it has one
  /// already. Errors: no_space.
  Result<std::uint32_t> add_local(std::uint32_t rank);
  Result<void> add_info(const KeySpec& key);
  /// The same of a value that is encoded already. Errors: no_space, invalid.
  Result<void> add_record(const Record& record);
  /// Adds what a fence or a fetch brought of a rank on another node; its new records hide older ones. Errors,
  /// with nothing changed then: again (a part before it is missing), no_space, invalid.
  ///   base  of cards that come together, as those of one node: 0 for the first, then as it was left; what
  ///         these have in common is stored once. null: with the first card of the job
  Result<void> add_card(const Card& card, RemoteCards::Link* base = nullptr);
  /// Nothing is known here any more of the card of a rank on another node.
  void forget_card(std::uint32_t rank) noexcept;
  /// A full fence of the whole job has ended, and add_card() has had all that it brought.
  void mark_exchanged() noexcept { remote_.mark_exchanged(); }
  /// local: below local_capacity. word: below (local_capacity + 63) / 64.
  shm::NoticeRing& ring(std::uint32_t local) noexcept { return rings_[local]; }
  FetchCell& fetch_cell(std::uint32_t local) const noexcept { return fetch_cells_[local]; }
  /// Null: no launcher accounts for the start.
  const StartCell* start_cell(std::uint32_t local) const noexcept {
    return start_cells_ == nullptr ? nullptr : start_cells_ + local;
  }
  /// Empty: no launcher traces the job.
  TraceLog trace_log(std::uint32_t local) const noexcept {
    return trace_logs_ == nullptr ? TraceLog()
                                  : TraceLog(trace_logs_ + local * trace_log_bytes, trace_log_bytes);
  }
  std::atomic<std::uint64_t>& dirty(std::uint32_t word) noexcept { return dirty_[word]; }
  shm::Doorbell& doorbell() noexcept { return *doorbell_; }

  /// Makes the job invisible and frees its memory. Readers that still use it see zeros: no keys.
  void retire(shm::Segment& segment);

 private:
  JobWriter() = default;
  std::atomic<std::uint32_t>& card_of(std::uint32_t rank) noexcept { return ranks_[rank].card; }

  // Where things lie is kept in this process's own memory: nothing that a client can write leads the server
  // anywhere.
  std::uint64_t offset_ = 0, bytes_ = 0;  // in the server's memory
  std::uint64_t clients_at_ = 0;          // among the clients' memories
  JobHeader* header_ = nullptr;
  RankEntry* ranks_ = nullptr;
  shm::NoticeRing* rings_ = nullptr;
  FetchCell* fetch_cells_ = nullptr;
  const StartCell* start_cells_ = nullptr;
  std::byte* trace_logs_ = nullptr;
  std::atomic<std::uint64_t>* dirty_ = nullptr;
  shm::Doorbell* doorbell_ = nullptr;
  KeyedLog info_;
  RemoteCards remote_;
  RemoteCards::Link first_base_ = 0;  ///< a piece without a base; 0: none yet
  JobView view_;
  data::Writer scratch_;
};

}  // namespace weft::store
