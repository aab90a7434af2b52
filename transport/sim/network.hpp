// SPDX-License-Identifier: BSD-3-Clause
// A network in virtual time. Endpoints of one process send through it; the clock jumps from event to event, so a run
// with the same seed and the same calls is the same run, on any machine.
//
// LogGP: a message of k bytes that is sent at t leaves when its sender's gap is over, and arrives
// overhead + latency + k * gap_per_byte + overhead later. With serial_nics the bytes of two messages also wait for
// each other on the sender's and on the receiver's wire.
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <random>
#include <unordered_map>
#include <vector>

#include "weft/transport.hpp"

namespace weft::sim {

using Time = std::int64_t;  ///< virtual nanoseconds since the network began

struct LogGP {
  Time latency = 0, overhead = 0, gap = 0;
  double gap_per_byte = 0;  ///< ns
};

struct Parameters {
  LogGP message, get;  ///< a get is a request without bytes and a reply with them
  bool serial_nics = false;
  Time jitter = 0;  ///< each message takes 0..jitter longer; two to one peer keep their order
  std::uint64_t seed = 1;
  std::uint32_t max_open =
      0;  ///< operations an endpoint may have open before it answers `again`; 0: no bound
  std::size_t max_inline = 256, max_message = 65536, max_get = std::size_t{1} << 30;
};

using Node = std::uint32_t;  ///< an endpoint's number, in the order in which they were opened

class SimEndpoint;
class SimRegion;

class Network {
 public:
  explicit Network(const Parameters& parameters = {}) : parameters_(parameters), random_(parameters.seed) {}
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  Time now() const noexcept { return now_; }
  const Parameters& parameters() const noexcept { return parameters_; }
  std::size_t events_pending() const noexcept { return heap_.size(); }

  // Faults. A node that is dropped hears and says nothing more from `at` on.
  void drop(Node node, Time at);
  void delay(Node from, Node to, Time extra) { extra_[pair(from, to)] = extra; }

  /// Moves the clock to the next event and hands what happens then to the endpoints. False: nothing is left to happen.
  bool advance();
  /// advance(), and progress() of each endpoint that something happened to: how a simulation of many endpoints is
  /// driven. Each handler runs at the time at which its message arrives.
  bool step();

 private:
  friend class SimEndpoint;

  enum class Kind : std::uint8_t { message, sent, get_request, get_reply, lost, drop };
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct Event {
    Kind kind = Kind::message;
    Errc error = Errc::os;  ///< get_reply: how it went, if bytes are missing
    bool failed = false;
    std::uint16_t id = 0;  ///< message
    Node from = 0, to = 0;
    std::uint32_t ticket = 0;  ///< the operation at the endpoint that started it
    std::uint32_t generation = 0;
    std::uint32_t region = 0;   ///< get: of the target
    std::uint32_t next = none;  ///< in an inbox, or in the list of free events
    std::uint64_t offset = 0, length = 0;
    std::size_t header_bytes = 0;
    std::vector<std::byte> bytes;
  };
  struct Due {
    Time at;
    std::uint64_t order;
    std::uint32_t event;
    bool operator>(const Due& other) const noexcept {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  struct NodeState {
    SimEndpoint* endpoint = nullptr;  ///< NULL: closed
    bool dropped = false;
    Time next_start = 0;             ///< the sender's gap
    Time wire_out = 0, wire_in = 0;  ///< serial_nics
  };

  static std::uint64_t pair(Node from, Node to) noexcept { return std::uint64_t{from} << 32 | to; }
  Node join(SimEndpoint& endpoint);
  void leave(Node node) { nodes_[node].endpoint = nullptr; }
  bool is_up(Node node) const noexcept {
    return node < nodes_.size() && nodes_[node].endpoint != nullptr && !nodes_[node].dropped;
  }
  std::uint32_t new_event(Kind kind, Node from, Node to);
  void free_event(std::uint32_t event);
  void schedule(std::uint32_t event, Time at) { heap_.push({at, next_order_++, event}); }
  /// When `bytes` that `from` sends now have left it, and when they are there.
  struct Flight {
    Time left, there;
  };
  Flight fly(const LogGP& cost, Node from, Node to, std::size_t bytes);
  void serve_get(std::uint32_t event);
  void happen(std::uint32_t event);

  Parameters parameters_;
  std::mt19937_64 random_;
  Time now_ = 0;
  std::uint64_t next_order_ = 0;
  std::vector<NodeState> nodes_;
  std::vector<Event> events_;
  std::uint32_t free_events_ = none;
  std::vector<Node> touched_;  // by the last advance()
  std::priority_queue<Due, std::vector<Due>, std::greater<>> heap_;
  std::unordered_map<std::uint64_t, Time> extra_, last_arrival_;
};

/// Every endpoint that it opens is on one network. options: none.
class SimTransport final : public Transport {
 public:
  explicit SimTransport(Network& network) : network_(network) {}
  Result<std::unique_ptr<Endpoint>> open(std::string_view options) override;

 private:
  Network& network_;
};

}  // namespace weft::sim
