// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/job_view.hpp"

#include <cstring>

namespace weft::store {
namespace {

bool inside(Area area, std::size_t bytes) noexcept {
  return area.offset <= bytes && area.bytes <= bytes - area.offset;
}

std::string_view name_of(const JobHeader& job) noexcept {
  return {job.nspace, ::strnlen(job.nspace, sizeof job.nspace)};
}

}  // namespace

Attach check_segment(const std::byte* base, std::size_t bytes) noexcept {
  if (base == nullptr) return Attach::absent;
  if (bytes < sizeof(SegmentHeader)) return Attach::too_short;
  const auto& header = *reinterpret_cast<const SegmentHeader*>(base);
  const auto version = header.version.load(std::memory_order_acquire);
  if (version == 0) return Attach::not_ready;
  if (version != layout_version || header.magic != segment_magic) return Attach::wrong_version;
  return header.bytes > bytes ? Attach::too_short : Attach::ready;
}

std::optional<std::uint64_t> find_job(const std::byte* base, std::size_t bytes, std::string_view nspace) noexcept {
  const auto& header = *reinterpret_cast<const SegmentHeader*>(base);
  const auto count = std::min(header.job_count.load(std::memory_order_acquire), max_jobs);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto at = header.jobs[i].load(std::memory_order_acquire);
    if (at == 0 || at > bytes - sizeof(JobHeader)) continue;
    const auto& job = *reinterpret_cast<const JobHeader*>(base + at);
    if (job.state.load(std::memory_order_acquire) == JobHeader::live && name_of(job) == nspace) return at;
  }
  return std::nullopt;
}

Result<JobView> JobView::open(std::byte* base, std::size_t bytes, std::uint64_t job) noexcept {
  if (job > bytes - sizeof(JobHeader)) return fail(Errc::corrupt, "job offset");
  const auto& h = *reinterpret_cast<const JobHeader*>(base + job);
  for (const Area area : {h.rank_area, h.info_area, h.remote_area, h.local_area, h.control_area, h.card_area, h.card_rest_area})
    if (!inside(area, bytes)) return fail(Errc::corrupt, "job area");
  JobView view;
  view.base_ = base;
  view.header_ = &h;
  view.ranks_ = reinterpret_cast<RankEntry*>(base + h.rank_area.offset);
  view.locals_ = reinterpret_cast<Local*>(base + h.local_area.offset);
  view.info_ = KeyedLog(base + h.info_area.offset, h.info_capacity, h.info_buckets);
  view.remote_ = KeyedLog(base + h.remote_area.offset, h.remote_capacity, h.remote_buckets);
  view.nspace_ = name_of(h);
  return view;
}

KeyedLog JobView::card(std::uint32_t local) const noexcept {
  return KeyedLog(base_ + locals_[local].card, header_->card_first, header_->card_buckets,
                  base_ + locals_[local].card_rest, header_->card_capacity);
}

Result<Record> JobView::find_card(std::uint32_t r, std::string_view key, std::uint64_t hash) const noexcept {
  if (r >= header_->ranks) return fail(Errc::not_found);
  const auto index = ranks_[r].local_index.load(std::memory_order_acquire);
  if (index < header_->local_capacity) return card(index).find({Realm::rank, 0}, key, hash);
  return remote_.find({Realm::rank, r}, key, hash);
}

}  // namespace weft::store
