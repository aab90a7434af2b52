// SPDX-License-Identifier: BSD-3-Clause
// A network in virtual time. Endpoints of one process send through it; the clock jumps from event to event,
// so the same seed and the same calls give the same run on every machine. What a message costs: wires.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <unordered_map>
#include <vector>

#include "transport/sim/wires.hpp"
#include "weft/transport.hpp"

namespace weft::sim {

struct Parameters {
  LogGP message, get;  ///< a get is a request without bytes and a reply with them
  bool serial_nics = false;
  Time jitter = 0;  ///< each message takes 0..jitter longer; messages to the same peer keep their order
  std::uint64_t seed = 1;
  std::uint32_t max_open =
      0;  ///< open operations an endpoint may have before it returns `again`; 0: no limit
  /// An endpoint with an empty inbox advances the time in its progress(). False: the owner of the network
  /// does, by step() or advance().
  bool passes_alone = true;
  std::size_t max_inline = 256, max_message = 65536, max_get = std::size_t{1} << 30;
};

class SimEndpoint;
class SimRegion;

class Network {
 public:
  explicit Network(const Parameters& parameters = {})
      : parameters_(parameters), random_(parameters.seed), wires_(parameters.serial_nics) {}
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  Time now() const noexcept { return now_; }
  const Parameters& parameters() const noexcept { return parameters_; }
  std::size_t events_pending() const noexcept { return heap_.size(); }

  // Faults. A dropped node neither sends nor receives from `at` on.
  void drop(Node node, Time at);
  void delay(Node from, Node to, Time extra) { extra_[pair(from, to)] = extra; }

  /// When that is; nothing: no event is left.
  std::optional<Time> next() const noexcept {
    return heap_.empty() ? std::nullopt : std::optional(heap_.top().at);
  }
  /// Moves the clock on, up to the next event.
  void pass_to(Time when) noexcept { now_ = std::max(now_, std::min(when, next().value_or(when))); }
  /// Endpoints that received an event in the last advance(); of step(): nothing.
  const std::vector<Node>& reached() const noexcept { return reached_; }
  /// Moves the clock to the next event and passes the events of that time to their endpoints. False: no event
  /// is left.
  bool advance();
  /// advance(), then progress() of each endpoint that received an event: this drives a simulation of many
  /// endpoints. Each handler runs at the time at which its message arrives.
  bool step();

 private:
  friend class SimEndpoint;

  enum class Kind : std::uint8_t { message, sent, get_request, get_reply, lost, drop };
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct Event {
    Kind kind = Kind::message;
    Errc error = Errc::os;  ///< get_reply: the reason, if failed
    bool failed = false;
    std::uint16_t id = 0;  ///< message: its id
    Node from = 0, to = 0;
    std::uint32_t request_id = 0;  ///< identifies the operation at the endpoint that started it
    std::uint32_t generation = 0;
    std::uint32_t region = 0;   ///< get: the region at the target
    std::uint32_t next = none;  ///< next in an inbox, or in the list of free events
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
    SimEndpoint* endpoint = nullptr;  ///< NULL after the endpoint was closed
    bool dropped = false;
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
  /// When a message of `bytes` that `from` sends now has left it, and when it arrives.
  struct Delivery {
    Time sent, arrived;
  };
  Delivery plan_delivery(const LogGP& cost, Node from, Node to, std::size_t bytes);
  void serve_get(std::uint32_t event);
  void execute(std::uint32_t event);

  Parameters parameters_;
  std::mt19937_64 random_;
  Wires wires_;
  Time now_ = 0;
  std::uint64_t next_order_ = 0;
  std::vector<NodeState> nodes_;
  std::vector<Event> events_;
  std::uint32_t free_events_ = none;
  std::vector<Node> reached_;  // endpoints that received an event in the last advance()
  std::priority_queue<Due, std::vector<Due>, std::greater<>> heap_;
  std::unordered_map<std::uint64_t, Time> extra_, last_arrival_;
};

/// All its endpoints are on one network. options: must be empty.
class SimTransport final : public Transport {
 public:
  explicit SimTransport(Network& network) : network_(network) {}
  Result<std::unique_ptr<Endpoint>> open(const Opening& opening) override;

 private:
  Network& network_;
};

}  // namespace weft::sim
