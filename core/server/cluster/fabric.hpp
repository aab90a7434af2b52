// SPDX-License-Identifier: BSD-3-Clause
// The server's way to other nodes: one endpoint and the mesh above it, opened when there first is another
// node.
//
// Progress  The server's thread calls turn() in each round of its loop and sleep() before it blocks. While it
//           sleeps it waits for the endpoint's descriptor with all else that the loop waits for, in one epoll
//           set.
// Cost      Idle: a timer for signs of life, twice in Limits::probe_after, once a node has been spoken to;
//           before that nothing. After traffic, and when some is expected: looks again as a waiting client
//           does (transport/shm/wait.hpp), spinning where cores are to spare, then yielding for 2 ms: waking
//           a sleeping core costs more than a fence.
#pragma once

#include <asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "core/server/loop/loop.hpp"

#include "base/threads/weak_self.hpp"
#include "transport/mesh/mesh.hpp"
#include "transport/registry/order.hpp"
#include "transport/shm/wait.hpp"

namespace weft::server {

class Fabric {
 public:
  struct Options {
    std::string transport;  ///< as WEFT_TRANSPORT has it; empty: the first of the preferred ones that opens
    transport::Order preferred{};
    std::optional<Address> toward{};   ///< as Opening::toward
    std::vector<std::string> folders;  ///< of modules
    shm::WaitPolicy wait{};
    mesh::Limits limits{};
  };
  /// From the environment (WEFT_TRANSPORT, WEFT_MODULE_PATH). clients: local processes that want their cores,
  /// too.
  static Options options_here(unsigned clients);

  struct Opened {
    std::unique_ptr<Fabric> fabric;  ///< NULL: see note
    std::string note;                ///< one line for the user; empty: nothing to say
  };
  static Opened open(Loop& loop, const mesh::JobKey& key, mesh::NodeIncarnation self, mesh::NodeNumber nodes,
                     mesh::Watcher& watcher, const Options& options);
  /// The same over an endpoint that is open already. name: as WEFT_TRANSPORT would have it.
  static std::unique_ptr<Fabric> over(Loop& loop, std::string name, std::unique_ptr<Transport> transport,
                                      std::unique_ptr<Endpoint> endpoint, const mesh::JobKey& key,
                                      mesh::NodeIncarnation self, mesh::NodeNumber nodes,
                                      mesh::Watcher& watcher, const Options& options);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  mesh::Mesh& mesh() noexcept { return *mesh_; }
  Endpoint& endpoint() noexcept { return *endpoint_; }
  /// As WEFT_TRANSPORT would name what is open here.
  const std::string& transport() const noexcept { return name_; }
  /// The same and what carries it: "ucx:^tcp over rxe0:1".
  std::string description() const;

  /// Ends the mesh and with it all work: regions that it read and that others read may go, before the
  /// endpoint does.
  void stop() noexcept { mesh_.reset(); }

  /// One round of progress. True: something happened, or may at any moment; call it again without sleeping.
  /// Without `may_rest` the loop has other work, and the core is not given to others.
  bool turn(bool may_rest = true) noexcept;
  /// Something is about to come: looks for it for a while before it sleeps, as after traffic.
  void stay_awake() noexcept { awake_since_ = loop_.now(); }
  /// clients: local processes that want their cores, too.
  void share_cores(unsigned clients) noexcept;

  /// When turn() is to be called though nothing happens; TimePoint::max(): no need.
  mesh::TimePoint deadline() const noexcept { return mesh_->deadline(); }
  /// True: the loop may block; what happens on the fabric ends that. False: turn() first.
  bool sleep() noexcept;

 private:
  explicit Fabric(Loop& loop) : loop_(loop), timer_(loop.io()) {}
  void wait_until(mesh::TimePoint when) noexcept;

  Loop& loop_;
  std::string name_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<mesh::Mesh> mesh_;
  const base::WeakSelf<Fabric> weak_self_{this};  ///< handlers may come after us
  std::unique_ptr<asio::posix::stream_descriptor>
      watch_;  ///< NULL: the endpoint has no descriptor and is polled
  bool is_watched_ = false;
  asio::steady_timer timer_;  ///< ends the loop's sleep
  mesh::TimePoint timer_at_ = mesh::TimePoint::max();
  shm::WaitPolicy wait_;
  mesh::TimePoint awake_since_{};
};

/// How the loop sleeps beside a fabric, as Fabric has it. null: there is none, and nothing to wait for.
class Pace {
 public:
  explicit Pace(Fabric* fabric) noexcept : fabric_(fabric) {}

  mesh::TimePoint deadline() const noexcept {
    return fabric_ != nullptr ? fabric_->deadline() : mesh::TimePoint::max();
  }
  bool sleep() const noexcept { return fabric_ == nullptr || fabric_->sleep(); }
  void stay_awake() const noexcept {
    if (fabric_ != nullptr) fabric_->stay_awake();
  }
  void share_cores(unsigned clients) const noexcept {
    if (fabric_ != nullptr) fabric_->share_cores(clients);
  }

 private:
  Fabric* const fabric_;
};

}  // namespace weft::server
