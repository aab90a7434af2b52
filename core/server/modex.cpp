// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/modex.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/data/wire.hpp"
#include "core/link/messages.hpp"

namespace weft::server {
namespace {

// The start of a card that one read brings: its length and the usual business card.
constexpr std::size_t start_bytes = 1024;
constexpr std::uint32_t slots = 64;
constexpr std::uint64_t most_card_bytes = std::uint64_t{1} << 34;
constexpr int most_attempts = 3;  ///< at a card that is being written

std::vector<std::byte> question(const pmix_proc_t& proc) {
  data::Writer out;
  out.text(link::nspace_of(proc));
  out.u32(proc.rank);
  return std::move(out).take();
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
  std::vector<Done> done;
  std::optional<std::uint32_t> slot;
  std::vector<std::byte> bytes;  ///< of a card that does not fit into a slot
  std::size_t in_page = 0;       ///< of them
  std::unique_ptr<MemoryRegion> region;
  std::array<Part, 2> parts;
  std::size_t open = 0;  ///< parts that are being read
  int attempts = 0;
  std::optional<Error> error;
};

Modex::Modex(Nodes& nodes, Hooks hooks) : nodes_(nodes), hooks_(std::move(hooks)) {
  auto& letters = nodes_.letters();
  const auto when_known = [this](Bytes body, auto&& work) {
    data::Reader in(body);
    const std::string nspace(in.text());
    const auto proc = link::make_proc(nspace, in.u32());
    if (!in.done()) return false;
    if (hooks_.is_known(nspace))
      work(proc);
    else  // this node's launch may be behind the other's
      early_[nspace].push_back([work, proc] { work(proc); });
    return true;
  };
  letters.on(Subject::card_place, [this, when_known](NodeNumber, Bytes body, const Letters::Answer& answer) {
    const auto tell = [this, answer](const pmix_proc_t& proc) {
      answer(PMIX_SUCCESS, place(link::nspace_of(proc)));
    };
    if (!when_known(body, tell)) answer(PMIX_ERR_BAD_PARAM, {});
  });
  letters.on(Subject::card, [this, when_known](NodeNumber, Bytes body, const Letters::Answer& answer) {
    const auto tell = [this, answer](const pmix_proc_t& proc) {
      hooks_.local_card(proc, [answer](pmix_status_t status, const Blob& card) { answer(status, card); });
    };
    if (!when_known(body, tell)) answer(PMIX_ERR_BAD_PARAM, {});
  });
}

Modex::~Modex() = default;

// ---- places

void Modex::offer(const store::JobView& job, std::byte* segment) {
  const auto& header = job.header();
  auto made = std::make_unique<Offer>();
  auto& endpoint = nodes_.endpoint();
  if (auto pages = endpoint.expose({segment + header.card_area.offset, header.card_area.bytes}))
    made->pages = std::move(*pages);
  // The rests are mostly addresses without memory behind them, and stay so.
  if (made->pages && !endpoint.capabilities().backs_memory)
    if (auto rests = endpoint.expose({segment + header.card_rest_area.offset, header.card_rest_area.bytes}))
      made->rests = std::move(*rests);
  if (made->pages) {
    data::Writer out;
    out.u64(header.card_first);
    out.u64(header.card_capacity);
    out.u64(shm::page_bytes);
    out.u64(header.card_rest_bytes);
    out.bytes(made->pages->packed_key());
    out.bytes(made->rests ? made->rests->packed_key() : Bytes{});
    out.u32(job.local_count());
    for (std::uint32_t i = 0; i < job.local_count(); ++i)
      out.u32(job.local(i).rank.load(std::memory_order_relaxed));
    made->place = std::move(out).take();
  }
  offers_[std::string(job.nspace())] = std::move(made);
  answer_early(job.nspace());
}

void Modex::answer_early(std::string_view nspace) {
  const auto early = early_.find(nspace);
  if (early == early_.end()) return;
  const auto questions = std::move(early->second);
  early_.erase(early);
  for (const auto& ask : questions) ask();
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
      if (region && !is_read) nodes_.mesh().forget_region(place.first.first, *region);
    return true;
  });
}

Modex::Blob Modex::place(std::string_view nspace) const {
  const auto found = offers_.find(nspace);
  return found == offers_.end() ? Blob() : found->second->place;
}

Result<void> Modex::take_place(NodeNumber node, std::string_view nspace, Bytes packed) {
  // Several fetches may have asked, and the first fence of the job tells, too.
  Name name(node, nspace);
  if (const auto known = places_.find(name); known != places_.end() && known->second->pages) return {};
  auto made = std::make_unique<Place>();
  if (!packed.empty()) {
    data::Reader in(packed);
    made->shape.first = in.u64();
    made->shape.capacity = in.u64();
    made->page_bytes = in.u64();
    made->rest_bytes = in.u64();
    const Bytes pages = in.bytes(), rests = in.bytes();
    const auto count = in.u32();
    if (in.left() != std::size_t{count} * sizeof(std::uint32_t)) in.spoil();
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) made->ranks.push_back(in.u32());
    if (!in.done() || made->shape.first > made->shape.capacity || made->shape.capacity > most_card_bytes ||
        made->page_bytes > most_card_bytes || made->rest_bytes > most_card_bytes)
      return fail(Errc::corrupt, "a place of cards");
    if (auto region = nodes_.mesh().learn_region(node, pages)) made->pages = *region;
    if (!rests.empty())
      if (auto region = nodes_.mesh().learn_region(node, rests)) made->rests = *region;
  }
  places_[std::move(name)] = std::move(made);
  return {};
}

// ---- one fetch

void Modex::fetch(NodeNumber node, const pmix_proc_t& proc, Done done) {
  auto& shared = by_rank_[{std::string(link::nspace_of(proc)), proc.rank}];
  if (shared != nullptr) return shared->done.push_back(std::move(done));
  auto made = std::make_unique<Fetch>();
  Fetch& fetch = *made;
  shared = &fetch;
  fetch.modex = this;
  fetch.node = node;
  fetch.proc = proc;
  fetch.done.push_back(std::move(done));
  fetches_[&fetch] = std::move(made);
  ++counters_.fetches;
  nodes_.stay_awake();
  if (!nodes_.is_there(node)) return end(fetch, PMIX_ERR_UNREACH);
  place_for(fetch) != nullptr ? read_start(fetch) : ask_place(fetch);
}

/// NULL: not known yet, or not any more, after its node was lost or the job has ended here.
const Modex::Place* Modex::place_for(const Fetch& fetch) const {
  const auto found = places_.find({fetch.node, std::string(link::nspace_of(fetch.proc))});
  return found == places_.end() ? nullptr : found->second.get();
}

void Modex::ask_place(Fetch& fetch) {
  ++counters_.questions;
  const auto answered = [weak = std::weak_ptr(here_), at = &fetch](pmix_status_t status, Bytes place) {
    const auto here = weak.lock();
    if (!here || (*here)->fetches_.count(at) == 0) return;
    auto& self = **here;
    auto& asked = *(*here)->fetches_.at(at);
    if (status != PMIX_SUCCESS) return self.end(asked, status);
    if (!self.take_place(asked.node, link::nspace_of(asked.proc), place))
      return self.end(asked, PMIX_ERR_UNPACK_FAILURE);
    self.read_start(asked);
  };
  nodes_.letters().send(fetch.node, Subject::card_place, question(fetch.proc), answered);
}

/// The node sends the card, once there is one.
void Modex::ask_card(Fetch& fetch) {
  ++counters_.questions;
  const auto answered = [weak = std::weak_ptr(here_), at = &fetch](pmix_status_t status, Bytes card) {
    const auto here = weak.lock();
    if (!here || (*here)->fetches_.count(at) == 0) return;
    if (status == PMIX_SUCCESS) status = (*here)->hooks_.take_blobs(card);
    (*here)->end(*(*here)->fetches_.at(at), status);
  };
  nodes_.letters().send(fetch.node, Subject::card, question(fetch.proc), answered);
}

void Modex::read_start(Fetch& fetch) {
  const auto* place = place_for(fetch);
  if (place == nullptr) return end(fetch, PMIX_ERR_UNREACH);
  const auto index = place->index_of(fetch.proc.rank);
  if (!place->pages || !index) return ask_card(fetch);
  if (!landing_region_) {
    landing_.resize(std::size_t{slots} * start_bytes);
    auto exposed = nodes_.endpoint().expose(landing_);
    if (!exposed) return ask_card(fetch);
    landing_region_ = std::move(*exposed);
    for (std::uint32_t slot = 0; slot < slots; ++slot) free_slots_.push_back(slot);
  }
  if (free_slots_.empty()) return waiting_.push_back(&fetch);
  fetch.slot = free_slots_.back();
  free_slots_.pop_back();
  auto& part = fetch.parts[0];
  part.region = *place->pages;
  part.from = *index * place->page_bytes;
  part.into = *fetch.slot * start_bytes;
  part.length = std::min<std::uint64_t>(start_bytes, place->page_bytes);
  launch(fetch, part);
}

/// It is longer than what came: the whole of it.
void Modex::read_all(Fetch& fetch, const Place& place, const store::CardImage& image) {
  const auto index = place.index_of(fetch.proc.rank);
  if (!index || (image.rest_bytes != 0 && !place.rests) || image.page_bytes > place.page_bytes ||
      image.rest_bytes > place.rest_bytes)
    return ask_card(fetch);
  fetch.region.reset();
  fetch.bytes.assign(image.page_bytes + image.rest_bytes, std::byte{});
  fetch.in_page = image.page_bytes;
  auto exposed = nodes_.endpoint().expose(fetch.bytes);
  if (!exposed) return ask_card(fetch);
  fetch.region = std::move(*exposed);
  auto& [page, rest] = fetch.parts;
  page.region = *place.pages;
  page.from = *index * place.page_bytes;
  page.into = 0;
  page.length = image.page_bytes;
  if (image.rest_bytes != 0) {
    rest.region = *place.rests;
    rest.from = *index * place.rest_bytes;
    rest.into = image.page_bytes;
    rest.length = image.rest_bytes;
    ++fetch.open;  // so that the first does not end it
    launch(fetch, page);
    --fetch.open;
    launch(fetch, rest);
  } else {
    launch(fetch, page);
  }
}

void Modex::launch(Fetch& fetch, Part& part) {
  part.fetch = &fetch;
  part.done = [](mesh::Work& work, Result<void> outcome) noexcept {
    auto& ended = static_cast<Part&>(static_cast<mesh::Reading&>(work));
    auto& of = *ended.fetch;
    if (!outcome && !of.error) of.error = outcome.error();
    if (--of.open == 0) of.modex->ready_.push_back(&of);
  };
  auto& region = fetch.region ? *fetch.region : *landing_region_;
  ++fetch.open;
  ++counters_.reads;
  const auto begun =
      nodes_.mesh().read(fetch.node, part.region, part.from, {region, part.into, part.length}, part);
  if (begun) return void(counters_.bytes_read += part.length);
  if (!fetch.error) fetch.error = begun.error();
  if (--fetch.open == 0) ready_.push_back(&fetch);
}

/// All its reads have ended.
void Modex::go_on(Fetch& fetch) {
  if (const auto error = std::exchange(fetch.error, std::nullopt)) {
    if (error->code == Errc::peer_lost) return end(fetch, PMIX_ERR_UNREACH);
    return ask_card(fetch);  // no room, or the job there has just ended: its server knows
  }
  const auto* place = place_for(fetch);
  if (place == nullptr) return end(fetch, PMIX_ERR_UNREACH);
  const Bytes all = fetch.region ? Bytes(fetch.bytes)
                                 : Bytes(landing_).subspan(*fetch.slot * start_bytes, fetch.parts[0].length);
  const auto in_page = fetch.region ? fetch.in_page : all.size();
  const auto image = store::read_card_image(all.first(in_page), all.subspan(in_page), place->shape);
  if (!image) {
    const bool is_worth_it = image.error().code == Errc::again && ++fetch.attempts < most_attempts;
    return is_worth_it && !fetch.region ? launch(fetch, fetch.parts[0]) : ask_card(fetch);
  }
  if (image->published == 0) return ask_card(fetch);
  if (!image->whole) return read_all(fetch, *place, *image);
  end(fetch, hooks_.take_card({link::nspace_of(fetch.proc), fetch.proc.rank, image->records}));
}

void Modex::end(Fetch& fetch, pmix_status_t status) {
  if (fetch.slot) free_slots_.push_back(*fetch.slot);
  const auto ended = std::move(fetches_.at(&fetch));
  fetches_.erase(&fetch);
  by_rank_.erase({std::string(link::nspace_of(ended->proc)), ended->proc.rank});
  for (const auto& done : ended->done) done(status);
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
