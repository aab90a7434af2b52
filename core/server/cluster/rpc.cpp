// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cluster/rpc.hpp"

#include "core/server/cluster/messages.hpp"

namespace weft::server {
namespace {

// The mesh has at most some thousand messages of a node under way: a number further ahead is none of ours.
constexpr std::uint64_t most_ahead = 1u << 16;

}  // namespace

Rpc::Rpc(mesh::Mesh& mesh, std::uint16_t message_id, std::uint64_t most_early_bytes)
    : mesh_(mesh),
      outbox_(mesh, message_id,
              [this](NodeNumber to, Bytes header, const Error& why) { return keeps(to, header, why); }),
      most_early_bytes_(most_early_bytes) {
  mesh_.on(
      message_id,
      [](void* rpc, NodeNumber from, Bytes header, Bytes payload) noexcept {
        static_cast<Rpc*>(rpc)->receive(from, header, payload);
      },
      this);
}

void Rpc::on(RequestType type, Handler handler) {
  handlers_[type] = std::move(handler);
}

void Rpc::send(NodeNumber to, RequestType type, std::vector<std::byte> body, Replied replied) {
  auto& peer = peers_[to];
  const RpcHeader header{.number = ++peer.sent, .type = static_cast<std::uint16_t>(type)};
  peer.open.emplace(std::pair(peer.life, header.number), std::move(replied));
  ++counters_.sent;
  if (is_closed_) return fail_open(to, peer.life, header.number);
  outbox_.send(to, base::encode_fixed(header), std::move(body));
}

bool Rpc::keeps(NodeNumber to, Bytes header_bytes, const Error& why) {
  // A node that has sent to this one before its contact is known here gets its reply when it is.
  if (why.code == Errc::not_found && mesh_.state(to) == mesh::NodeState::heard) return true;
  const auto header = base::decode<RpcHeader>(header_bytes);
  if (!header || header->is_reply) return false;
  auto& peer = peers_[to];
  auto open = peer.open.extract({peer.life, header->number});
  if (open.empty()) return false;
  inbox_.push_back({to, peer.life, header->number, true, 0, PMIX_ERR_UNREACH, {}, std::move(open.mapped())});
  // The number is the next one's: that node would wait for it.
  if (peer.sent == header->number) --peer.sent;
  return false;
}

/// The requester is told in progress(), after what that node sent before.
void Rpc::fail_open(NodeNumber to, std::uint64_t life, std::uint64_t number) {
  inbox_.push_back({to, life, number, true, 0, PMIX_ERR_UNREACH, {}, {}});
}

void Rpc::receive(NodeNumber from, Bytes header_bytes, Bytes payload) noexcept {
  const auto header = base::decode<RpcHeader>(header_bytes);
  if (!header) {
    ++counters_.malformed;
    return;
  }
  Incoming incoming{from,
                    peers_[from].life,
                    header->number,
                    header->is_reply,
                    header->type,
                    header->status,
                    {payload.begin(), payload.end()},
                    {}};
  if (incoming.is_reply) return inbox_.push_back(std::move(incoming));
  incoming.status = PMIX_SUCCESS;
  accept(std::move(incoming));
}

/// Gives requests to the inbox in the order of their numbers.
void Rpc::accept(Incoming incoming) {
  auto& peer = peers_[incoming.from];
  const auto number = incoming.number;
  if (number <= peer.taken || number - peer.taken > most_ahead) {
    ++counters_.malformed;
    return;
  }
  if (peer.early.count(number) != 0) {
    ++counters_.malformed;
    return;
  }
  if (number != peer.taken + 1 && incoming.body.size() > most_early_bytes_ - peer.early_bytes) {
    incoming.status = PMIX_ERR_OUT_OF_RESOURCE;
    incoming.body = {};
  }
  peer.early_bytes += incoming.body.size();
  peer.early.emplace(number, std::move(incoming));
  for (auto next = peer.early.begin(); next != peer.early.end() && next->first == peer.taken + 1;
       next = peer.early.erase(next)) {
    ++peer.taken;
    peer.early_bytes -= next->second.body.size();
    inbox_.push_back(std::move(next->second));
  }
}

void Rpc::handle(const Incoming& incoming) {
  if (incoming.failed) return incoming.failed(incoming.status, {});
  if (incoming.is_reply) {
    // Not there: it was replied to before, by the node or by its loss.
    const auto open = peers_[incoming.from].open.extract({incoming.life, incoming.number});
    if (!open.empty() && open.mapped()) open.mapped()(incoming.status, incoming.body);
    return;
  }
  ++counters_.received;
  const auto reply = [self = weak_self_.get(), to = incoming.from, number = incoming.number,
                      life = incoming.life](pmix_status_t status, Bytes body) {
    Rpc* const rpc = self();
    if (rpc == nullptr || rpc->is_closed_ || rpc->peers_[to].life != life) return;
    const RpcHeader header{.number = number, .status = status, .type = 0, .is_reply = true};
    rpc->outbox_.send(to, base::encode_fixed(header), {body.begin(), body.end()});
  };
  if (incoming.status != PMIX_SUCCESS) return reply(incoming.status, {});
  const auto handler = handlers_.find(static_cast<RequestType>(incoming.type));
  if (handler == handlers_.end()) return reply(PMIX_ERR_NOT_SUPPORTED, {});  // of a later release
  handler->second(incoming.from, incoming.body, reply);
}

void Rpc::node_lost(NodeNumber node) {
  outbox_.drop(node);
  auto& peer = peers_[node];
  for (const auto& [name, replied] : peer.open)
    if (name.first == peer.life) fail_open(node, name.first, name.second);
  peer.early.clear();
  peer.early_bytes = 0;
  peer.sent = peer.taken = 0;
  ++peer.life;
}

void Rpc::close() {
  is_closed_ = true;
  std::erase_if(inbox_,
                [](const Incoming& incoming) { return !incoming.is_reply; });  // no reply leaves any more
  for (const auto& [node, peer] : peers_)
    for (const auto& [name, replied] : peer.open) fail_open(node, name.first, name.second);
  while (empty_inbox() != 0) continue;  // a caller that is replied to may send again
}

std::size_t Rpc::progress() {
  outbox_.retry();
  return empty_inbox();
}

std::size_t Rpc::empty_inbox() {
  std::size_t handled = 0;
  // Those that come in meanwhile have their turn in the next round.
  for (auto count = inbox_.size(); count > 0 && !inbox_.empty(); --count, ++handled) {
    const auto incoming = std::move(inbox_.front());
    inbox_.pop_front();
    handle(incoming);
  }
  return handled;
}

}  // namespace weft::server
