// SPDX-License-Identifier: BSD-3-Clause
// Reserved keys that only another node's server knows: what its host registered of the node and of the ranks
// there, as localities, which are made when these are bound. Nothing of it is kept here: a Get that wants one
// asks. The loop's thread only.
#pragma once

#include <functional>
#include <string>

#include "core/server/cluster/cluster.hpp"
#include "core/server/jobs/jobs.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::server {

/// The request `far_key`; its reply is the encoded value.
struct FarKeyMessage {
  std::string nspace;
  std::uint32_t rank = 0;
  std::string key;
  bool is_of_node = false;  ///< of the requested node, whatever the rank
};
template <class Archive>
void fields(Archive& archive, FarKeyMessage& m) {
  archive(m.nspace, m.rank, m.key, m.is_of_node);
}

class FarKeys {
 public:
  using Told = std::function<void(pmix_status_t, store::Encoded)>;

  FarKeys(Jobs& jobs, Cluster& cluster);
  bool can_ask() const noexcept { return cluster_.is_open(); }
  /// told: once. PMIX_ERR_NOT_FOUND: that node does not know it either; _UNREACH: the node is lost, or is
  /// none.
  void ask(NodeNumber node, const FarKeyMessage& message, Told told);

 private:
  Result<store::Encoded> answer(const FarKeyMessage& message) const;

  Jobs& jobs_;
  Cluster& cluster_;
};

}  // namespace weft::server
