// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Publish, PMIx_Lookup and PMIx_Unpublish where the host does not offer them: the servers of the cluster
// keep the names. The loop's thread only. docs/design/published.md has the messages.
//
// Keeper    Each key has a server that keeps the names of that key: found by its hash, so no node has all.
//           Names that no process of another node sees stay at the publisher's server.
// Origin    The publisher's server knows what its processes have published: it takes names back when they
//           end, and gives the successor of a lost keeper what that one has kept. A publish counts when the
//           keeper has said so; all names of a call are published, or none.
// Runs      Names of SESSION and GLOBAL may be another run's to keep, and this run may keep those of others
//           (runs/).
// Bounds    Keeper::most_bytes of names kept, and as much that the processes of this node have published.
// Source: PMIx Standard, chapter "Publish/Lookup Operations".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/server/counter.hpp"
#include "core/server/events/event_relay.hpp"
#include "core/server/published/lookups.hpp"
#include "core/server/published/runs/far_names.hpp"
#include "core/server/published/runs/guest_runs.hpp"
#include "core/server/published/runs/names_link.hpp"

namespace weft::server {

class Published {
 public:
  Published(Loop& loop, Cluster& cluster, EventRelay& events);
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  // Requests of clients and tools of this node.
  void publish(const Requester& from, const link::Publish& message);
  void look_up(const Requester& from, const link::Lookup& message) { lookups_.look_up(from, message); }
  void unpublish(const Requester& from, const link::Unpublish& message);

  // Names of several runs.
  NamesLink& names_link() noexcept { return names_link_; }
  GuestRuns& guests() noexcept { return guests_; }

  // Of guests, whose origin this server is.
  /// The same publication, of this server and with a number of its own.
  std::shared_ptr<const Publication> as_of_here(Publication by);
  /// names: of one publication of this server. ended: once.
  void publish(const std::vector<NameRef>& names, Done ended);
  /// withdrawn: the keepers have forgotten them, and so has this server.
  void withdraw(const std::vector<NameRef>& names, const Done& withdrawn);
  /// These end, and no process waits for that; of what is being published what is_ended() says.
  void end(const std::vector<NameRef>& names, const std::function<bool(const Publication&)>& is_ended);

  // Ends.
  void closed(const ConnectionRef& connection);
  /// A process of this node.
  void process_ended(const pmix_proc_t& proc);
  void node_lost(NodeNumber node) { keeper_.node_lost(node); }
  void namespace_ended(const std::string& nspace);

  // Reports.
  const Lookups& lookups() const noexcept { return lookups_; }
  const KeptNames& kept() const noexcept { return keeper_.kept(); }
  std::size_t names() const noexcept { return keeper_.names(); }
  std::size_t waiting() const;
  /// What is under way here; 0 when all calls of all processes have ended.
  std::size_t open() const noexcept {
    return lookups_.open() + keeper_.open() + calls_.open() + publishing_.size() + names_link_.open();
  }
  /// What processes of this node have published, in bytes.
  std::size_t own_bytes() const noexcept { return own_.bytes(); }

 private:
  /// Names of one keeper.
  using Group = std::pair<NodeNumber, std::vector<NameRef>>;
  /// A call of PMIx_Publish whose keepers are asked one after the other, in the order of their homes: so one
  /// of several that publish the same keys gets all of them.
  struct Publishing {
    Done reply;  ///< null: it was replied to
    std::shared_ptr<const Publication> by;
    std::vector<Group> groups;
    std::size_t at = 0;    ///< of groups: under way
    bool is_void = false;  ///< its names are not to stay: its time is over, or its publisher has ended
    std::set<std::string> taken{};  ///< have gone with a first read already
    KeeperCalls::Ref call{};
    std::unique_ptr<Timer> deadline{};
  };
  using PublishingRef = std::shared_ptr<Publishing>;
  /// A requester, until it is answered.
  struct Asked {
    Requester from;
    std::unique_ptr<Timer> deadline{};
    void reply(pmix_status_t status);
  };

  pmix_status_t read(const Requester& from, const link::Publish& message, std::vector<NameRef>& out);
  pmix_status_t publish_here(const std::vector<NameRef>& names);
  std::vector<Group> by_home(const std::vector<NameRef>& names) const;
  void publish_next(const PublishingRef& publishing);
  void take_kept(std::vector<NameRef>& names) const;
  void published(const PublishingRef& publishing);
  void undo(const PublishingRef& publishing, pmix_status_t status);
  void finish(const PublishingRef& publishing, pmix_status_t status);
  static std::vector<std::byte> message_of(const Publishing& publishing);
  PublishingRef begin(const std::vector<NameRef>& names, Done reply);
  void withdraw_at_keepers(const std::vector<NameRef>& names);
  void take_note(const NameTaken& taken);
  void pass_on(const link::GuestTaken& taken);
  NameCopies copies_of(NodeNumber home) const;

  Loop& loop_;
  Cluster& cluster_;
  Places places_;
  OwnNames own_;
  NamesLink names_link_;
  FarNames far_;
  Keeper keeper_;
  KeeperCalls calls_;
  Lookups lookups_;
  GuestRuns guests_;
  /// By number. What alone keeps them: each keeps its call, which knows it by a weak reference.
  std::map<std::uint64_t, PublishingRef> publishing_;
  std::uint64_t last_number_ = 0;
};

inline constexpr Counter<Published> published_counters[] = {
    {"published.names", "published names that this server keeps now",
     [](Published& published) { return std::uint64_t{published.names()}; }, Measure::things_now},
    {"published.bytes", "their bytes",
     [](Published& published) { return std::uint64_t{published.kept().bytes()}; }, Measure::bytes_now},
    {"published.waiting", "lookups of processes of this node that wait for a name now",
     [](Published& published) { return std::uint64_t{published.waiting()}; }, Measure::things_now},
};

}  // namespace weft::server
