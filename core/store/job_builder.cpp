// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/job_builder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace weft::store {
namespace {

constexpr std::uint32_t card_buckets = 128;
constexpr std::uint64_t info_slack = 4u << 20;           // keys that arrive after registration
constexpr std::uint64_t remote_bytes_a_rank = 1u << 20;  // virtual; a page is allocated when a card arrives
constexpr std::uint64_t least_remote_bytes = 16u << 20;

std::uint32_t buckets_for(std::uint64_t keys) {
  return static_cast<std::uint32_t>(std::bit_ceil(std::clamp<std::uint64_t>(keys, 64, 1u << 22)));
}

std::uint64_t aligned(std::uint64_t n) {
  return (n + 63) & ~std::uint64_t{63};
}

/// Frees an allocation unless keep() was called.
class Undo {
 public:
  Undo(shm::Segment& segment, std::uint64_t offset, std::uint64_t bytes)
      : segment_(&segment), offset_(offset), bytes_(bytes) {}
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  ~Undo() {
    if (segment_ != nullptr) segment_->release(offset_, bytes_);
  }
  void keep() { segment_ = nullptr; }

 private:
  shm::Segment* segment_;
  std::uint64_t offset_, bytes_;
};

/// Adds areas one after the other, each on pages of its own.
class Plan {
 public:
  Area area(std::uint64_t bytes) {
    const Area out{next_, shm::page_aligned(bytes)};
    next_ += out.bytes;
    return out;
  }
  std::uint64_t bytes() const { return next_; }

 private:
  std::uint64_t next_ = shm::page_aligned(sizeof(JobHeader));
};

}  // namespace

Result<void> format_segment(shm::Segment& segment, const ServerName& server) {
  const auto header_at = segment.allocate(sizeof(SegmentHeader));
  const auto doorbell_at = segment.allocate(sizeof(shm::Doorbell));
  // At most a sixteenth of the segment: one of a few MiB, as in tests, keeps its room for jobs.
  const auto slots = std::min<std::uint64_t>(most_pool_boards, segment.size() / 16 / pool_board_bytes);
  const auto boards_at = slots == 0 ? Result<std::uint64_t>(0) : segment.allocate(slots * pool_board_bytes);
  if (!header_at || !doorbell_at || !boards_at || *header_at != 0)
    return fail(Errc::no_space, "the node segment is too small");
  auto& header = *reinterpret_cast<SegmentHeader*>(segment.base());
  header.magic = segment_magic;
  header.bytes = segment.size();
  header.doorbell = *doorbell_at;
  header.boards = *boards_at;
  header.board_slots = static_cast<std::uint32_t>(slots);
  server.socket.copy(header.socket, sizeof header.socket - 1);
  server.nspace.copy(header.server_nspace, sizeof header.server_nspace - 1);
  header.server_rank = server.rank;
  header.version.store(layout_version, std::memory_order_release);
  return {};
}

Result<JobWriter> JobWriter::create(shm::Segment& segment, const JobSpec& spec, const Limits& limits) {
  auto& segment_header = *reinterpret_cast<SegmentHeader*>(segment.base());
  const auto slots = segment_header.job_count.load(std::memory_order_relaxed);
  if (spec.nspace.empty() || spec.nspace.size() > PMIX_MAX_NSLEN)
    return fail(Errc::invalid, "namespace length");
  const auto ranks = static_cast<std::uint32_t>(spec.ranks.size());
  const auto locals =
      std::max<std::uint32_t>(spec.local_capacity, static_cast<std::uint32_t>(spec.local_ranks.size()));
  if (locals > Board::max_members) return fail(Errc::invalid, "more than 65,535 ranks on a node");
  for (const auto& rank : spec.ranks)
    if ((rank.node != none && rank.node >= spec.nodes) || (rank.appnum != none && rank.appnum >= spec.apps))
      return fail(Errc::invalid, "a rank on a node, or of an application, that the job does not have");
  // Slots of retired jobs are used again, so that a server that runs job after job does not run out.
  std::uint32_t slot = 0;
  while (slot < slots && segment_header.jobs[slot].load(std::memory_order_relaxed) != 0) ++slot;
  if (slot == max_jobs) return fail(Errc::no_space, "400 jobs are registered already");

  // Encode first: the sizes decide the layout.
  data::Writer encoded;
  std::vector<std::size_t> ends;
  std::uint64_t info_bytes = 0;
  for (const auto& key : spec.keys) {
    const auto from = encoded.size();
    if (auto ok = data::encode_value(encoded, key.value.get()); !ok) return fail(ok.error());
    ends.push_back(encoded.size());
    info_bytes += KeyedLog::record_bytes(key.key.size(), encoded.size() - from);
  }

  Plan plan;
  JobHeader h{};
  h.ranks = ranks;
  h.nodes = spec.nodes;
  h.apps = spec.apps;
  h.my_node = spec.my_node;
  h.local_capacity = locals;
  h.cores = shm::usable_cores();
  h.info_buckets = buckets_for(spec.keys.size() * 2);
  h.info_capacity = shm::page_aligned(info_bytes * 2 + info_slack);
  const std::uint64_t elsewhere = ranks - std::min<std::uint64_t>(ranks, spec.local_ranks.size());
  const auto remote_share = std::max<std::uint64_t>(segment.left() / 4, least_remote_bytes);
  h.remote_capacity = std::clamp<std::uint64_t>(
      shm::page_aligned(elsewhere * remote_bytes_a_rank), elsewhere == 0 ? 64u << 10 : least_remote_bytes,
      std::min(shm::page_aligned(remote_share), RemoteCards::most_bytes));
  h.card_buckets = card_buckets;
  const std::uint64_t share =
      (segment.left() / 4 / std::max<std::uint64_t>(locals, 1)) & ~std::uint64_t{shm::page_bytes - 1};
  const std::uint64_t wanted = std::max<std::uint64_t>(limits.card_bytes & ~std::uint64_t{7}, 64);
  h.card_first = std::min<std::uint64_t>(wanted, shm::page_bytes - KeyedLog::footprint(0, card_buckets));
  h.card_rest_bytes =
      std::max<std::uint64_t>(shm::page_bytes, std::min(shm::page_aligned(wanted - h.card_first), share));
  h.card_capacity = std::min(wanted, h.card_first + h.card_rest_bytes);

  h.rank_area = plan.area(std::uint64_t{ranks} * sizeof(RankEntry));
  h.index_area = plan.area(JobIndex::footprint(spec));
  h.info_area = plan.area(KeyedLog::footprint(h.info_capacity, h.info_buckets));
  h.remote_area = plan.area(RemoteCards::footprint(h.remote_capacity));
  h.local_area = plan.area(std::uint64_t{locals} * sizeof(Local));
  const std::uint64_t rings_at = aligned(Board::footprint(locals));
  const std::uint64_t cells_at = aligned(rings_at + std::uint64_t{locals} * sizeof(shm::NoticeRing));
  const std::uint64_t dirty_at = cells_at + std::uint64_t{locals} * sizeof(FetchCell);
  h.control_area = plan.area(dirty_at + (locals + 63) / 64 * 8 + 8);
  h.card_area = plan.area(std::uint64_t{shm::page_bytes} * locals);
  h.card_rest_area = plan.area(h.card_rest_bytes * locals);

  auto at = segment.allocate(plan.bytes());
  if (!at) return fail(at.error());
  Undo undo(segment, *at, plan.bytes());
  for (Area* area : {&h.rank_area, &h.index_area, &h.info_area, &h.remote_area, &h.local_area,
                     &h.control_area, &h.card_area, &h.card_rest_area})
    area->offset += *at;
  h.board = h.control_area.offset;
  h.rings = h.control_area.offset + rings_at;
  h.fetch_cells = h.control_area.offset + cells_at;
  h.dirty = h.control_area.offset + dirty_at;
  std::memcpy(h.nspace, spec.nspace.data(), spec.nspace.size());

  auto& header = *new (segment.base() + *at) JobHeader{};
  std::memcpy(static_cast<void*>(&header), &h, sizeof h);
  auto* entries = reinterpret_cast<RankEntry*>(segment.base() + h.rank_area.offset);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const auto& s = spec.ranks[r];
    entries[r].node = s.node;
    entries[r].appnum = s.appnum;
    entries[r].app_rank = s.app_rank;
    entries[r].global_rank = s.global_rank;
    entries[r].local_rank = s.local_rank;
    entries[r].node_rank = s.node_rank;
  }
  JobIndex::fill({segment.base() + h.index_area.offset, h.index_area.bytes}, spec);
  Board::create(segment.base() + h.board, locals, spec.nodes > 1);
  auto* local_entries = reinterpret_cast<Local*>(segment.base() + h.local_area.offset);
  for (std::uint32_t i = 0; i < locals; ++i) {
    local_entries[i].rank.store(none, std::memory_order_relaxed);
    local_entries[i].card = h.card_area.offset + std::uint64_t{i} * shm::page_bytes;
    local_entries[i].card_rest = h.card_rest_area.offset + i * h.card_rest_bytes;
  }

  JobWriter job;
  job.base_ = segment.base();
  job.offset_ = *at;
  job.bytes_ = plan.bytes();
  job.info_ = KeyedLog(segment.base() + h.info_area.offset, h.info_capacity, h.info_buckets);
  job.remote_ = RemoteCards(segment.base() + h.remote_area.offset, h.remote_capacity);
  std::size_t from = 0;
  for (std::size_t i = 0; i < spec.keys.size(); ++i) {
    const auto& key = spec.keys[i];
    const Record record{key.subject, PMIX_INTERNAL, key.key, encoded.view().subspan(from, ends[i] - from)};
    if (auto ok = job.info_.append(record); !ok) return fail(ok.error());
    from = ends[i];
  }
  auto view = JobView::open(segment.base(), segment.size(), *at);
  if (!view) return fail(view.error());
  job.view_ = *view;
  for (const auto rank : spec.local_ranks)
    if (auto index = job.add_local(rank); !index) return fail(index.error());

  undo.keep();
  header.state.store(JobHeader::live, std::memory_order_release);
  segment_header.jobs[slot].store(*at, std::memory_order_release);
  if (slot == slots) segment_header.job_count.store(slots + 1, std::memory_order_release);
  return job;
}

Result<std::uint32_t> JobWriter::add_local(std::uint32_t rank) {
  auto& h = header();
  if (rank >= h.ranks) return fail(Errc::invalid, "rank outside the job");
  if (const auto known = view_.local_index(rank); known != none) return known;
  const auto index = h.local_count.load(std::memory_order_relaxed);
  if (index >= h.local_capacity)
    return fail(Errc::no_space, "more local ranks than the namespace was registered with");
  view_.local(index).rank.store(rank, std::memory_order_relaxed);
  h.local_count.store(index + 1, std::memory_order_release);
  card_of(rank).store(RankEntry::local_card + index, std::memory_order_release);
  return index;
}

std::atomic<std::uint32_t>& JobWriter::card_of(std::uint32_t rank) noexcept {
  return reinterpret_cast<RankEntry*>(base_ + header().rank_area.offset)[rank].card;
}

Result<void> JobWriter::add_card(const Card& card) {
  if (card.rank >= view_.ranks()) return fail(Errc::invalid, "rank outside the job");
  if (view_.local_index(card.rank) != none) return fail(Errc::invalid, "the card of a rank of this node");
  return remote_.append(card_of(card.rank), card);
}

shm::NoticeRing& JobWriter::ring(std::uint32_t local) noexcept {
  return reinterpret_cast<shm::NoticeRing*>(base_ + header().rings)[local];
}

FetchCell& JobWriter::fetch_cell(std::uint32_t local) noexcept {
  return reinterpret_cast<FetchCell*>(base_ + header().fetch_cells)[local];
}

std::atomic<std::uint64_t>& JobWriter::dirty(std::uint32_t word) noexcept {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(base_ + header().dirty)[word];
}

Result<void> JobWriter::append(KeyedLog& log, Subject subject, std::uint8_t scope, std::string_view key,
                               const data::Value& value) {
  scratch_.clear();
  if (auto ok = data::encode_value(scratch_, value.get()); !ok) return ok;
  return log.append({subject, scope, key, scratch_.view()});
}

void JobWriter::retire(shm::Segment& segment) {
  header().state.store(JobHeader::gone, std::memory_order_release);
  auto& segment_header = *reinterpret_cast<SegmentHeader*>(base_);
  for (auto& slot : segment_header.jobs)
    if (slot.load(std::memory_order_relaxed) == offset_) slot.store(0, std::memory_order_release);
  segment.release(offset_, bytes_);
}

}  // namespace weft::store
