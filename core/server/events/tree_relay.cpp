// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/events/tree_relay.hpp"

#include <utility>

namespace weft::server {
namespace {

constexpr std::uint64_t fan_out = 4;

}  // namespace

std::vector<NodeNumber> nodes_below(NodeNumber node, NodeNumber root, NodeNumber count) {
  const std::uint64_t position = (std::uint64_t{node} + count - root) % count;
  std::vector<NodeNumber> below;
  for (auto at = fan_out * position + 1; at <= fan_out * position + fan_out && at < count; ++at)
    below.push_back(static_cast<NodeNumber>((at + root) % count));
  return below;
}

bool SeenNumbers::add(std::uint64_t number) {
  if (number <= all_to_ || !above_.insert(number).second) return false;
  if (above_.size() > most_above) all_to_ = *above_.begin();
  while (!above_.empty() && *above_.begin() <= all_to_ + 1) {
    all_to_ = *above_.begin();
    above_.erase(above_.begin());
  }
  return true;
}

void TreeRelay::spread(std::vector<std::byte> body, std::function<void()> taken) {
  auto message = base::encode(TreeMessage{self_, incarnation_, ++last_number_, std::move(body)});
  const auto bytes = message.size();
  ++flow_->count;
  flow_->bytes += bytes;
  send_below(self_, std::make_shared<Passing>(self_, std::move(message),
                                              [flow = flow_, bytes] { flow->end(bytes); }));
  if (!taken) return;
  if (flow_->has_room()) return taken();
  flow_->waiting.push_back(std::move(taken));
}

void TreeRelay::Flow::end(std::size_t of_bytes) {
  --count;
  bytes -= of_bytes;
  while (has_room() && !waiting.empty()) {
    const auto next = std::move(waiting.front());
    waiting.pop_front();
    next();
  }
}

bool TreeRelay::receive(Bytes bytes, std::function<void()> done) {
  const auto message = base::decode<TreeMessage>(bytes);
  if (!message || message->root >= count_ || message->root == self_) return false;
  if (!is_new(*message)) {
    done();
    return true;
  }
  deliver_(message->body);
  send_below(self_, std::make_shared<Passing>(message->root, std::vector(bytes.begin(), bytes.end()),
                                              std::move(done)));
  return true;
}

bool TreeRelay::is_new(const TreeMessage& message) {
  auto& sender = senders_[message.root];
  if (message.incarnation < sender.incarnation) return false;
  if (message.incarnation > sender.incarnation) sender = {message.incarnation, {}};
  return sender.seen.add(message.number);
}

/// To those below `node`, which is this one, or one that is passed over.
void TreeRelay::send_below(NodeNumber node, const std::shared_ptr<Passing>& passing) {
  for (const auto next : nodes_below(node, passing->root, count_)) {
    if (!is_there_(next)) {
      send_below(next, passing);
      continue;
    }
    send_(next, passing->message, [this, next, passing](bool has_arrived) {
      if (!has_arrived) send_below(next, passing);
    });
  }
}

}  // namespace weft::server
