// SPDX-License-Identifier: BSD-3-Clause
// A job as its readers see it. A Get of anything that the node knows ends here: loads, no system call, no
// lock.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/data/types/value.hpp"
#include "core/store/segment/job_cards.hpp"
#include "core/store/segment/job_index.hpp"
#include "core/store/segment/layout.hpp"

namespace weft::store {

/// The job may be retired during a read: all of it then reads as zero. Every bound is therefore read
/// once, by open(); later reads stay inside the segment and find nothing.
class JobView {
 public:
  JobView() = default;
  /// segment: all memories, or windows of them that stay where they are; job: the offset of a JobHeader that
  /// was live. In a client a view of another job than its own has no cards. Errors: corrupt (an area leaves
  /// its memory), os (it cannot be mapped).
  static Result<JobView> open(const shm::SegmentBytes& segment, std::uint64_t job) noexcept;

  std::string_view nspace() const noexcept { return nspace_; }
  std::uint32_t ranks() const noexcept { return rank_count_; }
  std::uint32_t nodes() const noexcept { return index_.nodes(); }
  std::uint32_t my_node() const noexcept { return header_->my_node; }
  const JobHeader& header() const noexcept { return *header_; }
  const RankEntry* rank(std::uint32_t r) const noexcept { return r < rank_count_ ? &ranks_[r] : nullptr; }
  Local& local(std::uint32_t index) const noexcept { return locals_[index]; }
  std::uint32_t local_count() const noexcept {
    return header_->local_count.load(std::memory_order_acquire);  // JH.C2 <- C1
  }
  /// Index of the rank among the ranks of this node; `none` for ranks on other nodes.
  std::uint32_t local_index(std::uint32_t r) const noexcept {
    const auto card = card_of({ranks_, rank_count_}, r);
    return card < RankEntry::local_card ? none : card - RankEntry::local_card;
  }
  explicit operator bool() const noexcept { return header_ != nullptr; }
  /// The memory that the ranks of this node write, their cards and the board; empty: it is not mapped here.
  MutableBytes clients_memory() const noexcept { return clients_; }

  /// The ranks of a node, ascending; empty if there is no such node.
  std::span<const std::uint32_t> ranks_on(std::uint32_t node) const noexcept { return index_.ranks_on(node); }
  /// The ranks and the name of each node, and the applications.
  const JobIndex& index() const noexcept { return index_; }

  KeyedLog info() const noexcept;
  /// What the ranks have put.
  const JobCards& cards() const noexcept { return cards_; }
  /// Needs clients_memory().
  Board& board() const noexcept { return *board_; }

  /// Job-level data: what the host registered about this owner. Errors: not_found, corrupt.
  Result<Record> find_info(KeyOwner owner, std::string_view key, std::uint64_t hash) const noexcept;

 private:
  const JobHeader* header_ = nullptr;
  std::uint32_t rank_count_ = 0;
  MutableBytes clients_;
  RankEntry* ranks_ = nullptr;
  Local* locals_ = nullptr;
  Board* board_ = nullptr;
  JobIndex index_;
  KeyedLog info_;
  JobCards cards_;
  std::string_view nspace_;
  const shm::PartialWindow* server_parts_ = nullptr;  ///< null: all is mapped
  std::uint64_t info_at_ = 0;                         ///< its offset
};

/// The offsets of the JobHeaders of all jobs that are there.
std::vector<std::uint64_t> jobs_of(const shm::SegmentBytes& segment);
/// Finds a job of the segment by its name; returns the offset of its JobHeader.
std::optional<std::uint64_t> find_job(const shm::SegmentBytes& segment, std::string_view nspace) noexcept;

}  // namespace weft::store
