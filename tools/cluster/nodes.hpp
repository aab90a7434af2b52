// SPDX-License-Identifier: BSD-3-Clause
// The nodes of a cluster of daemons as its launcher knows them: names, numbers, and how far each daemon is,
// as a table: state x event -> next state. Nothing of any job.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::cluster {

enum class NodeState : std::uint8_t {
  spare,      ///< no job has come to it, and there is no daemon
  starting,   ///< an agent brings the daemon in
  reported,   ///< it has said hello, and its contact is taken in
  connected,  ///< orders reach it
  leaving,    ///< it was ordered to leave: its end is no loss
  lost,       ///< with all that ran there
};
inline constexpr int node_states = 6;

enum class NodeEvent : std::uint8_t {
  wanted,  ///< a daemon is to be started
  hello,
  contact_taken,
  dismissed,  ///< it is ordered to leave
  lost,
};
inline constexpr int node_events = 5;

constexpr NodeState node_step(NodeState state, NodeEvent event) noexcept {
  using S = NodeState;
  constexpr S table[node_states][node_events] = {
      // wanted, hello, contact_taken, dismissed, lost
      {S::starting, S::spare, S::spare, S::spare, S::spare},
      {S::starting, S::reported, S::starting, S::leaving, S::lost},
      {S::reported, S::reported, S::connected, S::leaving, S::lost},
      {S::connected, S::connected, S::connected, S::leaving, S::lost},
      {S::leaving, S::leaving, S::leaving, S::leaving, S::lost},
      {S::lost, S::lost, S::lost, S::lost, S::lost},
  };
  return table[static_cast<int>(state)][static_cast<int>(event)];
}

class Nodes {
 public:
  /// hosts: by number. own: that of the launcher itself, which has no daemon. A launcher without a node has a
  /// server behind those of the nodes.
  /// spares: so many of them, the last, have no daemon for now. room: so many more may come; they are spares
  /// without a name until then.
  Nodes(std::vector<std::string> hosts, std::optional<std::uint32_t> own, std::size_t spares = 0,
        std::size_t room = 0);

  std::uint32_t servers() const noexcept { return size() + (own_ ? 0 : 1); }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
  bool is_daemon(std::uint32_t number) const noexcept {
    return number < size() && number != own_ && state(number) != NodeState::spare;
  }
  const std::string& host(std::uint32_t number) const { return nodes_[number].host; }
  NodeState state(std::uint32_t number) const { return nodes_[number].state; }
  bool is_lost(std::uint32_t number) const { return state(number) == NodeState::lost; }
  /// Orders reach it, or it is lost.
  bool is_settled(std::uint32_t number) const {
    return is_lost(number) || state(number) == NodeState::connected;
  }
  /// Its daemon has said hello, at any time.
  bool has_reported(std::uint32_t number) const { return nodes_[number].has_reported; }
  /// True: the state is another now.
  bool step(std::uint32_t number, NodeEvent event);
  void name(std::uint32_t number, const std::string& host) { nodes_[number].host = host; }
  /// Of its machine, as its daemon has said; empty: it has said none.
  const std::string& addresses(std::uint32_t number) const { return nodes_[number].addresses; }
  void set_addresses(std::uint32_t number, const std::string& addresses) {
    nodes_[number].addresses = addresses;
  }

  std::vector<std::uint32_t> daemons() const;
  /// Those that have said hello and are not lost.
  std::vector<std::uint32_t> reachable() const;
  /// Of the daemons, not of the launcher's own node.
  std::size_t count(NodeState state) const noexcept { return counts_[static_cast<std::size_t>(state)]; }
  std::size_t count() const noexcept { return size() - (own_ ? 1 : 0) - count(NodeState::spare); }

 private:
  struct Node {
    std::string host;
    NodeState state = NodeState::starting;
    bool has_reported = false;
    std::string addresses{};
  };
  std::vector<Node> nodes_;
  std::array<std::size_t, node_states> counts_{};
  std::optional<std::uint32_t> own_;
};

}  // namespace weft::cluster
