// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/letters.hpp"

#include <cstring>
#include <span>

namespace weft::server {
namespace {

// The mesh has at most some thousand messages of a node under way: a number further ahead is no letter of ours.
constexpr std::uint64_t most_ahead = 1u << 16;

}  // namespace

/// The header of each message.
struct Letters::Wire {
  std::uint64_t number = 0;  ///< of the letter, from 1; of an answer: the letter's
  pmix_status_t status = PMIX_SUCCESS;
  std::uint16_t subject = 0;
  std::uint8_t is_answer = 0;
  std::uint8_t unused = 0;
  Bytes bytes() const noexcept { return std::as_bytes(std::span(this, 1)); }
};

struct Letters::Outgoing : mesh::Sending {
  Letters* letters = nullptr;
  NodeNumber to = 0;
  Wire wire;
  std::vector<std::byte> body;
};

Letters::Letters(mesh::Mesh& mesh, std::uint16_t message_id) : mesh_(mesh), message_id_(message_id) {
  mesh_.on(
      message_id_,
      [](void* letters, NodeNumber from, Bytes header, Bytes payload) noexcept {
        static_cast<Letters*>(letters)->receive(from, header, payload);
      },
      this);
}

Letters::~Letters() = default;

void Letters::on(Subject subject, Handler handler) {
  handlers_[subject] = std::move(handler);
}

void Letters::send(NodeNumber to, Subject subject, std::vector<std::byte> body, Answered answered) {
  auto& post_of = posts_[to];
  const auto number = ++post_of.sent;
  post_of.open.emplace(number, std::move(answered));
  ++counters_.sent;
  post(to, {.number = number, .subject = static_cast<std::uint16_t>(subject)}, std::move(body));
}

void Letters::post(NodeNumber to, const Wire& wire, std::vector<std::byte> body) {
  auto outgoing = std::make_unique<Outgoing>();
  outgoing->letters = this;
  outgoing->to = to;
  outgoing->wire = wire;
  outgoing->body = std::move(body);
  outgoing->done = [](mesh::Work& work, Result<void>) noexcept {
    // A node that is lost comes through the watcher; there is nothing else that could be wrong here.
    auto& sent = static_cast<Outgoing&>(static_cast<mesh::Sending&>(work));
    sent.letters->sending_.erase(&sent);
  };
  waiting_.push_back(std::move(outgoing));  // behind what waits already
}

/// False: there is no room, or no way, now.
bool Letters::try_send(Outgoing& outgoing) {
  const auto sent = mesh_.send(outgoing.to, message_id_, outgoing.wire.bytes(), outgoing.body, outgoing);
  if (sent) return true;
  const auto code = sent.error().code;
  // Who has spoken to us before we know where it is gets its answer when we do.
  const bool is_heard = mesh_.state(outgoing.to) == mesh::NodeState::heard;
  if (code == Errc::again || (code == Errc::not_found && is_heard)) return false;
  const auto to = outgoing.to;
  const auto wire = outgoing.wire;
  sending_.erase(&outgoing);
  if (wire.is_answer == 0) end(to, wire.number, PMIX_ERR_UNREACH, {});
  return true;
}

/// The asker hears of it in progress().
void Letters::end(NodeNumber to, std::uint64_t number, pmix_status_t status, std::vector<std::byte> body) {
  inbox_.push_back({to, number, true, 0, status, std::move(body)});
}

void Letters::receive(NodeNumber from, Bytes header, Bytes payload) noexcept {
  Wire wire;
  if (header.size() != sizeof wire) {
    ++counters_.malformed;
    return;
  }
  std::memcpy(static_cast<void*>(&wire), header.data(), sizeof wire);
  Incoming letter{from,         wire.number, wire.is_answer != 0,
                  wire.subject, wire.status, {payload.begin(), payload.end()}};
  if (letter.is_answer) return inbox_.push_back(std::move(letter));
  accept(std::move(letter));
}

/// Gives letters to the inbox in the order of their numbers.
void Letters::accept(Incoming letter) {
  auto& post_of = posts_[letter.from];
  const auto number = letter.number;
  if (number <= post_of.taken || number - post_of.taken > most_ahead) {
    ++counters_.malformed;
    return;
  }
  post_of.early.emplace(number, std::move(letter));
  for (auto next = post_of.early.begin(); next != post_of.early.end() && next->first == post_of.taken + 1;
       next = post_of.early.erase(next)) {
    ++post_of.taken;
    inbox_.push_back(std::move(next->second));
  }
}

void Letters::handle(Incoming letter) {
  if (letter.is_answer) {
    auto& open = posts_[letter.from].open;
    const auto asked = open.find(letter.number);
    if (asked == open.end()) return;  // its node was lost before
    const auto answered = std::move(asked->second);
    open.erase(asked);
    if (answered) answered(letter.status, letter.body);
    return;
  }
  ++counters_.received;
  const auto answer = [weak = std::weak_ptr(here_), to = letter.from, number = letter.number,
                       life = posts_[letter.from].life](pmix_status_t status, Bytes body) {
    const auto here = weak.lock();
    if (!here || (*here)->posts_[to].life != life) return;
    (*here)->post(to, {.number = number, .status = status, .subject = 0, .is_answer = 1},
                  {body.begin(), body.end()});
  };
  const auto handler = handlers_.find(static_cast<Subject>(letter.subject));
  if (handler == handlers_.end()) return answer(PMIX_ERR_NOT_SUPPORTED, {});  // a later release asks
  handler->second(letter.from, letter.body, answer);
}

void Letters::node_lost(NodeNumber node) {
  std::erase_if(waiting_, [&](const auto& outgoing) { return outgoing->to == node; });
  std::erase_if(inbox_, [&](const Incoming& letter) { return letter.from == node; });
  auto& post_of = posts_[node];
  for (const auto& [number, answered] : post_of.open) end(node, number, PMIX_ERR_UNREACH, {});
  post_of.early.clear();
  post_of.sent = post_of.taken = 0;
  ++post_of.life;
}

std::size_t Letters::progress() {
  for (auto count = waiting_.size(); count > 0; --count) {
    auto outgoing = std::move(waiting_.front());
    waiting_.pop_front();
    Outgoing& one = *outgoing;
    sending_[&one] = std::move(outgoing);
    if (try_send(one)) continue;
    waiting_.push_back(std::move(sending_[&one]));
    sending_.erase(&one);
  }
  std::size_t handled = 0;
  // Those that come in meanwhile have their turn in the next round.
  for (auto count = inbox_.size(); count > 0 && !inbox_.empty(); --count, ++handled) {
    auto letter = std::move(inbox_.front());
    inbox_.pop_front();
    handle(std::move(letter));
  }
  return handled;
}

}  // namespace weft::server
