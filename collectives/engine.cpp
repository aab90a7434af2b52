// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/engine.hpp"

#include <algorithm>
#include <new>

#include "collectives/parts.hpp"

namespace weft::collectives {

Engine::Engine(mesh::Mesh& mesh, NodeNumber self, const Options& options)
    : mesh_(mesh),
      self_(self),
      options_(options),
      early_(options.most_early_bytes),
      outbox_(mesh, options.message_id, [this](NodeNumber to, Bytes header, const Error& why) {
        cannot_send(to, header, why);
        return false;
      }) {
  mesh_.on(
      options.message_id,
      [](void* engine, NodeNumber from, Bytes header, Bytes payload) noexcept {
        static_cast<Engine*>(engine)->receive(from, header, payload);
      },
      this);
}

Engine::~Engine() {
  while (!open_.empty()) end(*open_.begin()->second, Why::canceled, std::nullopt);
  tell_ended();
}

/// Over at once: a view has said before how it ends.
Result<Collective*> Engine::make(const Signature& signature, Kind kind, std::vector<NodeNumber> members,
                                 Done done, AfterLoss after_loss) {
  if (outbox_.is_closed()) return fail(Errc::canceled, "this node takes no part in collectives any more");
  if (std::adjacent_find(members.begin(), members.end(), std::greater_equal<>()) != members.end())
    return fail(Errc::invalid, "the members of a collective are named in ascending order, each once");
  auto made = std::make_unique<Collective>();
  Collective& c = *made;
  c.members = std::move(members);
  const auto me = c.index_of(self_);
  if (!me) return fail(Errc::invalid, "a collective without oneself");
  c.me = *me;
  c.signature = signature;
  c.generation = generations_.next(signature);
  c.kind = kind;
  c.done = std::move(done);
  c.after_loss = after_loss;
  open_[c.key()] = std::move(made);
  ++counters_.begun;
  if (const auto why = past_.why_of(c.key())) end(c, *why, std::nullopt);
  return &c;
}

Result<Generation> Engine::begin(const Signature& signature, Kind kind, std::vector<NodeNumber> members,
                                 std::vector<std::byte> contribution, Done done, AfterLoss after_loss) {
  if (kind == Kind::barrier && !contribution.empty()) return fail(Errc::invalid, "a barrier with data");
  if (contribution.size() > most_contribution) return fail(Errc::invalid, "a contribution that is too large");
  const auto made = make(signature, kind, std::move(members), std::move(done), after_loss);
  if (!made) return fail(made.error());
  Collective& c = **made;
  const auto generation = c.generation;
  if (c.is_over) return generation;
  c.contributions.resize(c.n());
  c.lengths.resize(c.n());
  const auto most_eager = options_.most_eager(c.n());
  if (contribution.size() > most_eager) c.lengths[number(c.me)] = contribution.size();
  c.contributions[number(c.me)] = std::move(contribution);

  const auto lost = lost_member_of(c);
  if ((lost || is_given_up(c.key())) && waits_for_view(c)) return generation;
  if (lost) {
    end_at_all(c, Why::lost, *lost);
    return generation;
  }
  start_phase(c, kind == Kind::barrier ? options_.rule->barrier(c.n())
                                       : options_.rule->exchange_up_to(c.n(), most_eager));
  return generation;
}

/// The first of them that this node knows to be lost.
std::optional<NodeNumber> Engine::lost_member_of(const Collective& c) const {
  const auto lost = std::find_if(c.members.begin(), c.members.end(), [this](NodeNumber member) {
    return member != self_ && mesh_.state(member) == mesh::NodeState::lost;
  });
  return lost == c.members.end() ? std::nullopt : std::optional(*lost);
}

/// One that has begun, and that is given up or has a lost member. False: nothing follows from that.
bool Engine::waits_for_view(Collective& c) {
  if (c.after_loss == AfterLoss::ends && !is_given_up(c.key())) return false;
  c.is_suspended = has_begun_undecided_ = true;
  return true;
}

// ---- refusals

Result<Generation> Engine::refuse(const Signature& signature, std::vector<NodeNumber> members, Why why,
                                  Done done, AfterLoss after_loss) {
  const auto made = make(signature, Kind::barrier, std::move(members), std::move(done), after_loss);
  if (!made) return fail(made.error());
  Collective& c = **made;
  const auto generation = c.generation;
  if (c.is_over) return generation;
  c.is_refused = true;
  const auto arbiter = c.members.front();
  const auto early = early_.take(c.key());
  const auto end = std::find_if(early.messages.begin(), early.messages.end(), [](const auto& message) {
    return message.header.type == MessageHeader::Type::abort;
  });
  const bool is_lost = lost_member_of(c).has_value();
  if ((is_lost || is_given_up(c.key())) && waits_for_view(c)) return generation;
  if (end != early.messages.end())
    take(c, end->from, end->header, end->payload);
  else if (is_lost || arbiter == self_)
    end_at_all(c, why, std::nullopt);
  else
    send_end(arbiter, c.header(), MessageHeader::Type::refusal, why);
  return generation;
}

void Engine::send_end(NodeNumber to, MessageHeader header, MessageHeader::Type type, Why why) {
  header.type = type;
  header.why = why;
  outbox_.send(to, base::encode_fixed(header), {});
}

/// At the lowest member: another one takes no part, so none has ended it well.
void Engine::take_refusal(NodeNumber from, const MessageHeader& header) {
  const Key key{header.signature, header.generation};
  const auto why = header.why;
  if (const auto open = open_.find(key); open != open_.end()) {
    if (!open->second->is_suspended) end_at_all(*open->second, why, std::nullopt);
    return;
  }
  if (is_given_up(key)) return;  // it is for a view to end it
  if (header.generation > generations_.begun(key.first)) early_.end(key, from, why, true);
  const auto end = early_.end_of(key);
  send_end(from, header, MessageHeader::Type::refused, end ? *end : why_of(key).value_or(why));
}

/// At the member that has refused it.
void Engine::take_refused(const MessageHeader& header) {
  const auto open = open_.find({header.signature, header.generation});
  const bool is_awaited = open != open_.end() && open->second->is_refused && !open->second->is_suspended;
  if (is_awaited) end_at_all(*open->second, header.why, std::nullopt);
}

/// How one has failed here.
std::optional<Why> Engine::why_of(const Key& key) const {
  const auto failed =
      std::find_if(ended_.begin(), ended_.end(), [&](const auto& c) { return c->key() == key && c->why; });
  return failed != ended_.end() ? (*failed)->why : past_.why_of(key);
}

void Engine::start_phase(Collective& c, const Choice& choice) {
  c.choice = choice;
  c.schedule = schedule_for(choice, c.n(), c.me);
  if (c.phase == 1) c.schedule = in_parts(std::move(c.schedule), c.lengths, options_.most_in_a_message);
  c.step = 0;
  c.step_is_sent = false;
  c.arrived.clear();
  for (const auto& step : c.schedule) {
    c.arrived.emplace_back(step.receives.size(), char{0});
    // From now on the mesh watches every member that this one receives from, also one that it never sends to.
    for (const auto& transfer : step.receives)
      static_cast<void>(mesh_.connect(c.members[number(transfer.peer)]));
  }
  const auto early = early_.take(c.key());
  if (early.is_incomplete) return end_at_all(c, Why::no_space, std::nullopt);
  // An abort first: no member has ended it well without this one, though the parts of all others may be here.
  for (const bool is_abort : {true, false})
    for (const auto& message : early.messages)
      if (!c.is_over && (message.header.type == MessageHeader::Type::abort) == is_abort)
        take(c, message.from, message.header, message.payload);
  advance(c);
}

void Engine::advance(Collective& c) {
  while (!c.is_over && !c.is_suspended && c.step < c.schedule.size()) {
    if (!std::exchange(c.step_is_sent, true)) send_step(c);
    if (c.is_over || c.is_suspended || !c.step_has_arrived()) return;
    ++c.step;
    c.step_is_sent = false;
  }
  if (c.is_over || c.is_suspended) return;
  std::uint64_t bytes = 0, largest = 0;
  for (const auto length : c.lengths) {
    bytes += length;
    largest = std::max(largest, length);
  }
  if (c.phase == 0 && bytes != 0) {
    c.phase = 1;
    return start_phase(c, options_.rule->exchange(c.n(), bytes, largest));
  }
  end(c, std::nullopt, std::nullopt);
}

void Engine::send_step(Collective& c) {
  auto header = c.header();
  for (const auto& transfer : c.schedule[c.step].sends) {
    if (c.is_over || c.is_suspended) return;
    header.blocks = transfer.blocks;
    outbox_.send(c.members[number(transfer.peer)], base::encode_fixed(header),
                 c.kind == Kind::barrier ? std::vector<std::byte>{} : c.pack(transfer.blocks));
  }
}

void Engine::cannot_send(NodeNumber to, Bytes header_bytes, const Error& why) {
  const auto header = base::decode<MessageHeader>(header_bytes);
  const bool is_awaited =
      header && (header->type == MessageHeader::Type::data || header->type == MessageHeader::Type::refusal);
  if (!is_awaited) return;
  const auto open = open_.find({header->signature, header->generation});
  if (open == open_.end()) return;
  if (why.code == Errc::peer_lost) return suspend(to);
  end_at_all(*open->second, why.code == Errc::no_memory ? Why::no_memory : Why::unreachable, std::nullopt);
}

void Engine::receive(NodeNumber from, Bytes header_bytes, Bytes payload) noexcept {
  const auto header = base::decode<MessageHeader>(header_bytes);
  if (!header) {
    ++counters_.malformed;
    return;
  }
  try {
    if (header->type == MessageHeader::Type::refusal) return take_refusal(from, *header);
    if (header->type == MessageHeader::Type::refused) return take_refused(*header);
    if (const auto open = open_.find({header->signature, header->generation}); open != open_.end())
      return take(*open->second, from, *header, payload);
    if (header->generation > generations_.begun(header->signature)) {
      ++counters_.early;
      return early_.keep(from, *header, payload);
    }
    ++counters_.late;  // it has ended here: aborted, or two members sent an abort
  } catch (const std::bad_alloc&) {
    abort(header->signature, header->generation, Why::no_memory);
  }
}

void Engine::take(Collective& c, NodeNumber from, const MessageHeader& header, Bytes payload) {
  if (c.is_suspended) return;
  if (header.type == MessageHeader::Type::abort) {
    const auto lost = header.lost == MessageHeader::no_node ? std::nullopt : std::optional(header.lost);
    return end(c, header.why, lost ? std::optional(Loss{*lost}) : std::nullopt);
  }
  if (c.is_refused) return;  // it ends as the lowest member says
  const auto index = c.index_of(from);
  if (!index || header.members != c.n() || header.kind != c.kind) {
    ++counters_.malformed;
    return abort(c.signature, c.generation, Why::invalid);
  }
  if (header.phase > c.phase) return early_.keep(from, header, payload);
  if (header.phase < c.phase || !c.mark(*index, header.blocks) ||
      (c.kind == Kind::exchange ? !c.unpack(header.blocks, payload) : !payload.empty())) {
    ++counters_.malformed;
    return abort(c.signature, c.generation, Why::corrupt);
  }
  advance(c);
}

/// Ends it here, and tells all members but `lost`.
void Engine::end_at_all(Collective& c, Why why, std::optional<NodeNumber> lost) {
  auto header = c.header();
  header.lost = lost.value_or(MessageHeader::no_node);
  for (const auto member : c.members)
    if (member != self_ && member != lost) send_end(member, header, MessageHeader::Type::abort, why);
  end(c, why, lost ? std::optional(Loss{*lost}) : std::nullopt);
}

void Engine::abort(const Signature& signature, Generation generation, Why why) {
  const auto open = open_.find({signature, generation});
  if (open != open_.end() && !open->second->is_suspended) end_at_all(*open->second, why, std::nullopt);
}

// ---- losses

void Engine::suspend(NodeNumber lost) noexcept {
  for (const auto& [key, c] : open_)
    if (c->index_of(lost)) c->is_suspended = true;
  early_.lose_node(lost);
}

bool Engine::has_undecided() const noexcept {
  return std::any_of(open_.begin(), open_.end(), [](const auto& each) { return each.second->is_suspended; });
}

void Engine::give_up(const GivenUp& what) {
  const Key key{what.signature, what.generation};
  const auto open = open_.find(key);
  if (open != open_.end())
    open->second->is_suspended = true;
  else if (what.generation <= generations_.begun(what.signature) || given_up_.size() >= most_given_up)
    return;
  given_up_.emplace(key, what.why);
}

std::vector<GivenUp> Engine::given_up() const {
  std::vector<GivenUp> out;
  for (const auto& [key, why] : given_up_)
    if (open_.count(key) != 0) out.push_back({key.first, key.second, why});
  return out;
}

Engine::Account Engine::account(const Unsettled& of) {
  std::map<Key, Why> given_up;
  for (const auto& each : of.given_up) given_up.emplace(Key{each.signature, each.generation}, each.why);
  std::erase_if(given_up_, [&](const auto& each) {
    return open_.count(each.first) == 0 && given_up.count(each.first) == 0;
  });
  const auto first_lost = [&](const Collective& c) {
    const auto first =
        std::find_if(of.lost.begin(), of.lost.end(), [&](NodeNumber n) { return c.index_of(n).has_value(); });
    return first == of.lost.end() ? MessageHeader::no_node : *first;
  };
  Account out{{}, past_.of(of)};
  for (const auto& [key, c] : open_) {
    if (!c->is_suspended) continue;
    const auto why = given_up.find(key);
    if (const auto lost = first_lost(*c); lost != MessageHeader::no_node)
      out.undecided.push_back({key.first, key.second, Why::lost, 0, lost, c->after_loss, self_});
    else if (why != given_up.end())
      out.undecided.push_back(
          {key.first, key.second, why->second, 0, MessageHeader::no_node, AfterLoss::ends, self_});
  }
  for (const auto& c : ended_)
    if (first_lost(*c) != MessageHeader::no_node || given_up.count(c->key()) != 0)
      out.ended.push_back(c->how());
  return out;
}

bool Engine::has_data(const Key& key) const {
  const auto open = open_.find(key);
  return open != open_.end() && open->second->kind == Kind::exchange;
}

void Engine::settle(const End& how, Contributions* contributions) {
  given_up_.erase({how.signature, how.generation});
  const auto open = open_.find({how.signature, how.generation});
  if (open == open_.end()) return settle_early(how);
  if (!open->second->is_suspended) return;
  auto& c = *open->second;
  const auto lost = how.lost == MessageHeader::no_node
                        ? std::nullopt
                        : std::optional(Loss{how.lost, how.after_loss, how.first});
  if (how.is_well == 0) return end(c, how.why, lost);
  c.is_without_data =
      c.kind == Kind::exchange && (contributions == nullptr || contributions->size() != c.members.size());
  if (c.kind == Kind::exchange && !c.is_without_data) c.contributions = std::move(*contributions);
  end(c, std::nullopt, std::nullopt);
}

/// A node that begins it asks for its end; that of one that was given up is remembered. Those that wait in
/// another one of that name hear that this one has failed; where it goes on as another they meet there.
void Engine::settle_early(const End& how) {
  const Key key{how.signature, how.generation};
  const bool goes_on = how.after_loss >= AfterLoss::asks || how.first == MessageHeader::no_node;
  if (goes_on) return static_cast<void>(early_.take(key));
  const auto like = open_.lower_bound({{how.signature.high, 0}, 0});
  const bool is_rival = like != open_.end() && like->first.first.high == how.signature.high;
  // In the place of an end that a node has said which is lost since.
  const bool has_come = !early_.take(key).messages.empty();
  early_.end(key, how.first, how.why, is_rival || has_come);
  if (how.lost == MessageHeader::no_node) past_.add(how, {}, {});
}

std::vector<Engine::Rival> Engine::rivals_of(const Signature& signature) const {
  std::vector<Rival> out;
  for (const auto& [key, nodes] : early_.like(signature)) {
    const auto node = std::find_if(nodes.begin(), nodes.end(), [this](NodeNumber each) {
      return mesh_.state(each) != mesh::NodeState::lost;
    });
    if (node != nodes.end())
      out.push_back({key, *node});
    else if (early_.end_of(key))
      out.push_back({key, self_});
  }
  return out;
}

void Engine::end(Collective& c, std::optional<Why> why, std::optional<Loss> lost) {
  c.is_over = true;
  c.why = why;
  c.lost = lost;
  ++(why ? counters_.failed : counters_.ended_well);
  static_cast<void>(early_.take(c.key()));
  given_up_.erase(c.key());
  const auto open = open_.find(c.key());
  ended_.push_back(std::move(open->second));
  open_.erase(open);
}

std::size_t Engine::progress() {
  outbox_.retry();
  return tell_ended();
}

std::size_t Engine::tell_ended() {
  auto ended = std::exchange(ended_, {});
  for (const auto& c : ended)
    if (c->done) c->done({c->why, c->lost, c->contributions, c->is_without_data});
  for (const auto& c : ended) {
    const bool has_data = c->kind == Kind::exchange && !c->why && !c->is_without_data;
    past_.add(c->how(), std::move(c->members), has_data ? std::move(c->contributions) : Contributions());
  }
  return ended.size();
}

Engine::Counters Engine::counters() const {
  auto out = counters_;
  out.early_bytes = early_.bytes();
  out.awaited_bytes = early_.open_bytes();
  return out;
}

std::vector<OpenCollective> Engine::open() const {
  std::vector<OpenCollective> out;
  for (const auto& [key, c] : open_) {
    OpenCollective one{key.first, key.second, c->kind, to_text(c->choice), {}};
    if (c->is_refused) one.waits_for = {c->members.front()};
    if (c->step < c->schedule.size())
      for (std::size_t r = 0; r < c->arrived[c->step].size(); ++r)
        if (!c->arrived[c->step][r])
          one.waits_for.push_back(c->members[number(c->schedule[c->step].receives[r].peer)]);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace weft::collectives
