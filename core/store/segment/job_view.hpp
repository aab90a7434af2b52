// SPDX-License-Identifier: BSD-3-Clause
// A job as its readers see it. A Get of anything that the node knows ends here: loads, no system call, no
// lock.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/data/types/value.hpp"
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
  std::uint32_t apps() const noexcept { return index_.apps(); }
  std::uint32_t my_node() const noexcept { return header_->my_node; }
  const JobHeader& header() const noexcept { return *header_; }
  const RankEntry* rank(std::uint32_t r) const noexcept { return r < rank_count_ ? &ranks_[r] : nullptr; }
  Local& local(std::uint32_t index) const noexcept { return locals_[index]; }
  std::uint32_t local_count() const noexcept {
    return header_->local_count.load(std::memory_order_acquire);  // JH.C2 <- C1
  }
  /// Index of the rank among the ranks of this node; `none` for ranks on other nodes.
  std::uint32_t local_index(std::uint32_t r) const noexcept {
    const auto card = card_of(r);
    return card < RankEntry::local_card ? none : card - RankEntry::local_card;
  }
  /// Link to the newest remote piece of a rank on another node; 0: there is none.
  RemoteCards::Link remote_link(std::uint32_t r) const noexcept {
    const auto card = card_of(r);
    return card < RankEntry::local_card ? card : 0;
  }
  /// The position up to which the log of a rank on another node is known here (RemoteCards::known).
  std::uint64_t remote_known(std::uint32_t r) const noexcept {
    const auto link = remote_link(r);
    return remote().known(link);
  }
  /// The card of a rank elsewhere is as a full fence of the whole job left it (RemoteCards I6).
  bool is_exchanged(std::uint32_t r) const noexcept { return remote_.is_exchanged(remote_link(r)); }
  explicit operator bool() const noexcept { return header_ != nullptr; }
  /// False: what its ranks on this node write, their cards and the board, is not mapped here.
  bool has_cards() const noexcept { return board_ != nullptr; }
  /// The memory that the ranks of this node write. Needs has_cards().
  MutableBytes clients_memory() const noexcept { return clients_; }

  /// The ranks of a node, ascending; empty if there is no such node.
  std::span<const std::uint32_t> ranks_on(std::uint32_t node) const noexcept { return index_.ranks_on(node); }
  /// The name of a node; empty if the host registered none.
  std::string_view node_name(std::uint32_t node) const noexcept { return index_.name_of(node); }
  AppEntry app(std::uint32_t app) const noexcept { return index_.app(app); }

  KeyedLog info() const noexcept;
  /// To be read after the link that is followed: it has what was there then.
  RemoteCards remote() const noexcept;
  /// All records known here of a rank on another node, oldest first. Errors: corrupt.
  Result<std::vector<CardRecord>> remote_card(std::uint32_t r) const;
  /// The card of a local rank. local: below local_capacity of the header. Needs has_cards(), as the next two.
  KeyedLog card(std::uint32_t local) const noexcept;
  /// card() for its writer: append() makes the checks that readers on other nodes expect.
  KeyedLog card_to_write(std::uint32_t local) const noexcept;
  Board& board() const noexcept { return *board_; }

  /// Job-level data: what the host registered about this owner. Errors: not_found, corrupt.
  Result<Record> find_info(KeyOwner owner, std::string_view key, std::uint64_t hash) const noexcept;
  /// A record that rank r put: from its card if it is local, else from the remote cards. Errors: not_found
  /// (also of a local rank where has_cards() is false), corrupt.
  Result<Record> find_card(std::uint32_t r, std::string_view key, std::uint64_t hash,
                           std::uint32_t scopes = ~std::uint32_t{0}) const noexcept;

 private:
  KeyedLog whole_card(std::uint32_t local) const noexcept;
  Result<Record> find_local(std::uint32_t local, std::string_view key, std::uint64_t hash,
                            std::uint32_t scopes) const noexcept;
  /// RankEntry::card; 0 if there is no such rank.
  std::uint32_t card_of(std::uint32_t r) const noexcept {
    return r < rank_count_ ? ranks_[r].card.load(std::memory_order_acquire) : 0;  // RC.R2 <- R1
  }

  const JobHeader* header_ = nullptr;
  std::uint32_t rank_count_ = 0;
  std::uint32_t local_capacity_ = 0;
  std::uint32_t card_buckets_ = 1;
  std::uint64_t card_first_ = 0, card_capacity_ = 0, card_rest_bytes_ = 0;
  MutableBytes clients_;
  std::byte* cards_ = nullptr;  // their first pages
  std::byte* card_rests_ = nullptr;
  RankEntry* ranks_ = nullptr;
  Local* locals_ = nullptr;
  Board* board_ = nullptr;
  JobIndex index_;
  KeyedLog info_;
  RemoteCards remote_;
  std::string_view nspace_;
  const shm::PartialWindow* server_parts_ = nullptr;  ///< null: all is mapped
  const shm::PartialWindow* clients_parts_ = nullptr;
  std::uint64_t info_at_ = 0, remote_at_ = 0, card_rests_at_ = 0;  ///< offsets
};

/// The offsets of the JobHeaders of all jobs that are there.
std::vector<std::uint64_t> jobs_of(const shm::SegmentBytes& segment);
/// Finds a job of the segment by its name; returns the offset of its JobHeader.
std::optional<std::uint64_t> find_job(const shm::SegmentBytes& segment, std::string_view nspace) noexcept;

}  // namespace weft::store
