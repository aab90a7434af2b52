// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/segment/job_view.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/store/segment/growing_log.hpp"
#include "transport/shm/partial_window.hpp"

namespace weft::store {
namespace {

bool inside(Area area, std::size_t bytes) noexcept {
  return area.offset <= bytes && area.bytes <= bytes - area.offset;
}

/// True if an area of that size can hold such a log.
bool holds(std::uint64_t area_bytes, std::uint64_t capacity, std::uint32_t buckets) noexcept {
  return std::has_single_bit(buckets) && capacity <= area_bytes &&
         KeyedLog::footprint(capacity, buckets) <= area_bytes;
}

std::string_view name_of(const JobHeader& job) noexcept {
  return {job.nspace, ::strnlen(job.nspace, sizeof job.nspace)};
}

bool reach(const shm::PartialWindow* parts, Area area) noexcept {
  return parts == nullptr || parts->reach(area.offset, area.bytes);
}

/// Null: there is none, or it cannot be mapped.
const JobHeader* job_at(const shm::SegmentBytes& segment, std::uint64_t at) noexcept {
  if (at == 0 || at > segment.server.size() - sizeof(JobHeader) ||
      !reach(segment.server_parts, {at, sizeof(JobHeader)}))
    return nullptr;
  return reinterpret_cast<const JobHeader*>(segment.server.data() + at);
}

/// All that a log in one piece, at `offset` of a memory, has by now.
void read_all(KeyedLog& log, const shm::PartialWindow& parts, std::uint64_t offset) noexcept {
  log.read_up_to(log.capacity());
  const auto end = log.published();
  log.read_up_to(parts.reach(offset, sizeof(KeyedLog::Header) + end) ? end : 0);
}

/// Where the areas of a job lie, as its header says: read once, so that what is checked is what is used.
struct Areas {
  explicit Areas(const JobHeader& h) noexcept
      : ranks(h.rank_area),
        index(h.index_area),
        info(h.info_area),
        remote(h.remote_area),
        locals(h.local_area),
        control(h.control_area),
        cards(h.card_area),
        rests(h.card_rest_area),
        boards(h.board_area),
        clients{h.clients_at, h.clients_bytes},
        board(h.board),
        info_capacity(h.info_capacity),
        remote_capacity(h.remote_capacity),
        card_first(h.card_first),
        card_capacity(h.card_capacity),
        card_rest_bytes(h.card_rest_bytes),
        rank_count(h.ranks),
        nodes(h.nodes),
        apps(h.apps),
        local_capacity(h.local_capacity),
        info_buckets(h.info_buckets),
        card_buckets(h.card_buckets) {}

  /// Null: all is inside. Else what is not.
  const char* outside(std::size_t server_bytes) const noexcept {
    for (const Area area : {ranks, index, info, remote, locals})
      if (!inside(area, server_bytes)) return "job area";
    for (const Area area : {control, cards, rests, boards})
      if (!inside(area, clients.bytes)) return "job area";
    if (board < control.offset || board - control.offset > control.bytes ||
        control.bytes - (board - control.offset) < Board::footprint(local_capacity))
      return "job board";
    return hold_all() ? nullptr : "job bounds";
  }
  /// Each is long enough for what it is said to have.
  bool hold_all() const noexcept {
    const std::uint64_t most = local_capacity;
    return ranks.bytes / sizeof(RankEntry) >= rank_count &&
           index.bytes >= JobIndex::fixed_bytes(rank_count, nodes, apps) &&
           locals.bytes / sizeof(Local) >= most && cards.bytes / shm::page_bytes >= most &&
           (most == 0 || rests.bytes / most >= card_rest_bytes) &&
           holds(info.bytes, info_capacity, info_buckets) && remote_capacity <= RemoteCards::most_bytes &&
           remote.bytes >= RemoteCards::footprint(remote_capacity) &&
           holds(shm::page_bytes, card_first, card_buckets) && card_first <= card_capacity &&
           card_capacity - card_first <= card_rest_bytes;
  }
  /// Maps what is not mapped yet of the server's memory. Logs grow: what they have is reached when it is
  /// read.
  bool reach_all(const shm::PartialWindow* parts) const noexcept {
    const Area info_header{info.offset, sizeof(KeyedLog::Header)};
    const auto heads_bytes = std::uint64_t{info_buckets} * sizeof(KeyedLog::Head);
    const Area info_heads{info.offset + sizeof(KeyedLog::Header) + info_capacity, heads_bytes};
    const Area remote_header{remote.offset, sizeof(RemoteCards::Header)};
    for (const Area area : {ranks, index, locals, info_header, info_heads, remote_header})
      if (!reach(parts, area)) return false;
    return true;
  }

  const Area ranks, index, info, remote, locals;  // in the server's memory
  const Area control, cards, rests, boards;       // in the clients' memory
  const Area clients;                             // that memory among those of all jobs
  const std::uint64_t board, info_capacity, remote_capacity;
  const std::uint64_t card_first, card_capacity, card_rest_bytes;
  const std::uint32_t rank_count, nodes, apps, local_capacity, info_buckets, card_buckets;
};

}  // namespace

Attach check_segment(const shm::SegmentBytes& segment) noexcept {
  if (segment.server.data() == nullptr) return Attach::absent;
  if (segment.server.size() < sizeof(SegmentHeader)) return Attach::too_short;
  const auto& header = *reinterpret_cast<const SegmentHeader*>(segment.server.data());
  const auto version = header.version.load(std::memory_order_acquire);  // SH.V2 <- V1
  if (version == 0) return Attach::not_ready;
  if (version != layout_version || header.magic != segment_magic) return Attach::wrong_version;
  return header.server_bytes > segment.server.size() ? Attach::too_short : Attach::ready;
}

std::vector<std::uint64_t> jobs_of(const shm::SegmentBytes& segment) {
  const auto& header = *reinterpret_cast<const SegmentHeader*>(segment.server.data());
  const auto count = std::min(header.job_count.load(std::memory_order_acquire), max_jobs);  // SH.C2 <- C1
  std::vector<std::uint64_t> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto at = header.jobs[i].load(std::memory_order_acquire);  // SH.J2 <- J1
    const auto* const job = job_at(segment, at);
    if (job == nullptr) continue;
    if (job->state.load(std::memory_order_acquire) == JobHeader::live) out.push_back(at);  // JH.S2 <- S1
  }
  return out;
}

std::optional<std::uint64_t> find_job(const shm::SegmentBytes& segment, std::string_view nspace) noexcept {
  const auto& header = *reinterpret_cast<const SegmentHeader*>(segment.server.data());
  const auto count = std::min(header.job_count.load(std::memory_order_acquire), max_jobs);  // SH.C2 <- C1
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto at = header.jobs[i].load(std::memory_order_acquire);  // SH.J2 <- J1
    const auto* const job = job_at(segment, at);
    if (job == nullptr) continue;
    const auto state = job->state.load(std::memory_order_acquire);  // JH.S2 <- S1
    if (state == JobHeader::live && name_of(*job) == nspace) return at;
  }
  return std::nullopt;
}

Result<JobView> JobView::open(const shm::SegmentBytes& segment, std::uint64_t job) noexcept {
  auto* const base = segment.server.data();
  if (job > segment.server.size() - sizeof(JobHeader)) return fail(Errc::corrupt, "job offset");
  if (!reach(segment.server_parts, {job, sizeof(JobHeader)}))
    return fail(Errc::os, "a job that is not mapped");
  const auto& header = *reinterpret_cast<const JobHeader*>(base + job);
  const Areas areas(header);
  if (const auto* what = areas.outside(segment.server.size())) return fail(Errc::corrupt, what);
  if (!areas.reach_all(segment.server_parts)) return fail(Errc::os, "a job that is not mapped");
  JobView view;
  view.header_ = &header;
  view.rank_count_ = areas.rank_count;
  view.server_parts_ = segment.server_parts;
  view.info_at_ = areas.info.offset;
  view.ranks_ = reinterpret_cast<RankEntry*>(base + areas.ranks.offset);
  view.locals_ = reinterpret_cast<Local*>(base + areas.locals.offset);
  view.index_ =
      JobIndex({base + areas.index.offset, areas.index.bytes}, areas.rank_count, areas.nodes, areas.apps);
  view.info_ = KeyedLog(base + areas.info.offset, areas.info_capacity, areas.info_buckets);
  if (segment.server_parts != nullptr) read_all(view.info_, *segment.server_parts, areas.info.offset);
  view.cards_ = JobCards(header, {view.ranks_, view.rank_count_}, view.locals_,
                         {.log = RemoteCards(base + areas.remote.offset, areas.remote_capacity),
                          .at = areas.remote.offset,
                          .parts = segment.server_parts});
  view.nspace_ = name_of(header);
  // The server has the memories of all jobs, and a client that of its own.
  const bool is_servers = segment.clients_parts == nullptr;
  if (!is_servers && segment.own_job != job) return view;
  const Area memory{is_servers ? areas.clients.offset : 0, areas.clients.bytes};
  if (!inside(memory, segment.clients.size())) return fail(Errc::corrupt, "the clients' memory of a job");
  for (const Area area : {areas.control, areas.cards})
    if (!reach(segment.clients_parts, area)) return fail(Errc::os, "a job that is not mapped");
  view.clients_ = segment.clients.subspan(memory.offset, memory.bytes);
  auto* const clients = view.clients_.data();
  view.board_ = &Board::at(clients + areas.board);
  view.cards_.map_local({.pages = clients + areas.cards.offset,
                         .rests = clients + areas.rests.offset,
                         .rests_at = areas.rests.offset,
                         .first = areas.card_first,
                         .capacity = areas.card_capacity,
                         .rest_bytes = areas.card_rest_bytes,
                         .buckets = areas.card_buckets,
                         .count = areas.local_capacity,
                         .parts = segment.clients_parts});
  return view;
}

KeyedLog JobView::info() const noexcept {
  auto log = info_;
  if (server_parts_ != nullptr && log.has_more()) read_all(log, *server_parts_, info_at_);
  return log;
}

Result<Record> JobView::find_info(KeyOwner owner, std::string_view key, std::uint64_t hash) const noexcept {
  // Few keys come after a process has opened its job.
  auto found = info_.find(owner, key, hash);
  if (info_.has_more()) [[unlikely]]
    found =
        find_again([&] { return info(); }, [&](const KeyedLog& log) { return log.find(owner, key, hash); });
  return found;
}

}  // namespace weft::store
