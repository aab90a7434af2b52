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

/// Adds areas one after the other, each on a page of its own.
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

/// The registered keys as records of the log; their sizes decide the layout.
struct EncodedKeys {
  data::Writer bytes;
  std::vector<std::size_t> ends;
  std::uint64_t record_bytes = 0;
};

Result<EncodedKeys> encode(const std::vector<KeySpec>& keys) {
  EncodedKeys out;
  for (const auto& key : keys) {
    const auto from = out.bytes.size();
    if (auto ok = data::encode_value(out.bytes, key.value.get()); !ok) return fail(ok.error());
    out.ends.push_back(out.bytes.size());
    out.record_bytes += KeyedLog::record_bytes(key.key.size(), out.bytes.size() - from);
  }
  return out;
}

Result<void> check(const JobSpec& spec, std::uint32_t locals) {
  if (spec.nspace.empty() || spec.nspace.size() > PMIX_MAX_NSLEN)
    return fail(Errc::invalid, "namespace length");
  if (locals > Board::max_members) return fail(Errc::invalid, "more than 65,535 ranks on a node");
  for (const auto& rank : spec.ranks)
    if ((rank.node != none && rank.node >= spec.nodes) || (rank.appnum != none && rank.appnum >= spec.apps))
      return fail(Errc::invalid, "a rank on a node, or of an application, that the job does not have");
  return {};
}

/// Where everything of a job lies, in bytes from its start, and how large each piece is. left: bytes that the segment has.
struct Layout {
  Layout(const JobSpec& spec, std::uint32_t locals, std::uint64_t key_bytes, std::uint64_t left,
         const Limits& limits);
  JobHeader header{};
  std::uint64_t bytes = 0;

  void move_to(std::uint64_t offset) {
    auto& h = header;
    for (Area* area : {&h.rank_area, &h.index_area, &h.info_area, &h.remote_area, &h.local_area,
                       &h.control_area, &h.card_area, &h.card_rest_area})
      area->offset += offset;
    for (auto* inside : {&h.board, &h.rings, &h.fetch_cells, &h.dirty}) *inside += offset;
  }
};

/// How much a rank's card and the remote cards may take.
void size_cards(JobHeader& h, const JobSpec& spec, std::uint64_t left, const Limits& limits) {
  const std::uint64_t elsewhere = h.ranks - std::min<std::uint64_t>(h.ranks, spec.local_ranks.size());
  const auto remote_share = std::max<std::uint64_t>(left / 4, least_remote_bytes);
  h.remote_capacity = std::clamp<std::uint64_t>(
      shm::page_aligned(elsewhere * remote_bytes_a_rank), elsewhere == 0 ? 64u << 10 : least_remote_bytes,
      std::min(shm::page_aligned(remote_share), RemoteCards::most_bytes));
  h.card_buckets = card_buckets;
  const std::uint64_t share =
      (left / 4 / std::max<std::uint64_t>(h.local_capacity, 1)) & ~std::uint64_t{shm::page_bytes - 1};
  const std::uint64_t wanted = std::max<std::uint64_t>(limits.card_bytes & ~std::uint64_t{7}, 64);
  h.card_first = std::min<std::uint64_t>(wanted, shm::page_bytes - KeyedLog::footprint(0, card_buckets));
  h.card_rest_bytes =
      std::max<std::uint64_t>(shm::page_bytes, std::min(shm::page_aligned(wanted - h.card_first), share));
  h.card_capacity = std::min(wanted, h.card_first + h.card_rest_bytes);
}

Layout::Layout(const JobSpec& spec, std::uint32_t locals, std::uint64_t key_bytes, std::uint64_t left,
               const Limits& limits) {
  auto& h = header;
  h.ranks = static_cast<std::uint32_t>(spec.ranks.size());
  h.nodes = spec.nodes;
  h.apps = spec.apps;
  h.my_node = spec.my_node;
  h.local_capacity = locals;
  h.cores = shm::usable_cores();
  h.info_buckets = buckets_for(spec.keys.size() * 2);
  h.info_capacity = shm::page_aligned(key_bytes * 2 + info_slack);
  size_cards(h, spec, left, limits);
  std::memcpy(h.nspace, spec.nspace.data(), spec.nspace.size());

  Plan plan;
  h.rank_area = plan.area(std::uint64_t{h.ranks} * sizeof(RankEntry));
  h.index_area = plan.area(JobIndex::footprint(spec));
  h.info_area = plan.area(KeyedLog::footprint(h.info_capacity, h.info_buckets));
  h.remote_area = plan.area(RemoteCards::footprint(h.remote_capacity));
  h.local_area = plan.area(std::uint64_t{locals} * sizeof(Local));
  const std::uint64_t rings_at = aligned(Board::footprint(locals));
  const std::uint64_t cells_at = aligned(rings_at + std::uint64_t{locals} * sizeof(shm::NoticeRing));
  const std::uint64_t dirty_at = cells_at + std::uint64_t{locals} * sizeof(FetchCell);
  h.control_area = plan.area(dirty_at + (locals + 63) / 64 * 8 + 8);
  h.board = h.control_area.offset;
  h.rings = h.control_area.offset + rings_at;
  h.fetch_cells = h.control_area.offset + cells_at;
  h.dirty = h.control_area.offset + dirty_at;
  h.card_area = plan.area(std::uint64_t{shm::page_bytes} * locals);
  h.card_rest_area = plan.area(h.card_rest_bytes * locals);
  bytes = plan.bytes();
}

/// The ranks, their index, the board and the places of local ranks. h: where they lie.
void fill(std::byte* base, const JobHeader& h, const JobSpec& spec) {
  auto* entries = reinterpret_cast<RankEntry*>(base + h.rank_area.offset);
  for (std::uint32_t r = 0; r < h.ranks; ++r) {
    const auto& s = spec.ranks[r];
    entries[r].node = s.node;
    entries[r].appnum = s.appnum;
    entries[r].app_rank = s.app_rank;
    entries[r].global_rank = s.global_rank;
    entries[r].local_rank = s.local_rank;
    entries[r].node_rank = s.node_rank;
  }
  JobIndex::fill({base + h.index_area.offset, h.index_area.bytes}, spec);
  Board::create(base + h.board, h.local_capacity, spec.nodes > 1);
  auto* locals = reinterpret_cast<Local*>(base + h.local_area.offset);
  for (std::uint32_t i = 0; i < h.local_capacity; ++i) {
    locals[i].rank.store(none, std::memory_order_relaxed);
    locals[i].card = h.card_area.offset + std::uint64_t{i} * shm::page_bytes;
    locals[i].card_rest = h.card_rest_area.offset + i * h.card_rest_bytes;
  }
}

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
  header.version.store(layout_version, std::memory_order_release);  // SH.V1 -> V2: all else first
  return {};
}

Result<JobWriter> JobWriter::create(shm::Segment& segment, const JobSpec& spec, const Limits& limits) {
  const auto locals =
      std::max<std::uint32_t>(spec.local_capacity, static_cast<std::uint32_t>(spec.local_ranks.size()));
  if (auto ok = check(spec, locals); !ok) return fail(ok.error());
  // Slots of retired jobs are used again, so that a server that runs job after job does not run out.
  auto& segment_header = *reinterpret_cast<SegmentHeader*>(segment.base());
  const auto slots = segment_header.job_count.load(std::memory_order_relaxed);
  std::uint32_t slot = 0;
  while (slot < slots && segment_header.jobs[slot].load(std::memory_order_relaxed) != 0) ++slot;
  if (slot == max_jobs) return fail(Errc::no_space, "400 jobs are registered already");

  const auto keys = encode(spec.keys);
  if (!keys) return fail(keys.error());
  Layout layout(spec, locals, keys->record_bytes, segment.left(), limits);
  auto at = segment.allocate(layout.bytes);
  if (!at) return fail(at.error());
  Undo undo(segment, *at, layout.bytes);
  layout.move_to(*at);
  const auto& h = layout.header;
  auto& header = *new (segment.base() + *at) JobHeader{};
  std::memcpy(static_cast<void*>(&header), &h, sizeof h);
  fill(segment.base(), h, spec);

  JobWriter job;
  job.base_ = segment.base();
  job.offset_ = *at;
  job.bytes_ = layout.bytes;
  job.info_ = KeyedLog(segment.base() + h.info_area.offset, h.info_capacity, h.info_buckets);
  job.remote_ = RemoteCards(segment.base() + h.remote_area.offset, h.remote_capacity);
  std::size_t from = 0;
  for (std::size_t i = 0; i < spec.keys.size(); ++i) {
    const auto& key = spec.keys[i];
    const auto value = keys->bytes.view().subspan(from, keys->ends[i] - from);
    if (auto ok = job.info_.append({key.owner, PMIX_INTERNAL, key.key, value}); !ok) return fail(ok.error());
    from = keys->ends[i];
  }
  auto view = JobView::open(segment.base(), segment.size(), *at);
  if (!view) return fail(view.error());
  job.view_ = *view;
  for (const auto rank : spec.local_ranks)
    if (auto index = job.add_local(rank); !index) return fail(index.error());

  undo.keep();
  header.state.store(JobHeader::live, std::memory_order_release);   // JH.S1 -> S2: all else first
  segment_header.jobs[slot].store(*at, std::memory_order_release);  // SH.J1 -> J2
  if (slot == slots) segment_header.job_count.store(slots + 1, std::memory_order_release);  // SH.C1 -> C2
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
  h.local_count.store(index + 1, std::memory_order_release);  // JH.C1 -> C2: its rank first
  card_of(rank).store(RankEntry::local_card + index, std::memory_order_release);  // RC.R1 -> R2
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

Result<void> JobWriter::append(KeyedLog& log, KeyOwner owner, std::uint8_t scope, std::string_view key,
                               const data::Value& value) {
  scratch_.clear();
  if (auto ok = data::encode_value(scratch_, value.get()); !ok) return ok;
  return log.append({owner, scope, key, scratch_.view()});
}

void JobWriter::retire(shm::Segment& segment) {
  header().state.store(JobHeader::gone, std::memory_order_release);  // JH.S1 -> S2
  auto& segment_header = *reinterpret_cast<SegmentHeader*>(base_);
  for (auto& slot : segment_header.jobs)
    if (slot.load(std::memory_order_relaxed) == offset_)
      slot.store(0, std::memory_order_release);  // SH.J1 -> J2
  segment.release(offset_, bytes_);
}

}  // namespace weft::store
