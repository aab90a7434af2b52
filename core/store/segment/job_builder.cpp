// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/segment/job_builder.hpp"

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
constexpr std::uint64_t addresses_for_jobs = 16;  // a job's share of what is left of the server's memory

std::uint32_t buckets_for(std::uint64_t keys) {
  return static_cast<std::uint32_t>(std::bit_ceil(std::clamp<std::uint64_t>(keys, 64, 1u << 22)));
}

std::uint64_t aligned(std::uint64_t n) {
  return (n + 63) & ~std::uint64_t{63};
}

/// The memory of a segment that a job takes; freed unless keep() was called.
class Allocation {
 public:
  Allocation(shm::Segment& segment, std::uint64_t server_bytes, std::uint64_t clients_bytes)
      : segment_(&segment),
        bytes_(server_bytes),
        server_(segment.server.allocate(server_bytes)),
        clients_(server_ ? segment.clients.make(clients_bytes) : fail(server_.error())) {}
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() {
    if (segment_ == nullptr) return;
    if (clients_) segment_->clients.release(*clients_);
    if (server_) segment_->server.release(*server_, bytes_);
  }
  /// Where it lies in the server's memory, and among the clients' memories.
  const Result<std::uint64_t>& server() const noexcept { return server_; }
  const Result<std::uint64_t>& clients() const noexcept { return clients_; }
  void keep() noexcept { segment_ = nullptr; }

 private:
  shm::Segment* segment_;
  std::uint64_t bytes_;
  Result<std::uint64_t> server_, clients_;
};

/// Adds areas one after the other, each on a page of its own.
class Plan {
 public:
  explicit Plan(std::uint64_t from) : next_(from) {}
  Area area(std::uint64_t bytes) {
    const Area out{next_, shm::page_aligned(bytes)};
    next_ += out.bytes;
    return out;
  }
  std::uint64_t bytes() const { return next_; }

 private:
  std::uint64_t next_;
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

/// The room that a segment has for one more job.
struct Left {
  std::uint64_t server, clients;  ///< bytes
  std::uint32_t board_slots;
};

/// A sixteenth of the addresses that are left: a segment of a few MiB, as in tests, and one of many jobs keep
/// room for more.
std::uint32_t board_slots_in(const shm::Memories& clients) noexcept {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(most_pool_boards + most_group_boards, clients.left() / 16 / pool_board_bytes));
}

/// Where everything of a job lies, in bytes from its start in each memory, and how large each piece is.
struct Layout {
  Layout(const JobSpec& spec, std::uint32_t locals, std::uint64_t key_bytes, Left left, const Limits& limits);
  JobHeader header{};
  std::uint64_t server_bytes = 0;

  void move_to(std::uint64_t server) {
    auto& h = header;
    for (Area* area : {&h.rank_area, &h.index_area, &h.info_area, &h.remote_area, &h.local_area})
      area->offset += server;
  }
};

/// How much a rank's card and the remote cards may take.
void size_cards(JobHeader& h, const JobSpec& spec, Left left, const Limits& limits) {
  const std::uint64_t elsewhere = h.ranks - std::min<std::uint64_t>(h.ranks, spec.local_ranks.size());
  const auto remote_share = std::max<std::uint64_t>(left.server / 2, least_remote_bytes);
  // All that the ranks elsewhere may put, where that leaves addresses for many jobs more; else what most of
  // them put.
  const auto all = std::min(elsewhere * std::min<std::uint64_t>(limits.card_bytes, RemoteCards::most_bytes),
                            left.server / addresses_for_jobs);
  h.remote_capacity =
      std::clamp<std::uint64_t>(shm::page_aligned(std::max(elsewhere * remote_bytes_a_rank, all)),
                                elsewhere == 0 ? 64u << 10 : least_remote_bytes,
                                std::min(shm::page_aligned(remote_share), RemoteCards::most_bytes));
  h.card_buckets = card_buckets;
  const std::uint64_t share =
      (left.clients / 2 / std::max<std::uint64_t>(h.local_capacity, 1)) & ~std::uint64_t{shm::page_bytes - 1};
  const std::uint64_t wanted = std::max<std::uint64_t>(limits.card_bytes & ~std::uint64_t{7}, 64);
  h.card_first = std::min<std::uint64_t>(wanted, shm::page_bytes - KeyedLog::footprint(0, card_buckets));
  h.card_rest_bytes =
      std::max<std::uint64_t>(shm::page_bytes, std::min(shm::page_aligned(wanted - h.card_first), share));
  h.card_capacity = std::min(wanted, h.card_first + h.card_rest_bytes);
}

Layout::Layout(const JobSpec& spec, std::uint32_t locals, std::uint64_t key_bytes, Left left,
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
  h.cards_are_keyed = spec.card_key ? 1 : 0;
  if (spec.card_key) h.card_key = *spec.card_key;

  Plan plan(shm::page_aligned(sizeof(JobHeader)));
  h.rank_area = plan.area(std::uint64_t{h.ranks} * sizeof(RankEntry));
  h.index_area = plan.area(JobIndex::footprint(spec));
  h.info_area = plan.area(KeyedLog::footprint(h.info_capacity, h.info_buckets));
  h.remote_area = plan.area(RemoteCards::footprint(h.remote_capacity));
  h.local_area = plan.area(std::uint64_t{locals} * sizeof(Local));
  server_bytes = plan.bytes();

  Plan theirs(0);
  const std::uint64_t rings_at = aligned(Board::footprint(locals));
  const std::uint64_t cells_at = aligned(rings_at + std::uint64_t{locals} * sizeof(shm::NoticeRing));
  const std::uint64_t starts_at = cells_at + std::uint64_t{locals} * sizeof(FetchCell);
  const std::uint64_t dirty_at =
      starts_at + (spec.has_start_cells ? std::uint64_t{locals} * sizeof(StartCell) : 0);
  const std::uint64_t doorbell_at = aligned(dirty_at + (locals + 63) / 64 * 8);
  h.control_area = theirs.area(doorbell_at + sizeof(shm::Doorbell));
  h.board = h.control_area.offset;
  h.rings = h.control_area.offset + rings_at;
  h.fetch_cells = h.control_area.offset + cells_at;
  h.start_cells = spec.has_start_cells ? h.control_area.offset + starts_at : 0;
  h.dirty = h.control_area.offset + dirty_at;
  h.doorbell = h.control_area.offset + doorbell_at;
  h.card_area = theirs.area(std::uint64_t{shm::page_bytes} * locals);
  h.card_rest_area = theirs.area(h.card_rest_bytes * locals);
  h.board_area = theirs.area(locals == 0 ? 0 : left.board_slots * pool_board_bytes);
  h.trace_area = theirs.area(spec.has_trace_logs ? trace_log_bytes * locals : 0);
  h.clients_bytes = theirs.bytes();
}

/// The pages that the server, its clients and readers of the job touch from the first moment on; logs get
/// theirs as they grow. at: where the header lies; clients: the job's memory.
Result<void> populate(std::byte* server, std::byte* clients, std::uint64_t at, const JobHeader& h) {
  const auto log_bytes = KeyedLog::footprint(h.info_capacity, h.info_buckets);
  const auto heads_at = log_bytes - h.info_buckets * sizeof(KeyedLog::Head);
  for (const Area area : {Area{at, sizeof h}, h.rank_area, h.index_area, h.local_area,
                          Area{h.info_area.offset, sizeof(KeyedLog::Header)},
                          Area{h.info_area.offset + heads_at, log_bytes - heads_at},
                          Area{h.remote_area.offset, sizeof(RemoteCards::Header)}})
    if (auto ok = shm::populate(server + area.offset, area.bytes); !ok) return ok;
  for (const Area area : {h.control_area, h.card_area})
    if (auto ok = shm::populate(clients + area.offset, area.bytes); !ok) return ok;
  return {};
}

/// The ranks, their index, the board and the places of local ranks. h: where they lie.
void fill(std::byte* base, std::byte* clients, const JobHeader& h, const JobSpec& spec) {
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
  ServerBoard::create(clients + h.board, h.local_capacity, spec.nodes > 1);
  auto* locals = reinterpret_cast<Local*>(base + h.local_area.offset);
  for (std::uint32_t i = 0; i < h.local_capacity; ++i) {
    locals[i].rank.store(none, std::memory_order_relaxed);
    locals[i].card = h.card_area.offset + std::uint64_t{i} * shm::page_bytes;
    locals[i].card_rest = h.card_rest_area.offset + i * h.card_rest_bytes;
  }
}

}  // namespace

Result<void> format_segment(shm::Segment& segment, const ServerName& server) {
  const auto header_at = segment.server.allocate(sizeof(SegmentHeader));
  if (!header_at || *header_at != 0) return fail(Errc::no_space, "the node segment is too small");
  if (auto ok = shm::populate(segment.server.base(), sizeof(SegmentHeader)); !ok) return ok;
  auto& header = *reinterpret_cast<SegmentHeader*>(segment.server.base());
  header.magic = segment_magic;
  header.server_bytes = segment.server.size();
  header.board_slots = board_slots_in(segment.clients);
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
  auto& segment_header = *reinterpret_cast<SegmentHeader*>(segment.server.base());
  const auto slots = segment_header.job_count.load(std::memory_order_relaxed);
  std::uint32_t slot = 0;
  while (slot < slots && segment_header.jobs[slot].load(std::memory_order_relaxed) != 0) ++slot;
  if (slot == max_jobs) return fail(Errc::no_space, "400 jobs are registered already");

  const auto keys = encode(spec.keys);
  if (!keys) return fail(keys.error());
  const Left left{segment.server.left(), segment.clients.left(),
                  std::min(segment_header.board_slots, board_slots_in(segment.clients))};
  Layout layout(spec, locals, keys->record_bytes, left, limits);
  auto& h = layout.header;
  Allocation allocation(segment, layout.server_bytes, h.clients_bytes);
  if (!allocation.clients()) return fail(allocation.clients().error());
  const auto at = *allocation.server();
  layout.move_to(at);
  h.clients_at = *allocation.clients();
  h.clients_fd = segment.clients.fd(h.clients_at);
  h.clients_inode = shm::inode_of(h.clients_fd);
  const auto bytes = segment.bytes();
  auto* const server = bytes.server.data();
  auto* const clients = bytes.clients.data() + h.clients_at;
  if (auto ok = populate(server, clients, at, h); !ok) return fail(ok.error());
  auto& header = *new (server + at) JobHeader{};
  std::memcpy(static_cast<void*>(&header), &h, sizeof h);
  fill(server, clients, h, spec);

  JobWriter job;
  job.offset_ = at;
  job.header_ = &header;
  job.ranks_ = reinterpret_cast<RankEntry*>(server + h.rank_area.offset);
  job.rings_ = reinterpret_cast<shm::NoticeRing*>(clients + h.rings);
  job.fetch_cells_ = reinterpret_cast<FetchCell*>(clients + h.fetch_cells);
  if (h.start_cells != 0) job.start_cells_ = reinterpret_cast<StartCell*>(clients + h.start_cells);
  if (h.trace_area.bytes != 0) job.trace_logs_ = clients + h.trace_area.offset;
  job.dirty_ = reinterpret_cast<std::atomic<std::uint64_t>*>(clients + h.dirty);
  job.doorbell_ = reinterpret_cast<shm::Doorbell*>(clients + h.doorbell);
  job.info_ = KeyedLog(server + h.info_area.offset, h.info_capacity, h.info_buckets);
  job.remote_ = RemoteCards(server + h.remote_area.offset, h.remote_capacity);
  if (auto ok = job.info_.back(keys->record_bytes); !ok) return fail(ok.error());
  std::size_t from = 0;
  for (std::size_t i = 0; i < spec.keys.size(); ++i) {
    const auto& key = spec.keys[i];
    const auto value = keys->bytes.view().subspan(from, keys->ends[i] - from);
    if (auto ok = job.info_.append({key.owner, PMIX_INTERNAL, key.key, value}); !ok) return fail(ok.error());
    from = keys->ends[i];
  }
  auto view = JobView::open(bytes, at);
  if (!view) return fail(view.error());
  job.view_ = *view;
  for (const auto rank : spec.local_ranks)
    if (auto index = job.add_local(rank); !index) return fail(index.error());

  allocation.keep();
  job.bytes_ = layout.server_bytes;
  job.clients_at_ = h.clients_at;
  header.state.store(JobHeader::live, std::memory_order_release);  // JH.S1 -> S2: all else first
  segment_header.jobs[slot].store(at, std::memory_order_release);  // SH.J1 -> J2
  if (slot == slots) segment_header.job_count.store(slots + 1, std::memory_order_release);  // SH.C1 -> C2
  return job;
}

void JobWriter::check_cards_with(const CardKey& key) noexcept {
  header_->card_key = key;
  header_->cards_are_keyed = 1;
}

Result<std::uint32_t> JobWriter::add_local(std::uint32_t rank) {
  auto& h = *header_;
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

Result<void> JobWriter::add_card(const Card& card, RemoteCards::Link* base) {
  if (card.rank >= view_.ranks()) return fail(Errc::invalid, "rank outside the job");
  if (view_.local_index(card.rank) != none) return fail(Errc::invalid, "the card of a rank of this node");
  auto& link = card_of(card.rank);
  const auto before = link.load(std::memory_order_relaxed);
  const bool is_later = base != nullptr && *base != 0;
  if (auto ok = remote_.append(link, card, is_later ? *base : first_base_); !ok) return ok;
  const auto now = link.load(std::memory_order_relaxed);
  if (is_later || now == before) return {};
  const auto used = remote_.base_of(now);
  if (first_base_ == 0) first_base_ = now;
  if (base != nullptr) *base = used != 0 ? used : now;
  return {};
}

void JobWriter::forget_card(std::uint32_t rank) noexcept {
  card_of(rank).store(0, std::memory_order_release);  // RC.R1 -> R2
}

Result<void> JobWriter::add_info(const KeySpec& key) {
  scratch_.clear();
  if (auto ok = data::encode_value(scratch_, key.value.get()); !ok) return ok;
  return add_record({key.owner, PMIX_INTERNAL, key.key, scratch_.view()});
}

Result<void> JobWriter::add_record(const Record& record) {
  const auto end =
      info_.end_after(info_.published(), KeyedLog::record_bytes(record.key.size(), record.value.size()));
  if (!end) return fail(end.error());
  if (auto ok = info_.back(*end); !ok) return ok;
  return info_.append(record);
}

void JobWriter::retire(shm::Segment& segment) {
  header_->state.store(JobHeader::gone, std::memory_order_release);  // JH.S1 -> S2
  auto& segment_header = *reinterpret_cast<SegmentHeader*>(segment.server.base());
  for (auto& slot : segment_header.jobs)
    if (slot.load(std::memory_order_relaxed) == offset_)
      slot.store(0, std::memory_order_release);  // SH.J1 -> J2
  segment.clients.release(clients_at_);
  segment.server.release(offset_, bytes_);
}

}  // namespace weft::store
