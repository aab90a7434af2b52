// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/segment/job_view.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

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

/// The index led behind what is readable of a log: its writer has gone on meanwhile.
bool is_behind(const Result<Record>& found, const KeyedLog& log) noexcept {
  return !found && found.error().code == Errc::corrupt && log.has_more();
}

/// Calls find(log) with what is readable now of the log that `log()` takes, and again while the writer goes
/// on, a number of times that no writer decides.
template <class Log, class Find>
[[gnu::noinline, gnu::cold]] Result<Record> find_again(const Log& log, const Find& find) noexcept {
  constexpr int most_tries = 1000;
  auto readable = log();
  auto found = find(readable);
  for (int tries = 1; tries < most_tries && is_behind(found, readable); ++tries) {
    readable = log();
    found = find(readable);
  }
  return found;
}

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
  const auto& h = *reinterpret_cast<const JobHeader*>(base + job);
  JobView view;
  view.header_ = &h;
  view.rank_count_ = h.ranks;
  view.local_capacity_ = h.local_capacity;
  view.card_buckets_ = h.card_buckets;
  view.card_first_ = h.card_first;
  view.card_capacity_ = h.card_capacity;
  view.card_rest_bytes_ = h.card_rest_bytes;
  const Area ranks = h.rank_area, index = h.index_area, info = h.info_area, remote = h.remote_area,
             locals = h.local_area;
  const Area control = h.control_area, cards = h.card_area, rests = h.card_rest_area, boards = h.board_area;
  const std::uint64_t info_capacity = h.info_capacity, remote_capacity = h.remote_capacity;
  const std::uint32_t info_buckets = h.info_buckets;
  const std::uint32_t nodes = h.nodes, apps = h.apps;
  const std::uint64_t board = h.board;
  for (const Area area : {ranks, index, info, remote, locals})
    if (!inside(area, segment.server.size())) return fail(Errc::corrupt, "job area");
  const Area of_clients{h.clients_at, h.clients_bytes};
  for (const Area area : {control, cards, rests, boards})
    if (!inside(area, of_clients.bytes)) return fail(Errc::corrupt, "job area");
  const std::uint64_t most = view.local_capacity_;
  if (board < control.offset || board - control.offset > control.bytes ||
      control.bytes - (board - control.offset) < Board::footprint(view.local_capacity_))
    return fail(Errc::corrupt, "job board");
  if (ranks.bytes / sizeof(RankEntry) < view.rank_count_ ||
      index.bytes < JobIndex::fixed_bytes(view.rank_count_, nodes, apps) ||
      locals.bytes / sizeof(Local) < most || cards.bytes / shm::page_bytes < most ||
      (most != 0 && rests.bytes / most < view.card_rest_bytes_) ||
      !holds(info.bytes, info_capacity, info_buckets) || remote_capacity > RemoteCards::most_bytes ||
      remote.bytes < RemoteCards::footprint(remote_capacity) ||
      !holds(shm::page_bytes, view.card_first_, view.card_buckets_) ||
      view.card_first_ > view.card_capacity_ ||
      view.card_capacity_ - view.card_first_ > view.card_rest_bytes_)
    return fail(Errc::corrupt, "job bounds");
  // Logs grow: what they have is reached when it is read.
  const Area info_header{info.offset, sizeof(KeyedLog::Header)};
  const auto heads_bytes = std::uint64_t{info_buckets} * sizeof(KeyedLog::Head);
  const Area info_heads{info.offset + sizeof(KeyedLog::Header) + info_capacity, heads_bytes};
  const Area remote_header{remote.offset, sizeof(RemoteCards::Header)};
  for (const Area area : {ranks, index, locals, info_header, info_heads, remote_header})
    if (!reach(segment.server_parts, area)) return fail(Errc::os, "a job that is not mapped");
  view.server_parts_ = segment.server_parts;
  view.info_at_ = info.offset;
  view.remote_at_ = remote.offset;
  view.ranks_ = reinterpret_cast<RankEntry*>(base + ranks.offset);
  view.locals_ = reinterpret_cast<Local*>(base + locals.offset);
  view.index_ = JobIndex({base + index.offset, index.bytes}, view.rank_count_, nodes, apps);
  view.info_ = KeyedLog(base + info.offset, info_capacity, info_buckets);
  if (segment.server_parts != nullptr) read_all(view.info_, *segment.server_parts, info.offset);
  view.remote_ = RemoteCards(base + remote.offset, remote_capacity);
  view.nspace_ = name_of(h);
  // The server has the memories of all jobs, and a client that of its own.
  const bool is_servers = segment.clients_parts == nullptr;
  if (!is_servers && segment.own_job != job) return view;
  const Area memory{is_servers ? of_clients.offset : 0, of_clients.bytes};
  if (!inside(memory, segment.clients.size())) return fail(Errc::corrupt, "the clients' memory of a job");
  for (const Area area : {control, cards})
    if (!reach(segment.clients_parts, area)) return fail(Errc::os, "a job that is not mapped");
  view.clients_ = segment.clients.subspan(memory.offset, memory.bytes);
  view.clients_parts_ = segment.clients_parts;
  view.card_rests_at_ = rests.offset;
  auto* const clients = view.clients_.data();
  view.board_ = &Board::at(clients + board);
  view.cards_ = clients + cards.offset;
  view.card_rests_ = clients + rests.offset;
  return view;
}

KeyedLog JobView::info() const noexcept {
  auto log = info_;
  if (server_parts_ != nullptr && log.has_more()) read_all(log, *server_parts_, info_at_);
  return log;
}

RemoteCards JobView::remote() const noexcept {
  if (server_parts_ == nullptr) return remote_;
  const auto used = std::min(remote_.header().used.load(std::memory_order_relaxed), remote_.capacity());
  const bool is_here = server_parts_->reach(remote_at_, sizeof(RemoteCards::Header) + used);
  return remote_.up_to(is_here ? used : 0);
}

KeyedLog JobView::card(std::uint32_t local) const noexcept {
  auto log = whole_card(local);
  if (clients_parts_ == nullptr) return log;
  const auto end = log.published();
  const bool has_rest = end > card_first_ && end <= card_capacity_;
  const bool is_here =
      has_rest && clients_parts_->reach(card_rests_at_ + local * card_rest_bytes_, end - card_first_);
  log.read_up_to(is_here ? end : card_first_);
  return log;
}

KeyedLog JobView::whole_card(std::uint32_t local) const noexcept {
  return KeyedLog(cards_ + std::uint64_t{local} * shm::page_bytes, card_first_, card_buckets_,
                  card_rests_ + local * card_rest_bytes_, card_capacity_);
}

KeyedLog JobView::card_to_write(std::uint32_t local) const noexcept {
  auto out = whole_card(local);
  if (header_->cards_are_keyed != 0)
    out.check_with(
        {&header_->card_key, locals_[local].rank.load(std::memory_order_relaxed)});  // JH.C2 came before
  return out;
}

Result<Record> JobView::find_info(KeyOwner owner, std::string_view key, std::uint64_t hash) const noexcept {
  // Few keys come after a process has opened its job.
  auto found = info_.find(owner, key, hash);
  if (info_.has_more()) [[unlikely]]
    found =
        find_again([&] { return info(); }, [&](const KeyedLog& log) { return log.find(owner, key, hash); });
  return found;
}

/// The first page is mapped, and most cards end there: what leads behind it is looked for again. The
/// result has one variable, which is returned where it was made: every Get of a card comes through here.
inline Result<Record> JobView::find_local(std::uint32_t local, std::string_view key, std::uint64_t hash,
                                          std::uint32_t scopes) const noexcept {
  auto log = whole_card(local);
  if (clients_parts_ != nullptr) log.read_up_to(card_first_);
  auto found = log.find({Realm::rank, 0}, key, hash, scopes);
  if (is_behind(found, log)) [[unlikely]]
    found = find_again([&] { return card(local); },
                       [&](const KeyedLog& now) {
                         return now.find({Realm::rank, 0}, key, hash, scopes);
                       });
  return found;
}

Result<Record> JobView::find_card(std::uint32_t r, std::string_view key, std::uint64_t hash,
                                  std::uint32_t scopes) const noexcept {
  if (r >= rank_count_) return fail(Errc::not_found);
  const auto at = ranks_[r].card.load(std::memory_order_acquire);  // RC.R2 <- R1
  if (at >= RankEntry::local_card) {
    const auto index = at - RankEntry::local_card;
    if (index >= local_capacity_) return fail(Errc::corrupt, "local index");
    if (!has_cards()) return fail(Errc::not_found, "another job's card");
    return find_local(index, key, hash, scopes);
  }
  const auto found = remote().find(at, key, hash, scopes);
  if (!found) return fail(found.error());
  return Record{{Realm::rank, r}, found->scope, found->key, found->value};
}

Result<std::vector<CardRecord>> JobView::remote_card(std::uint32_t r) const {
  const auto at = r < rank_count_ ? ranks_[r].card.load(std::memory_order_acquire) : 0;  // RC.R2 <- R1
  if (at >= RankEntry::local_card) return std::vector<CardRecord>();
  return remote().all(at);
}

}  // namespace weft::store
