// SPDX-License-Identifier: BSD-3-Clause
// A namespace, as the server's loop thread holds it. A room keeps by itself what no other room needs of a
// job.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/server/types.hpp"
#include "core/store/segment/job_builder.hpp"
#include "transport/mesh/node.hpp"

namespace weft::server {

using mesh::NodeNumber;

/// The host's registration of a local client, made before the client itself came.
struct Registered {
  uid_t uid = 0;
  gid_t gid = 0;
  void* object = nullptr;
  pid_t pid = 0;  ///< as the host has said; 0: it has not
};

struct Job {
  std::string nspace;
  std::map<std::uint32_t, Registered> clients;  ///< by rank; may come before the namespace itself
  std::optional<store::CardKey> card_key{};     ///< as store::JobSpec
  std::optional<store::JobWriter> writer;       ///< once the namespace is registered
  bool has_met = false;     ///< it was named with others, in a collective of several namespaces, or may be
  bool has_ended = false;   ///< the host has ended it: it is there for such collectives (ProcessEnds)
  bool is_learned = false;  ///< the host brought it for a Get, and has not registered it
  std::map<std::uint32_t, ConnectionRef> connections;  ///< by local index
  std::optional<uid_t> memory_user{};      ///< whose ranks write its clients' memory: the first that came
  std::uint64_t info_at_registration = 0;  ///< where the keys begin that were added later
  std::vector<NodeNumber> nodes;           ///< that have ranks of it, ascending
  std::uint64_t first_fence_bytes = 0;     ///< that this node gave to the first fence of the whole job
  /// What the server does for it; null: no launcher traces it.
  std::shared_ptr<const store::OwnTraceLog> trace{};

  std::set<std::uint32_t>
      unkept;  ///< ranks of other nodes whose cards the segment has no room for, all or the last of them

  const store::JobView& view() const { return writer->view(); }
  std::uint32_t rank_of(std::uint32_t local) const {
    return view().local(local).rank.load(std::memory_order_relaxed);
  }
  /// A process can write all of a memory that its descriptor is open for, whatever it has mapped: so this one
  /// is one user's. Ranks of another user are served by messages.
  bool gives_memory_to(uid_t user) {
    if (!memory_user) memory_user = user;
    return *memory_user == user;
  }
  /// The host's object of a registered client; null for others.
  void* object_of(std::uint32_t rank) const {
    const auto client = clients.find(rank);
    return client == clients.end() ? nullptr : client->second.object;
  }
};

}  // namespace weft::server
