// SPDX-License-Identifier: BSD-3-Clause
// How long this server counts the collectives of a signature: those of a group's members as long as the group
// has these members here, all others as long as the namespaces of their processes are here. Of signatures
// that are over the latest are still counted (Generations): of these come late messages, and ends that
// members are owed. The loop's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/server/cluster/cluster.hpp"
#include "core/server/fences/participants.hpp"

namespace weft::server {

class Signatures {
 public:
  explicit Signatures(Cluster& cluster) noexcept : cluster_(cluster) {}

  /// A collective of these is about to begin here. Cost: O(log n); the first time O(processes).
  void use(const Participants& procs);

  // A group has these members here, and no longer. series: of Group; 0: it has no collectives.
  void begin_series(std::uint64_t series);
  void end_series(std::uint64_t series);
  /// The namespace has ended here.
  void end_namespace(std::string_view nspace);

 private:
  using Used = std::vector<collectives::Signature>;
  void release(const Used& used);

  Cluster& cluster_;
  std::map<std::uint64_t, Used> of_series_;
  std::map<std::string, Used, std::less<>> of_namespace_;
};

}  // namespace weft::server
