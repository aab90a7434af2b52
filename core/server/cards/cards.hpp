// SPDX-License-Identifier: BSD-3-Clause
// The one road on which cards of other nodes come to this one because a Get wants them: by the host where it
// does direct modex, else by reads of their node's memory (Modex). Concurrent fetches of one card share it.
// The loop's thread only.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/server/cards/fetch.hpp"
#include "core/server/cards/modex.hpp"
#include "core/server/host/host.hpp"
#include "core/server/jobs/jobs.hpp"

namespace weft::server {

class Cards {
 public:
  Cards(Jobs& jobs, Host& host, Cluster& cluster);

  /// The host does direct modex: then it brings all cards of other nodes.
  bool host_brings() const noexcept { return host_.offers(&pmix_server_module_t::direct_modex); }

  /// The key and the directives of a Get; a host gets both as directives, the key as PMIX_REQUIRED_KEY.
  struct Wanted {
    std::string key;  ///< empty: the card, whatever is in it
    data::Infos directives;
    Until until = Until::commit;
  };
  /// Brings the card of a rank on another node; of the wildcard rank, where the host brings cards, a
  /// namespace that is not registered here. PMIX_ERR_NOT_SUPPORTED: there is no way to fetch.
  void fetch(const pmix_proc_t& proc, Wanted wanted, FetchDone done);
  /// Brings what the rank commits beyond position `beyond` of its log, as soon as it does. Not where the host
  /// brings cards.
  void await_more(const pmix_proc_t& proc, std::uint64_t beyond, FetchDone done);
  /// The request in the FetchCell of a local rank.
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
  /// Null where there is no way to other nodes.
  Modex* modex() noexcept { return modex_.get(); }

 private:
  using Name = std::pair<std::string, std::uint32_t>;
  void fetch_by_host(const pmix_proc_t& proc, Wanted wanted, FetchDone done);
  NodeNumber node_of(const pmix_proc_t& proc) const;
  void read_other_nodes();

  Jobs& jobs_;
  Host& host_;
  Cluster& cluster_;
  std::unique_ptr<Modex> modex_;
  /// Fetches that the host does and that may be shared: by rank and key.
  std::map<std::pair<Name, std::string>, std::vector<FetchDone>> by_host_;
  std::map<Name, std::uint32_t>
      answered_cells_;  ///< by namespace and local index: number of the last request
};

}  // namespace weft::server
