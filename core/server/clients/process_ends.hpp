// SPDX-License-Identifier: BSD-3-Clause
// The end of a process, of a connection, of a node and of a namespace, and in which order the rooms hear of
// it. The order is written in process_ends.cpp, and nowhere else: a room in which processes wait for one
// another, or that keeps what belongs to a process, gets its line there in each function that concerns it.
// The loop's thread only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/server/cards/gets.hpp"
#include "core/server/events/event_relay.hpp"
#include "core/server/events/watched_codes.hpp"
#include "core/server/fences/fences.hpp"
#include "core/server/groups/group_reports.hpp"
#include "core/server/host/outputs.hpp"
#include "core/server/jobs/process_sets.hpp"
#include "core/server/monitors/monitors.hpp"
#include "core/server/published/published.hpp"

namespace weft::server {

/// From server to server, down a tree: a process has ended. The message names the servers that it goes to,
/// those of the process's job, of its groups and of what it is connected with: a server may not know the job
/// yet, and one that never will is to keep nothing of it. (An event goes to all servers:
/// events/tree_relay.hpp.)
struct ProcessEnd {
  static constexpr std::uint16_t wire_version = 2;
  NodeNumber node = 0;  ///< of the process
  pmix_proc_t proc{};
  /// The process was connected, and has not finalized. False: its host has taken it away, and tells others of
  /// it what there is to tell.
  bool is_loss = false;
  std::vector<NodeNumber> below{};  ///< the receiver tells these
};
template <class Archive>
void fields(Archive& archive, ProcessEnd& m) {
  archive(m.node, m.proc, m.is_loss, m.below);
}

class ProcessEnds {
 public:
  struct Rooms {
    Jobs& jobs;
    Cards& cards;
    Gets& gets;
    Fences& fences;
    EventRelay& events;
    Groups& groups;
    Operations& operations;
    Questions& questions;
    Bootstraps& bootstraps;
    Invited& invited;
    Memberships& memberships;
    Invitations& invitations;
    Gatherings& gatherings;
    Outputs& outputs;
    Published& published;
    Monitors& monitors;
    WatchedCodes& watched_codes;
    ProcessSets& process_sets;
  };
  /// A server tells so many others of an end, and these the rest: of up to 33 nodes each is told by the
  /// server of the process, before all that this server says later.
  static constexpr std::size_t tree_width = 32;
  ProcessEnds(const Rooms& rooms, Loop& loop, Cluster& cluster, Exchanges& exchanges,
              std::size_t width = tree_width);

  /// The connection of a client or tool has ended, for whatever reason: its open requests end without a
  /// reply. Its process may have ended before, or not yet.
  void connection_closed(const ConnectionRef& connection);

  enum class How {
    died,               ///< its connection is closed, and it had not finalized
    taken_away,         ///< the host has deregistered it, which may never have come
    finalized,          ///< it does not come back
    finalized_for_now,  ///< it may be initialized again: fences wait for it
  };
  /// A process of this node will not arrive, call, commit or answer any more. After finalized_for_now: it
  /// does not come back.
  void process_ended(Job& job, std::uint32_t local, How how);
  /// Ranks that the host has taken away before they came. A job of programs without PMIx would cost a message
  /// a rank and node: so the other nodes hear of them once a process of the job has connected here, and may
  /// wait for them.
  void tell_of_absentees(const Job& job);

  /// Another node's server says that a process there has ended, or that server is lost.
  void remote_process_ended(const ProcessEnd& end);
  /// The server of a node is lost, or has left, and all processes of the node with it.
  void node_lost(const Cluster::Lost& lost);

  /// The host ends the namespace, whose connections are closed. No process of it is left, and nothing that
  /// was theirs; what they were in with processes of other namespaces may be under way: servers are told of
  /// the end at different times, and ask each other about it. So a job that was in such an operation is
  /// known for a while, as one whose processes have all ended; of any other nothing stays.
  void namespace_ended(Job& job);
  /// What is still under way then between the nodes is given up.
  static constexpr std::chrono::seconds known_for{3};
  /// So many at a time, but for those with something under way.
  static constexpr std::size_t most_known = 64;
  /// A namespace of that name is registered anew: nothing stays of the one before.
  void make_room_for(std::string_view nspace);

 private:
  void tell_groups(const pmix_proc_t& proc, pmix_status_t status);
  std::vector<NodeNumber> nodes_concerned(const Job& job, const pmix_proc_t& proc) const;
  void tell_other_nodes(const Job& job, const pmix_proc_t& proc, bool is_loss);
  bool take(const ProcessEnd& end);
  /// told: goes when the last server below has been told, or is lost.
  void pass_on(const ProcessEnd& end, const std::vector<NodeNumber>& below,
               const std::shared_ptr<void>& told);

  void end_processes(Job& job);
  void forget(const std::string& nspace);
  bool is_in_nothing(const std::string& nspace);
  void forget_ended();

  const Rooms rooms_;
  Loop& loop_;
  Cluster& cluster_;
  Exchanges& exchanges_;
  const std::size_t width_;
  /// By namespace: ranks that the host has taken away, of which other nodes have not heard.
  std::map<std::string, std::vector<std::uint32_t>> absentees_;
  struct Ended {
    std::string nspace;
    Loop::TimePoint until;
  };
  std::vector<Ended> ended_;  ///< oldest first
  std::unique_ptr<Timer> timer_;
};

}  // namespace weft::server
