// SPDX-License-Identifier: BSD-3-Clause
// The launcher's part in the making of a cluster: the servers of the nodes send it their contacts, and when
// the last has, it replies with all of them. It has the number behind those of the nodes, and an endpoint of
// its own. docs/design/launch.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/server/cluster/cluster.hpp"
#include "core/server/launch/fabric_plan.hpp"

namespace weft::server {

/// The reply to RequestType::introduce, whose body is a contact.
struct Introductions {
  std::vector<std::vector<std::byte>> contacts;
};
template <class Archive>
void fields(Archive& archive, Introductions& m) {
  archive(m.contacts);
}

class Introducer {
 public:
  struct Opened {
    std::unique_ptr<Introducer> introducer;  ///< null: see note
    std::string note;                        ///< one line for the user; empty: nothing to say
  };
  /// plan: its key, transport and introducer are set.
  static Opened open(Loop& loop, std::string host, FabricPlan& plan);
  ~Introducer();
  Introducer(const Introducer&) = delete;
  Introducer& operator=(const Introducer&) = delete;

  /// As Cluster.
  bool turn();
  bool sleep() noexcept { return pace_of(cluster_).sleep(); }
  /// Every member has taken leave, or is lost.
  bool is_over() const noexcept;

 private:
  Introducer(Loop& loop, std::string host, std::vector<NodeNumber> members)
      : members_(std::move(members)), cluster_(loop, std::move(host)) {}
  void take(NodeNumber from, Bytes contact, const Rpc::Reply& reply);
  void end_waiting(pmix_status_t status, Bytes body);

  const std::vector<NodeNumber> members_;
  Cluster cluster_;
  std::map<NodeNumber, std::vector<std::byte>> contacts_;
  std::map<NodeNumber, Rpc::Reply> waiting_;
  bool has_lost_one_ = false;
};

/// Those of the launches of this server, by namespace. The server's loop.
class Introducers {
 public:
  /// A line for the user where there is none now; empty: there is one.
  std::string open(Loop& loop, const std::string& nspace, std::string host, FabricPlan& plan);
  /// One round of progress; those that are over end. True: something happened, or may at any moment.
  bool turn();
  bool sleep() noexcept;
  void forget(std::string_view nspace);
  void clear() { all_.clear(); }

 private:
  std::map<std::string, std::unique_ptr<Introducer>, std::less<>> all_;
};

}  // namespace weft::server
