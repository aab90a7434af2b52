// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/node_fences.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "core/data/wire.hpp"
#include "core/events/range.hpp"
#include "core/link/messages.hpp"

namespace weft::server {
namespace {

using collectives::Kind;
using collectives::Outcome;

// How often fences that are open are looked after.
constexpr std::chrono::seconds look_every{1};
constexpr std::uint32_t most_procs = 1u << 26;
constexpr std::uint64_t most_ahead = 1u << 16;  // attempts that a node may be behind another

/// What ends a collective at all members, and what that means for their fences.
Errc code_of(pmix_status_t why) noexcept {
  switch (why) {
    case PMIX_ERR_TIMEOUT:
      return Errc::timeout;
    case PMIX_ERR_PROC_ABORTED:
      return Errc::peer_lost;
    case PMIX_ERR_UNREACH:
      return Errc::unreachable;
    case PMIX_ERR_OUT_OF_RESOURCE:
      return Errc::no_space;
    default:
      return Errc::canceled;
  }
}
pmix_status_t status_of(Errc code) noexcept {
  switch (code) {
    case Errc::timeout:
      return PMIX_ERR_TIMEOUT;
    case Errc::peer_lost:
      return PMIX_ERR_PROC_ABORTED;
    case Errc::unreachable:
      return PMIX_ERR_UNREACH;
    case Errc::no_space:
      return PMIX_ERR_OUT_OF_RESOURCE;
    case Errc::no_memory:
      return PMIX_ERR_NOMEM;
    case Errc::invalid:  // some nodes want the cards to travel, others do not
      return PMIX_ERR_BAD_PARAM;
    case Errc::corrupt:
      return PMIX_ERR_UNPACK_FAILURE;
    default:
      return PMIX_ERROR;
  }
}

void write_procs(data::Writer& out, const Procs& procs) {
  out.u32(static_cast<std::uint32_t>(procs.size()));
  for (const auto& proc : procs) {
    out.text(link::nspace_of(proc));
    out.u32(proc.rank);
  }
}

Procs read_procs(data::Reader& in) {
  Procs procs;
  const auto count = in.u32();
  if (count > most_procs) in.spoil();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const auto nspace = in.text();
    procs.push_back(link::make_proc(nspace, in.u32()));
  }
  return procs;
}

std::vector<std::byte> encoded(const LocalPart& part) {
  data::Writer out;
  out.scalar(part.state);
  out.i32(part.hopeless);
  out.u32(static_cast<std::uint32_t>(part.missing.size()));
  for (const auto& one : part.missing) {
    out.u32(one.rank);
    out.i32(one.pid);
  }
  return std::move(out).take();
}

std::optional<LocalPart> decoded(Bytes body) {
  data::Reader in(body);
  LocalPart part;
  part.state = in.scalar<LocalPart::State>();
  part.hopeless = in.i32();
  const auto count = in.u32();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const auto rank = in.u32();
    part.missing.push_back({rank, in.i32()});
  }
  if (!in.done() || part.state > LocalPart::State::absent) return std::nullopt;
  return part;
}

}  // namespace

collectives::Signature signature_of(const Procs& procs) {
  data::Writer text;
  write_procs(text, procs);
  const auto hash = XXH3_128bits(text.view().data(), text.size());
  return {hash.high64, hash.low64};
}

NodeFences::NodeFences(asio::io_context& loop, Nodes& nodes, std::string host,
                       std::chrono::seconds stuck_after, Hooks hooks)
    : nodes_(nodes),
      host_(std::move(host)),
      stuck_after_(stuck_after),
      hooks_(std::move(hooks)),
      timer_(loop) {
  nodes_.letters().on(Subject::process_gone, [this](NodeNumber, Bytes body, const Letters::Answer& answer) {
    hear_gone(body);
    answer(PMIX_SUCCESS, {});
  });
  nodes_.letters().on(Subject::fence_part, [this](NodeNumber, Bytes body, const Letters::Answer& answer) {
    answer_about(body, answer);
  });
}

Result<NodeFences::Key> NodeFences::begin(Procs procs, bool collect, Blob mine, Done done) {
  auto members = hooks_.nodes_of(procs);
  const auto self = std::lower_bound(members.begin(), members.end(), nodes_.self());
  if (self == members.end() || *self != nodes_.self())
    return fail(Errc::not_found, "a participant is not known");
  const auto signature = signature_of(procs);
  const auto key = std::make_shared<Key>(signature, 0);
  const auto on_end = [this, key, members, done = std::move(done)](const Outcome& outcome) {
    open_.erase(*key);
    std::vector<Part> others;
    for (std::size_t i = 0; outcome.result && i < outcome.contributions.size(); ++i)
      if (members[i] != nodes_.self()) others.push_back({members[i], outcome.contributions[i]});
    done(outcome.result ? PMIX_SUCCESS : status_of(outcome.result.error().code), others);
  };
  const auto generation = nodes_.engine().begin(signature, collect ? Kind::exchange : Kind::barrier, members,
                                                std::move(mine), on_end);
  if (!generation) return tl::unexpected(generation.error());
  nodes_.stay_awake();
  key->second = *generation;
  auto& fence = open_[*key] = {std::move(procs), std::move(members), Clock::now()};
  for (const auto& [nspace, rank] : gone_) {
    const auto proc = link::make_proc(nspace, rank);
    if (!events::covers(fence.procs, proc)) continue;
    for (const auto node : hooks_.nodes_of({proc})) ask_about(*key, fence, node, nullptr);
  }
  arm();
  return *key;
}

std::uint64_t NodeFences::attempts(const Procs& procs) const {
  return nodes_.engine().begun(signature_of(procs));
}

std::optional<NodeFences::Clock::time_point> NodeFences::since(const Key& key) const {
  const auto fence = open_.find(key);
  if (fence == open_.end()) return std::nullopt;
  return fence->second.since;
}

void NodeFences::abort(const Key& key, pmix_status_t why) {
  nodes_.engine().abort(key.first, key.second, code_of(why));
}

void NodeFences::refuse(const Procs& procs, pmix_status_t why) {
  // Fails only where a participant is not known here, and then no other node knows us as a member.
  static_cast<void>(nodes_.engine().refuse(signature_of(procs), hooks_.nodes_of(procs), code_of(why)));
}

// ---- processes that are gone

void NodeFences::tell_gone(const pmix_proc_t& proc, const std::vector<NodeNumber>& nodes) {
  data::Writer body;
  write_procs(body, {proc});
  for (const auto node : nodes)
    if (node != nodes_.self() && nodes_.is_there(node))
      nodes_.letters().send(node, Subject::process_gone, {body.view().begin(), body.view().end()}, nullptr);
}

void NodeFences::hear_gone(Bytes body) {
  data::Reader in(body);
  const auto procs = read_procs(in);
  if (!in.done() || procs.size() != 1) return;
  enter_gone(procs[0]);
  const auto where = hooks_.nodes_of(procs);
  for (const auto& [key, fence] : open_)
    if (!where.empty() && events::covers(fence.procs, procs[0]))
      ask_about(key, fence, where.front(), nullptr);
}

void NodeFences::enter_gone(const pmix_proc_t& proc) {
  if (gone_.emplace(link::nspace_of(proc), proc.rank).second) hooks_.gone(proc);
}

void NodeFences::forget(std::string_view nspace) {
  std::erase_if(gone_, [&](const auto& proc) { return proc.first == nspace; });
}

/// then: with the answer, or NULL when there is none. A node that cannot take part ends the fence by itself.
void NodeFences::ask_about(const Key& key, const Open& fence, NodeNumber node,
                           std::function<void(const LocalPart*)> then) {
  data::Writer body;
  body.u64(key.second);
  write_procs(body, fence.procs);
  nodes_.letters().send(node, Subject::fence_part, std::move(body).take(),
                        [then = std::move(then)](pmix_status_t status, Bytes answer) {
                          const auto part = status == PMIX_SUCCESS ? decoded(answer) : std::nullopt;
                          if (then) then(part ? &*part : nullptr);
                        });
}

void NodeFences::answer_about(Bytes body, const Letters::Answer& answer) {
  data::Reader in(body);
  const auto generation = in.u64();
  const auto procs = read_procs(in);
  if (!in.done()) return answer(PMIX_ERR_BAD_PARAM, {});
  const auto begun = [&] { return nodes_.engine().begun(signature_of(procs)); };
  if (begun() < generation && generation - begun() > most_ahead) return answer(PMIX_ERR_BAD_PARAM, {});
  LocalPart part{.state = LocalPart::State::entered, .missing = {}};
  if (begun() < generation) {
    part = hooks_.local_part(procs, generation - begun() - 1);
    // One attempt after the other, until the one that was asked for. A set that is unknown here has no member here.
    for (auto last = begun(); part.hopeless != PMIX_SUCCESS && last < generation; last = begun()) {
      hooks_.give_up(procs, part.hopeless);
      if (begun() == last) break;
    }
  }
  answer(PMIX_SUCCESS, encoded(part));
}

// ---- fences that are open for long

void NodeFences::arm() {
  if (std::exchange(is_armed_, true)) return;
  timer_.expires_after(look_every);
  timer_.async_wait([this](const std::error_code& error) {
    is_armed_ = false;
    if (error) return;
    look();
    if (!open_.empty()) arm();
  });
}

/// One node speaks for all: the lowest that is in the fence. It asks those before it first.
struct NodeFences::Inquiry {
  Key key;
  Open fence;
  bool is_report = false;
  std::vector<std::pair<NodeNumber, LocalPart>> parts;
  std::vector<NodeNumber> silent;
  bool is_other_in_charge = false;
  std::size_t open_questions = 0;
};

/// Who has waited for 2, 4, 8 ... seconds asks around: a participant may have ended in an orderly way and will not come.
void NodeFences::look() {
  for (auto& [key, fence] : open_) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - fence.since).count();
    const bool is_power = age >= 2 && (age & (age - 1)) == 0;
    const bool is_stuck = stuck_after_.count() != 0 && age >= stuck_after_.count() && !fence.is_reported;
    if (!is_power && !is_stuck) continue;
    fence.is_reported |= is_stuck;
    auto inquiry = std::make_shared<Inquiry>();
    inquiry->key = key;
    inquiry->fence = fence;
    inquiry->is_report = is_stuck;
    ask_all(inquiry, true);
  }
}

void NodeFences::report(const Procs& procs, std::uint64_t ahead, LocalPart mine, std::chrono::seconds age) {
  auto inquiry = std::make_shared<Inquiry>();
  const auto signature = signature_of(procs);
  inquiry->key = {signature, nodes_.engine().begun(signature) + 1 + ahead};
  inquiry->fence = {procs, hooks_.nodes_of(procs), Clock::now() - age, true};
  inquiry->is_report = true;
  inquiry->parts.emplace_back(nodes_.self(), std::move(mine));
  ask_all(inquiry, true);
}

void NodeFences::ask_all(std::shared_ptr<Inquiry> inquiry, bool is_lower_half) {
  std::vector<NodeNumber> asked;
  for (const auto node : inquiry->fence.members)
    if (is_lower_half ? node < nodes_.self() : node > nodes_.self()) asked.push_back(node);
  const auto next = [this, inquiry, is_lower_half] {
    if (!is_lower_half) return conclude(*inquiry);
    if (!inquiry->is_other_in_charge) ask_all(inquiry, false);
  };
  inquiry->open_questions = asked.size();
  if (asked.empty()) return next();
  for (const auto node : asked)
    ask_about(inquiry->key, inquiry->fence, node,
              [inquiry, node, is_lower_half, next](const LocalPart* part) {
                if (part == nullptr)
                  inquiry->silent.push_back(node);
                else
                  inquiry->parts.emplace_back(node, *part);
                inquiry->is_other_in_charge |=
                    is_lower_half && part != nullptr && part->state != LocalPart::State::absent;
                if (--inquiry->open_questions == 0) next();
              });
}

void NodeFences::conclude(const Inquiry& inquiry) {
  if (!inquiry.is_report) return;
  std::vector<MissingOnNode> missing;
  for (const auto& [node, part] : inquiry.parts)
    if (part.state != LocalPart::State::entered)
      missing.push_back({nodes_.name_of(node), part.missing, true});
  for (const auto node : inquiry.silent) missing.push_back({nodes_.name_of(node), {}, false});
  if (missing.empty()) return;  // the last one has come meanwhile
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - inquiry.fence.since);
  hooks_.report(stuck_report_of_nodes(link::nspace_of(inquiry.fence.procs[0]), inquiry.key.second, age, host_,
                                      inquiry.fence.members.size(), missing));
}

}  // namespace weft::server
