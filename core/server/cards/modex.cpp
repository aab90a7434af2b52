// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cards/modex.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "base/log_format.hpp"
#include "core/data/types/fields.hpp"
#include "core/link/messages.hpp"
#include "core/server/cards/card_message.hpp"
#include "core/server/cards/card_regions.hpp"
#include "core/server/jobs/far_cards.hpp"
#include "transport/base/locked_memory.hpp"

namespace weft::server {
namespace {

// The first round of a fetch brings so many bytes of a card: its length, and the usual business card or what
// is new of a longer one.
constexpr std::size_t start_bytes = 1024;
constexpr std::size_t log_header_bytes = sizeof(store::KeyedLog::Header);
constexpr std::uint32_t slots = 64;
constexpr int most_attempts = 3;  ///< at a card that is being written

std::vector<std::byte> bytes_of(Bytes bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

/// Cards of a job that others may read here.
struct Modex::Offer {
  std::unique_ptr<MemoryRegion> pages, rests;
  Blob place;
};

/// The same of another node.
struct Modex::Place {
  store::CardShape shape{};
  std::uint64_t page_bytes = 0, rest_bytes = 0;  ///< from one card to the next
  std::vector<std::uint32_t> ranks;              ///< by local index
  std::optional<mesh::RegionNumber> pages, rests;
  std::optional<store::CardKey> card_key;

  /// Nothing: no card of that rank lies there.
  std::optional<std::uint64_t> index_of(std::uint32_t rank) const {
    const auto at = std::find(ranks.begin(), ranks.end(), rank);
    if (at == ranks.end()) return std::nullopt;
    return static_cast<std::uint64_t>(at - ranks.begin());
  }
};

/// One read of a fetch.
struct Modex::Part : mesh::Reading {
  Fetch* fetch = nullptr;
  mesh::RegionNumber region = 0;
  std::uint64_t from = 0, into = 0;
  std::size_t length = 0;
};

struct Modex::Fetch {
  Modex* modex = nullptr;
  NodeNumber node = 0;
  pmix_proc_t proc{};
  std::vector<std::pair<Until, FetchDone>> done;
  std::uint64_t index = 0;               ///< of the card in its place
  std::uint64_t from = 0;                ///< bytes of its data that are known here
  std::uint64_t published = 0;           ///< what its length was, where all of it is read
  std::optional<std::uint32_t> slot;     ///< of the first round: the header, then data
  std::vector<std::byte> bytes;          ///< of what does not fit into a slot
  std::unique_ptr<MemoryRegion> region;  ///< of `bytes`
  std::size_t in_page = 0, in_rest = 0;  ///< bytes of data that are read of each piece
  std::array<Part, 2> parts;
  std::size_t used = 0, open = 0;  ///< parts: in all, and being read
  int attempts = 0;
  std::optional<Error> error;

  void read(mesh::RegionNumber region_there, std::uint64_t at, std::uint64_t into, std::size_t length) {
    auto& part = parts[used++];
    part.fetch = this;
    part.region = region_there;
    part.from = at;
    part.into = into;
    part.length = length;
  }
};

Modex::Modex(Cluster& cluster, Jobs& jobs) : cluster_(cluster), jobs_(jobs) {
  cluster_.on(RequestType::card_place, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    const auto proc = base::decode<pmix_proc_t>(body);
    if (!proc) return reply(PMIX_ERR_BAD_PARAM, {});
    const std::string nspace(link::nspace_of(*proc));
    // This node's launch may be behind the other's.
    jobs_.when_registered(nspace, [this, nspace, reply] { reply(PMIX_SUCCESS, place(nspace)); });
  });
}

Modex::~Modex() = default;

// ---- places

void Modex::offer(const store::JobView& job) {
  const auto& header = job.header();
  auto* const memory = job.clients_memory().data();
  auto made = std::make_unique<Offer>();
  auto& endpoint = cluster_.fabric().endpoint();
  auto pages = endpoint.expose({memory + header.card_area.offset, header.card_area.bytes});
  if (pages)
    made->pages = std::move(*pages);
  else
    base::warn(base::LogPart::modex,
               "the fabric does not register the cards of {} ({} KiB: {}{}), so other nodes ask this daemon "
               "for each instead of "
               "reading it{}",
               job.nspace(), header.card_area.bytes >> 10, pages.error().what,
               pages.error().sys == 0 ? std::string() : fmt::format(", {}", std::strerror(pages.error().sys)),
               transport::locked_memory_hint());
  // The rests are mostly addresses without memory behind them, and stay so.
  if (made->pages && !endpoint.capabilities().backs_memory)
    if (auto rests = endpoint.expose({memory + header.card_rest_area.offset, header.card_rest_area.bytes}))
      made->rests = std::move(*rests);
  if (made->pages) {
    CardRegions regions{.first = header.card_first,
                        .capacity = header.card_capacity,
                        .page_bytes = shm::page_bytes,
                        .rest_bytes = header.card_rest_bytes,
                        .pages = bytes_of(made->pages->packed_key()),
                        .rests = bytes_of(made->rests ? made->rests->packed_key() : Bytes{}),
                        .ranks = {}};
    for (std::uint32_t i = 0; i < job.local_count(); ++i)
      regions.ranks.push_back(job.local(i).rank.load(std::memory_order_relaxed));
    made->place = base::encode(regions);
  }
  offers_[std::string(job.nspace())] = std::move(made);
}

void Modex::withdraw(std::string_view nspace) {
  if (const auto found = offers_.find(nspace); found != offers_.end()) offers_.erase(found);
  // A read that is still open needs its key; then it stays for the rest of the session.
  const bool is_read = std::any_of(fetches_.begin(), fetches_.end(), [&](const auto& fetch) {
    return link::nspace_of(fetch.second->proc) == nspace;
  });
  std::erase_if(places_, [&](const auto& place) {
    if (place.first.second != nspace) return false;
    for (const auto& region : {place.second->pages, place.second->rests})
      if (region && !is_read) cluster_.fabric().mesh().release_region(place.first.first, *region);
    return true;
  });
}

Blob Modex::place(std::string_view nspace) const {
  const auto found = offers_.find(nspace);
  return found == offers_.end() ? Blob() : found->second->place;
}

Result<void> Modex::take_place(NodeNumber node, std::string_view nspace, Bytes packed) {
  // Several fetches may have asked, and the first fence of the job tells, too.
  Name name(node, nspace);
  if (const auto known = places_.find(name); known != places_.end() && known->second->pages) return {};
  auto made = std::make_unique<Place>();
  if (!packed.empty()) {
    auto regions = base::decode<CardRegions>(packed);
    if (!regions) return fail(Errc::corrupt, "a place of cards");
    made->shape = {.first = regions->first, .capacity = regions->capacity};
    made->page_bytes = regions->page_bytes;
    made->rest_bytes = regions->rest_bytes;
    made->ranks = std::move(regions->ranks);
    made->card_key = card_key(cluster_, nspace);
    if (auto region = cluster_.fabric().mesh().import_region(node, regions->pages)) made->pages = *region;
    if (!regions->rests.empty())
      if (auto region = cluster_.fabric().mesh().import_region(node, regions->rests)) made->rests = *region;
  }
  places_[std::move(name)] = std::move(made);
  return {};
}

// ---- one fetch

void Modex::fetch(NodeNumber node, const pmix_proc_t& proc, Until until, FetchDone done) {
  const Rank rank(link::nspace_of(proc), proc.rank);
  if (const auto open = awaited_.find({rank, 0}); open != awaited_.end() && until == Until::commit)
    return open->second.push_back(std::move(done));
  auto& shared = by_rank_[rank];
  if (shared != nullptr) return void(shared->done.emplace_back(until, std::move(done)));
  auto made = std::make_unique<Fetch>();
  Fetch& fetch = *made;
  shared = &fetch;
  fetch.modex = this;
  fetch.node = node;
  fetch.proc = proc;
  fetch.done.emplace_back(until, traced(proc, std::move(done)));
  fetches_[&fetch] = std::move(made);
  ++counters_.fetches;
  base::debug(base::LogPart::modex, "fetches the card of rank {} of {} from node {}", proc.rank,
              link::nspace_of(proc), node);
  pace_of(cluster_).stay_awake();
  if (!cluster_.servers().is_there(node)) return end(fetch, {PMIX_ERR_UNREACH});
  place_for(fetch) != nullptr ? read_start(fetch) : ask_place(fetch);
}

/// done, with its fetch in the trace of the job, where a launcher traces it.
FetchDone Modex::traced(const pmix_proc_t& proc, FetchDone done) const {
  const auto* const job = jobs_.find(link::nspace_of(proc));
  if (job == nullptr || !job->trace) return done;
  const store::KeptEntry event(job->trace, store::TraceCall::server_fetch, proc.rank);
  return [event, done = std::move(done)](const Fetched& fetched) {
    event.end(fetched.status);
    done(fetched);
  };
}

void Modex::await_more(NodeNumber node, const pmix_proc_t& proc, std::uint64_t beyond, FetchDone done) {
  if (!cluster_.servers().is_there(node)) return done({PMIX_ERR_UNREACH});
  const std::pair name(Rank(link::nspace_of(proc), proc.rank), beyond);
  auto& waiting = awaited_[name];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  request(node, proc, beyond, true, [this, name](const Fetched& fetched) {
    const auto ended = awaited_.extract(name);
    for (const auto& then : ended.mapped()) then(fetched);
  });
}

std::uint64_t Modex::known(const pmix_proc_t& proc) const {
  const auto* job = jobs_.find(link::nspace_of(proc));
  return job != nullptr ? job->view().cards().remote_known(proc.rank) : 0;
}

/// The server of the rank's node replies when the card is longer than `beyond`, or at once.
void Modex::request(NodeNumber node, const pmix_proc_t& proc, std::uint64_t beyond, bool waits,
                    FetchDone done) {
  ++counters_.requests;
  base::debug(base::LogPart::modex, "asks node {} for the card of rank {} of {} beyond {}", node, proc.rank,
              link::nspace_of(proc), beyond);
  const CardMessage message{std::string(link::nspace_of(proc)), proc.rank, known(proc), beyond, waits};
  const auto replied = [self = weak_self_.get(), beyond, done = std::move(done)](pmix_status_t status,
                                                                                 Bytes body) {
    Modex* const modex = self();
    if (modex == nullptr) return;
    if (status != PMIX_SUCCESS) return done({status});
    const auto reply = base::decode<CardMessageReply>(body);
    if (!reply || reply->end <= beyond) return done({PMIX_ERR_UNPACK_FAILURE});
    std::vector<UnkeptCard> unkept;
    status = take_cards(modex->jobs_, reply->cards, {.unkept = &unkept});
    done({status, status == PMIX_SUCCESS ? reply->end : 0, std::move(unkept)});
  };
  cluster_.send(node, RequestType::card, base::encode(message), replied);
}

/// NULL: not known yet, or not any more, after its node was lost or the job has ended here.
Modex::Place* Modex::place_for(const Fetch& fetch) const {
  const auto found = places_.find({fetch.node, std::string(link::nspace_of(fetch.proc))});
  return found == places_.end() ? nullptr : found->second.get();
}

void Modex::ask_place(Fetch& fetch) {
  ++counters_.requests;
  const auto answered = [self = weak_self_.get(), at = &fetch](pmix_status_t status, Bytes place) {
    Modex* const modex = self();
    if (modex == nullptr || modex->fetches_.count(at) == 0) return;
    auto& asked = *modex->fetches_.at(at);
    if (status != PMIX_SUCCESS) return modex->end(asked, {status});
    if (!modex->take_place(asked.node, link::nspace_of(asked.proc), place))
      return modex->end(asked, {PMIX_ERR_UNPACK_FAILURE});
    modex->read_start(asked);
  };
  cluster_.send(fetch.node, RequestType::card_place, base::encode(fetch.proc), answered);
}

/// Nothing is committed yet, or the card cannot be read: its server has to say.
void Modex::ask_for_card(Fetch& fetch) {
  const auto ended = take_out(fetch);
  std::vector<FetchDone> now;
  for (auto& [until, done] : ended->done) {
    if (until == Until::now)
      now.push_back(std::move(done));
    else
      await_more(ended->node, ended->proc, 0, std::move(done));
  }
  if (now.empty()) return;
  request(ended->node, ended->proc, 0, false, [now = std::move(now)](const Fetched& fetched) {
    for (const auto& then : now) then(fetched);
  });
}

void Modex::read_start(Fetch& fetch) {
  const auto* place = place_for(fetch);
  if (place == nullptr) return end(fetch, {PMIX_ERR_UNREACH});
  const auto index = place->index_of(fetch.proc.rank);
  if (!place->pages || !index) return ask_for_card(fetch);
  const auto& shape = place->shape;
  fetch.index = *index;
  fetch.from = known(fetch.proc);
  const bool is_in_rest = fetch.from != 0 && fetch.from >= shape.first;
  if (fetch.from > shape.capacity || (is_in_rest && !place->rests)) return ask_for_card(fetch);
  if (!landing_region_) {
    landing_.resize(std::size_t{slots} * start_bytes);
    auto exposed = cluster_.fabric().endpoint().expose(landing_);
    if (!exposed) return ask_for_card(fetch);
    landing_region_ = std::move(*exposed);
    for (std::uint32_t slot = 0; slot < slots; ++slot) free_slots_.push_back(slot);
  }
  if (free_slots_.empty()) return waiting_.push_back(&fetch);
  fetch.slot = free_slots_.back();
  free_slots_.pop_back();
  const auto page = fetch.index * place->page_bytes;
  const auto into = *fetch.slot * start_bytes;
  const auto left = (is_in_rest ? shape.capacity : shape.first) - fetch.from;
  const auto bytes = std::min<std::uint64_t>(left, start_bytes - log_header_bytes);
  fetch.in_page = is_in_rest ? 0 : bytes;
  fetch.in_rest = is_in_rest ? bytes : 0;
  fetch.used = 0;
  if (fetch.from == 0) {
    fetch.read(*place->pages, page, into, log_header_bytes + bytes);
  } else {
    fetch.read(*place->pages, page, into, log_header_bytes);
    if (is_in_rest)
      fetch.read(*place->rests, fetch.index * place->rest_bytes + fetch.from - shape.first,
                 into + log_header_bytes, bytes);
    else
      fetch.read(*place->pages, page + log_header_bytes + fetch.from, into + log_header_bytes, bytes);
  }
  launch(fetch);
}

/// There is more than what came: all that is new.
void Modex::read_all(Fetch& fetch, const Place& place, const store::CardImage& image) {
  if (image.rest_bytes != 0 && !place.rests) return ask_for_card(fetch);
  fetch.published = image.published;
  fetch.region.reset();
  fetch.bytes.assign(image.page_bytes + image.rest_bytes, std::byte{});
  fetch.in_page = image.page_bytes;
  fetch.in_rest = image.rest_bytes;
  auto exposed = cluster_.fabric().endpoint().expose(fetch.bytes);
  if (!exposed) return ask_for_card(fetch);
  fetch.region = std::move(*exposed);
  const auto first = std::min(fetch.from, place.shape.first);
  fetch.used = 0;
  if (fetch.in_page != 0)
    fetch.read(*place.pages, fetch.index * place.page_bytes + log_header_bytes + first, 0, fetch.in_page);
  if (fetch.in_rest != 0)
    fetch.read(*place.rests, fetch.index * place.rest_bytes + fetch.from - first, fetch.in_page,
               fetch.in_rest);
  launch(fetch);
}

void Modex::launch(Fetch& fetch) {
  auto& into = fetch.region ? *fetch.region : *landing_region_;
  fetch.open = fetch.used;
  for (auto& part : std::span(fetch.parts).first(fetch.used)) {
    part.done = [](mesh::Work& work, Result<void> outcome) noexcept {
      auto& of = *static_cast<Part&>(static_cast<mesh::Reading&>(work)).fetch;
      if (!outcome && !of.error) of.error = outcome.error();
      if (--of.open == 0) of.modex->ready_.push_back(&of);
    };
    ++counters_.reads;
    const auto begun = cluster_.fabric().mesh().read(fetch.node, part.region, part.from,
                                                     {into, part.into, part.length}, part);
    if (begun) {
      counters_.bytes_read += part.length;
      continue;
    }
    if (!fetch.error) fetch.error = begun.error();
    --fetch.open;
  }
  if (fetch.open == 0) ready_.push_back(&fetch);  // none was begun: else done() says it, later
}

/// All its reads have ended.
void Modex::go_on(Fetch& fetch) {
  if (const auto error = std::exchange(fetch.error, std::nullopt)) {
    if (error->code == Errc::peer_lost) return end(fetch, {PMIX_ERR_UNREACH});
    return ask_for_card(fetch);  // no room, or the job there has just ended: its server knows
  }
  const auto* place = place_for(fetch);
  if (place == nullptr) return end(fetch, {PMIX_ERR_UNREACH});
  const Bytes slot = Bytes(landing_).subspan(*fetch.slot * start_bytes, start_bytes);
  const auto header =
      fetch.region ? std::as_bytes(std::span(&fetch.published, 1)) : slot.first(log_header_bytes);
  const auto data = fetch.region ? Bytes(fetch.bytes) : slot.subspan(log_header_bytes);
  const auto image = store::read_card_image(
      header, {fetch.from, data.first(fetch.in_page), data.subspan(fetch.in_page, fetch.in_rest)},
      place->shape, {place->card_key ? &*place->card_key : nullptr, fetch.proc.rank});
  if (!image) {
    const bool is_worth_it = image.error().code == Errc::again && ++fetch.attempts < most_attempts;
    return is_worth_it ? launch(fetch) : ask_for_card(fetch);
  }
  if (image->published == 0) return ask_for_card(fetch);
  if (!image->whole) return read_all(fetch, *place, *image);
  const auto& proc = fetch.proc;
  std::vector<UnkeptCard> unkept;
  const auto status =
      take_card(jobs_, {link::nspace_of(proc), proc.rank, fetch.from, image->published, image->records},
                {.unkept = &unkept});
  end(fetch, {status, status == PMIX_SUCCESS ? image->published : 0, std::move(unkept)});
}

/// Takes the fetch out of the tables; its caller ends it.
std::unique_ptr<Modex::Fetch> Modex::take_out(Fetch& fetch) {
  if (fetch.slot) free_slots_.push_back(*fetch.slot);
  auto out = std::move(fetches_.at(&fetch));
  fetches_.erase(&fetch);
  by_rank_.erase({std::string(link::nspace_of(out->proc)), out->proc.rank});
  return out;
}

void Modex::end(Fetch& fetch, const Fetched& fetched) {
  const auto ended = take_out(fetch);
  base::debug(base::LogPart::modex, "the fetch of rank {} of {} has ended: status {}", ended->proc.rank,
              link::nspace_of(ended->proc), fetched.status);
  for (const auto& [until, done] : ended->done) done(fetched);
}

void Modex::node_lost(NodeNumber node) {
  std::erase_if(places_, [&](const auto& place) { return place.first.first == node; });
}

std::size_t Modex::progress() {
  std::size_t count = 0;
  for (; !ready_.empty(); ++count) {
    Fetch& fetch = *ready_.front();
    ready_.pop_front();
    go_on(fetch);
  }
  while (!waiting_.empty() && !free_slots_.empty()) {
    Fetch& fetch = *waiting_.front();
    waiting_.pop_front();
    read_start(fetch);
  }
  return count;
}

}  // namespace weft::server
