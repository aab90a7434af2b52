// SPDX-License-Identifier: BSD-3-Clause
// The cards of a job's ranks as readers on this node find them: those of local ranks where the ranks
// themselves write them, all others in the job's RemoteCards, where the server puts them. As JobView: loads,
// no system call, no lock, and a job that is retired meanwhile reads as zero.
#pragma once

#include <span>
#include <vector>

#include "core/store/segment/layout.hpp"

namespace weft::store {

/// RankEntry::card; 0 if there is no such rank.
inline std::uint32_t card_of(std::span<const RankEntry> ranks, std::uint32_t r) noexcept {
  return r < ranks.size() ? ranks[r].card.load(std::memory_order_acquire) : 0;  // RC.R2 <- R1
}

class JobCards {
 public:
  /// The cards of local ranks in the clients' memory. The bounds were checked, and are not read again.
  struct LocalCards {
    std::byte* pages = nullptr;  ///< the first page of each; null: not mapped here
    std::byte* rests = nullptr;
    std::uint64_t rests_at = 0;  ///< their offset
    std::uint64_t first = 0, capacity = 0, rest_bytes = 0;
    std::uint32_t buckets = 1, count = 0;
    const shm::PartialWindow* parts = nullptr;  ///< null: all is mapped
  };
  struct OtherCards {
    RemoteCards log;
    std::uint64_t at = 0;                       ///< its offset
    const shm::PartialWindow* parts = nullptr;  ///< null: all is mapped
  };

  JobCards() = default;
  JobCards(const JobHeader& header, std::span<const RankEntry> ranks, const Local* locals,
           const OtherCards& others) noexcept
      : header_(&header), ranks_(ranks), locals_(locals), others_(others) {}
  void map_local(const LocalCards& local) noexcept { local_ = local; }

  /// False: what the ranks of this node write is not mapped here.
  bool has_local() const noexcept { return local_.pages != nullptr; }
  /// The card of a local rank. local: below local_capacity of the header. Needs has_local(), as the next.
  KeyedLog local(std::uint32_t local) const noexcept;
  /// local() for its writer: append() makes the checks that readers on other nodes expect.
  KeyedLog to_write(std::uint32_t local) const noexcept;

  /// To be read after the link that is followed: it has what was there then.
  RemoteCards remote() const noexcept;
  /// Link to the newest remote piece of a rank on another node; 0: there is none.
  RemoteCards::Link remote_link(std::uint32_t r) const noexcept {
    const auto card = card_of(ranks_, r);
    return card < RankEntry::local_card ? card : 0;
  }
  /// The position up to which the log of a rank on another node is known here (RemoteCards::known).
  std::uint64_t remote_known(std::uint32_t r) const noexcept {
    const auto link = remote_link(r);
    return remote().known(link);
  }
  /// The card of a rank elsewhere is as a full fence of the whole job left it (RemoteCards I6).
  bool is_exchanged(std::uint32_t r) const noexcept { return others_.log.is_exchanged(remote_link(r)); }
  using Whole = RemoteCards::Whole;
  /// All records known here of a rank on another node, oldest first. whole: as RemoteCards::all(). Errors:
  /// corrupt.
  Result<std::vector<CardRecord>> remote_records(std::uint32_t r, std::deque<Whole>& whole) const;

  /// A record that rank r put: from its card if it is local, else from the remote cards. whole: as
  /// RemoteCards::find(). Errors: not_found (also of a local rank where has_local() is false), corrupt.
  Result<Record> find(std::uint32_t r, std::string_view key, std::uint64_t hash, Whole& whole,
                      std::uint32_t scopes = ~std::uint32_t{0}) const;

 private:
  KeyedLog whole(std::uint32_t local) const noexcept;
  Result<Record> find_local(std::uint32_t local, std::string_view key, std::uint64_t hash,
                            std::uint32_t scopes) const noexcept;

  const JobHeader* header_ = nullptr;
  std::span<const RankEntry> ranks_;
  const Local* locals_ = nullptr;
  LocalCards local_;
  OtherCards others_;
};

}  // namespace weft::store
