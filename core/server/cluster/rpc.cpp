// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cluster/rpc.hpp"

#include "core/server/cluster/messages.hpp"

namespace weft::server {
namespace {

// The mesh has at most some thousand messages of a node under way: a number further ahead is no letter of ours.
constexpr std::uint64_t most_ahead = 1u << 16;

}  // namespace

Rpc::Rpc(mesh::Mesh& mesh, std::uint16_t message_id)
    : mesh_(mesh), outbox_(mesh, message_id, [this](NodeNumber to, Bytes header, const Error& why) {
        return keeps(to, header, why);
      }) {
  mesh_.on(
      message_id,
      [](void* letters, NodeNumber from, Bytes header, Bytes payload) noexcept {
        static_cast<Rpc*>(letters)->receive(from, header, payload);
      },
      this);
}

void Rpc::on(RequestType subject, Handler handler) {
  handlers_[subject] = std::move(handler);
}

void Rpc::send(NodeNumber to, RequestType subject, std::vector<std::byte> body, Replied answered) {
  auto& post_of = peers_[to];
  const RpcHeader header{.number = ++post_of.sent, .type = static_cast<std::uint16_t>(subject)};
  post_of.open.emplace(std::pair(post_of.life, header.number), std::move(answered));
  ++counters_.sent;
  if (is_closed_) return fail_open(to, post_of.life, header.number);
  outbox_.send(to, base::encode_fixed(header), std::move(body));
}

bool Rpc::keeps(NodeNumber to, Bytes header_bytes, const Error& why) {
  // Who has spoken to us before we know where it is gets its answer when we do.
  if (why.code == Errc::not_found && mesh_.state(to) == mesh::NodeState::heard) return true;
  const auto header = base::decode<RpcHeader>(header_bytes);
  if (header && !header->is_reply) fail_open(to, peers_[to].life, header->number);
  return false;
}

/// The requester is told in progress(), after what that node sent before.
void Rpc::fail_open(NodeNumber to, std::uint64_t life, std::uint64_t number) {
  inbox_.push_back({to, life, number, true, 0, PMIX_ERR_UNREACH, {}});
}

void Rpc::receive(NodeNumber from, Bytes header_bytes, Bytes payload) noexcept {
  const auto header = base::decode<RpcHeader>(header_bytes);
  if (!header) {
    ++counters_.malformed;
    return;
  }
  Incoming letter{from,
                  peers_[from].life,
                  header->number,
                  header->is_reply,
                  header->type,
                  header->status,
                  {payload.begin(), payload.end()}};
  if (letter.is_answer) return inbox_.push_back(std::move(letter));
  accept(std::move(letter));
}

/// Gives letters to the inbox in the order of their numbers.
void Rpc::accept(Incoming letter) {
  auto& post_of = peers_[letter.from];
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

void Rpc::handle(const Incoming& letter) {
  if (letter.is_answer) {
    // Not there: it was answered before, by the node or by its loss.
    const auto asked = peers_[letter.from].open.extract({letter.life, letter.number});
    if (!asked.empty() && asked.mapped()) asked.mapped()(letter.status, letter.body);
    return;
  }
  ++counters_.received;
  const auto answer = [self = weak_self_.get(), to = letter.from, number = letter.number, life = letter.life](
                          pmix_status_t status, Bytes body) {
    Rpc* const rpc = self();
    if (rpc == nullptr || rpc->is_closed_ || rpc->peers_[to].life != life) return;
    const RpcHeader header{.number = number, .status = status, .type = 0, .is_reply = true};
    rpc->outbox_.send(to, base::encode_fixed(header), {body.begin(), body.end()});
  };
  const auto handler = handlers_.find(static_cast<RequestType>(letter.subject));
  if (handler == handlers_.end()) return answer(PMIX_ERR_NOT_SUPPORTED, {});  // a later release asks
  handler->second(letter.from, letter.body, answer);
}

void Rpc::node_lost(NodeNumber node) {
  outbox_.drop(node);
  auto& post_of = peers_[node];
  for (const auto& [name, answered] : post_of.open)
    if (name.first == post_of.life) fail_open(node, name.first, name.second);
  post_of.early.clear();
  post_of.sent = post_of.taken = 0;
  ++post_of.life;
}

void Rpc::close() {
  is_closed_ = true;
  std::erase_if(inbox_, [](const Incoming& letter) { return !letter.is_answer; });  // nobody hears our answer
  for (const auto& [node, post_of] : peers_)
    for (const auto& [name, answered] : post_of.open) fail_open(node, name.first, name.second);
  while (empty_inbox() != 0) continue;  // who is answered may ask again
}

std::size_t Rpc::progress() {
  outbox_.retry();
  return empty_inbox();
}

std::size_t Rpc::empty_inbox() {
  std::size_t handled = 0;
  // Those that come in meanwhile have their turn in the next round.
  for (auto count = inbox_.size(); count > 0 && !inbox_.empty(); --count, ++handled) {
    const auto letter = std::move(inbox_.front());
    inbox_.pop_front();
    handle(letter);
  }
  return handled;
}

}  // namespace weft::server
