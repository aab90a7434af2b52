// SPDX-License-Identifier: BSD-3-Clause
// The one road on which cards of other nodes come to this one because a Get wants them: by the host where it does direct modex,
// else by reads of their node's memory (Modex). Concurrent fetches of one card share it. The loop's thread only.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/server/cards/modex.hpp"
#include "core/server/host/host.hpp"
#include "core/server/jobs/jobs.hpp"

namespace weft::server {

class Cards {
 public:
  /// cluster: null where there is no other node.
  Cards(Jobs& jobs, Host& host, Cluster* cluster, std::byte* segment);

  /// Some way to fetch exists at all.
  bool can_fetch() const noexcept { return host_.does_direct_modex() || modex_; }
  /// Brings the card of a rank on another node. done: PMIX_SUCCESS: it is here now, as far as it was committed;
  /// PMIX_ERR_UNREACH: its rank or node is dead without one; what the host or the store says.
  /// directives: of the Get, for the host.
  void fetch(const pmix_proc_t& proc, const data::Infos& directives, Done done);
  /// The request in the FetchCell of a local rank. The reply PMIX_OPERATION_SUCCEEDED: nothing was read, since there is
  /// something that the requester has not seen; PMIX_ERR_NOT_SUPPORTED: it is to ask by message.
  void answer_cell(Job& job, std::uint32_t local);

  /// The job is registered: other nodes may read its cards here.
  void offer(const Job& job);
  void withdraw(const std::string& nspace);
  /// After Cluster::turn(). Number of fetches that went on.
  std::size_t progress() { return modex_ ? modex_->progress() : 0; }
  void node_lost(NodeNumber node) {
    if (modex_) modex_->node_lost(node);
  }
  /// The cluster has ended its work: memory that the endpoint knows goes.
  void close() { modex_.reset(); }
  /// Null where there is no other node.
  Modex* modex() noexcept { return modex_.get(); }

 private:
  using Name = std::pair<std::string, std::uint32_t>;

  Jobs& jobs_;
  Host& host_;
  Cluster* cluster_;
  std::byte* segment_;
  std::unique_ptr<Modex> modex_;
  std::map<Name, std::vector<Done>> by_host_;  ///< fetches that the host does
  std::map<Name, std::uint32_t>
      answered_cells_;  ///< by namespace and local index: number of the last request
};

}  // namespace weft::server
