// SPDX-License-Identifier: BSD-3-Clause
// What a message costs between two nodes. LogGP: a message of k bytes leaves when the gap of its sender has
// passed, and arrives overhead + latency + k * gap_per_byte + overhead later. With serial cards, messages
// also queue for the sender's outgoing and the receiver's incoming wire, in the order in which they are sent.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::sim {

using Time = std::int64_t;  ///< virtual nanoseconds since the network was created

struct LogGP {
  Time latency = 0, overhead = 0, gap = 0;
  double gap_per_byte = 0;  ///< ns
};

using Node = std::uint32_t;  ///< number of an endpoint, in the order in which they were opened

class Wires {
 public:
  explicit Wires(bool serial_nics) : serial_nics_(serial_nics) {}

  void add_node() { nodes_.emplace_back(); }
  std::size_t nodes() const noexcept { return nodes_.size(); }

  struct Delivery {
    Time sent;         ///< the last byte has left the sender
    Time at_receiver;  ///< it is at the receiver's card; the receiver's overhead is still to come
  };
  /// A message that is sent at `now`. late: how much longer than usual it is on its way. The sender is a node
  /// of these wires; the receiver need not be.
  Delivery plan(const LogGP& cost, Time now, Node from, Node to, std::size_t bytes, Time late = 0) {
    const auto on_wire = static_cast<Time>(std::llround(cost.gap_per_byte * static_cast<double>(bytes)));
    State& sender = nodes_[from];
    Time start = std::max(now, sender.next_start);
    if (serial_nics_) start = std::max(start, sender.wire_out);
    sender.next_start = start + std::max(cost.gap, cost.overhead);
    sender.wire_out = start + cost.overhead + on_wire;
    Time arrived = sender.wire_out + cost.latency + late;
    if (serial_nics_ && to < nodes_.size()) {
      arrived = std::max(arrived, nodes_[to].wire_in + on_wire);
      nodes_[to].wire_in = arrived;
    }
    return {sender.wire_out, arrived};
  }

 private:
  struct State {
    Time next_start = 0;             ///< earliest start of the next message, from the gap
    Time wire_out = 0, wire_in = 0;  ///< when the wires are free
  };
  bool serial_nics_;
  std::vector<State> nodes_;
};

}  // namespace weft::sim
