// SPDX-License-Identifier: BSD-3-Clause
// An order on its way down a tree, at one of its servers: it is sent to those below, each of which passes it
// on. What cannot be reached is passed over: those below it get the order from here. So the order comes to
// each server that is there, whichever are lost on the way, as long as a server replies to it no sooner than
// those below it have.
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
    /// Once this has gone, those below a lost server are not sent the order any more.
    std::weak_ptr<const void> wanted;
  };
  using Ended = std::function<void()>;
  /// To those below `self`. channel: outlives the loop's work. ended: once, perhaps inside this call, when all
  /// below that can be reached have replied; may be empty.
  static void below(ServerChannel& channel, std::shared_ptr<const LaunchTree> tree, std::uint32_t self,
                    Order order, Ended ended = {}) {
    const std::shared_ptr<PassOn> pass(
        new PassOn(channel, std::move(tree), std::move(order), std::move(ended)));
    pass->send_below(self);
    pass->release();
  }

 private:
  PassOn(ServerChannel& channel, std::shared_ptr<const LaunchTree> tree, Order order, Ended ended)
      : channel_(channel), tree_(std::move(tree)), order_(std::move(order)), ended_(std::move(ended)) {}
  void send_below(std::uint32_t node);
  void release();

  ServerChannel& channel_;
  const std::shared_ptr<const LaunchTree> tree_;
  const Order order_;
  const Ended ended_;
  std::size_t open_ = 1;  ///< messages that are not replied to, and the call of below()
};

}  // namespace weft::channel
