// SPDX-License-Identifier: BSD-3-Clause
// The servers of this launch, one a node, as this one knows them: their names, and which of them are there.
// The server's loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/server/cluster/views.hpp"

namespace weft::server {

class ServerTable final : public Views::Others {
 public:
  /// Of one node: node 0, whatever number the host has given to this server.
  /// machine: as machine_number().
  ServerTable(std::string host, std::uint64_t machine) : host_(std::move(host)), machine_(machine) {
    reset(0, 1, 1, 0);
  }

  NodeNumber self() const noexcept { return self_; }
  /// Of this server; that of a later one of the same number is greater. In a cluster of one: 0.
  std::uint64_t incarnation() const noexcept { return incarnation_; }
  const std::string& host() const noexcept { return host_; }  ///< of this server
  NodeNumber count() const noexcept { return static_cast<NodeNumber>(entries_.size()); }
  /// Nodes below this number have a server from the start, or had one; others perhaps later, or never.
  NodeNumber first_nodes() const noexcept { return first_nodes_; }
  /// The server that all published names of this run go through; nothing: each key has its own.
  std::optional<NodeNumber> names_keeper() const noexcept { return names_keeper_; }
  /// "node3", or "node 3" where its name is not known.
  std::string name_of(NodeNumber node) const;
  bool is_there(NodeNumber node) const noexcept;
  /// Its contact has come.
  bool is_known(NodeNumber node) const noexcept { return node < count() && entries_[node].is_known; }
  bool has_left(NodeNumber node) const noexcept { return node < count() && entries_[node].has_left; }
  bool is_lost(NodeNumber node) const noexcept { return node < count() && entries_[node].is_lost; }
  /// It is there from the start, or has come.
  bool is_expected(NodeNumber node) const noexcept { return node < first_nodes_ || is_known(node); }
  /// machine_number() there; 0: not known. node: below count().
  std::uint64_t machine_of(NodeNumber node) const noexcept { return entries_[node].machine; }
  /// All whose contact is known and that are not lost, without oneself.
  std::vector<NodeNumber> others() const override;

  /// Also by what another server says of it (Views::Others).
  void take_for_lost(NodeNumber node) override { entries_[node].is_lost = true; }

  // Of the cluster. node: below count().
  /// Nothing is known of the others.
  void reset(NodeNumber self, NodeNumber count, NodeNumber first_nodes, std::uint64_t incarnation,
             std::optional<NodeNumber> names_keeper = {});
  void name(NodeNumber node, const std::string& host) { entries_[node].host = host; }
  /// Its contact is known: of a server that is there, of a later one perhaps than before.
  void add(NodeNumber node, const std::string& host, std::uint64_t machine = 0) {
    entries_[node] = {.host = host, .machine = machine, .is_known = true};
  }
  void leave(NodeNumber node) { entries_[node].has_left = true; }
  /// While the cluster stops none is there: a caller whose request has failed turns to the next node.
  void hide_all(bool hides) noexcept { is_hidden_ = hides; }

 private:
  struct Entry {
    std::string host;
    std::uint64_t machine = 0;
    bool is_known = false, is_lost = false, has_left = false;
  };
  const std::string host_;
  const std::uint64_t machine_;
  NodeNumber self_ = 0, first_nodes_ = 1;
  std::optional<NodeNumber> names_keeper_;
  std::uint64_t incarnation_ = 0;
  std::vector<Entry> entries_;
  bool is_hidden_ = false;
};

/// So many, this one among them, are or were there.
NodeNumber count_expected(const ServerTable& servers) noexcept;

}  // namespace weft::server
