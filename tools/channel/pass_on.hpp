// SPDX-License-Identifier: BSD-3-Clause
// An order on its way down a tree, at one of its servers: it is sent to those below, each of which passes it
// on. What cannot be reached is passed over: those below it get the order from here. So the order comes to
// each server that is there, whichever are lost on the way, because a server replies to it no sooner than
// those below it have. Two orders come to a server in the order in which they were given: a server that is
// lost fails what is open to it in the order in which it was sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tools/channel/launch_tree.hpp"
#include "tools/channel/server_channel.hpp"

namespace weft::channel {

class PassOn : public std::enable_shared_from_this<PassOn> {
 public:
  struct Order {
    MessageType type;
    std::string bytes;
  };
  using Taken = std::function<void()>;
  /// To those below `self`. channel: outlives the loop's work. taken: once, perhaps inside this call, when
  /// all below that can be reached have replied.
  static void below(ServerChannel& channel, std::shared_ptr<const LaunchTree> tree, std::uint32_t self,
                    Order order, Taken taken) {
    const std::shared_ptr<PassOn> pass(
        new PassOn(channel, std::move(tree), std::move(order), std::move(taken)));
    pass->send_below(self);
    pass->release();
  }
  /// The same; the reply is held until then, and is sent unless another copy of it is held elsewhere.
  static void below(ServerChannel& channel, std::shared_ptr<const LaunchTree> tree, std::uint32_t self,
                    Order order, const Reply& reply) {
    below(channel, std::move(tree), self, std::move(order), [reply] {});
  }

 private:
  PassOn(ServerChannel& channel, std::shared_ptr<const LaunchTree> tree, Order order, Taken taken)
      : channel_(channel), tree_(std::move(tree)), order_(std::move(order)), taken_(std::move(taken)) {}
  void send_below(std::uint32_t node) {
    for (const auto child : tree_->children_of(node)) {
      ++open_;
      channel_.send({child}, order_.type, order_.bytes, [self = shared_from_this(), child](bool is_there) {
        if (!is_there) self->send_below(child);
        self->release();
      });
    }
  }
  void release() {
    if (--open_ == 0) taken_();
  }

  ServerChannel& channel_;
  const std::shared_ptr<const LaunchTree> tree_;
  const Order order_;
  const Taken taken_;
  std::size_t open_ = 1;  ///< messages that have no reply, and the call of below()
};

}  // namespace weft::channel
