// SPDX-License-Identifier: BSD-3-Clause
// Direct modex: cards of ranks on other nodes, read out of their node's memory when a Get or a fence here
// needs them.
//
//   fetch() -> where do the cards of that node lie? (known since the first fence of the job, else one
//   request)
//           -> one read of the start of the card, or of its length and what is not known of it here
//              -> whole: done | longer: reads of the rest
//              -> nothing committed yet: its server is asked to send it when there is, or (Until::now) what
//              it knows
// A card that is read while its rank writes is read again; where a doubt remains the server of its node is
// asked for it. Each fetch therefore ends with the card, or with what the server of its node says of the
// rank.
// Threads   The server's loop. done() in progress(), once.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/threads/weak_self.hpp"
#include "core/server/cards/fetch.hpp"
#include "core/server/cluster/cluster.hpp"
#include "core/server/counter.hpp"
#include "core/server/jobs/jobs.hpp"
#include "core/store/cards/card.hpp"
#include "core/store/segment/job_view.hpp"
#include "pmix_common.h"

namespace weft::server {

class Modex {
 public:
  Modex(Cluster& cluster, Jobs& jobs);
  ~Modex();
  Modex(const Modex&) = delete;
  Modex& operator=(const Modex&) = delete;

  /// A job with ranks on other nodes is there: its cards may be read from now on.
  void offer(const store::JobView& job);
  void withdraw(std::string_view nspace);
  /// Where the cards of that job lie here, for take_place() of other nodes; nothing if they may not be read.
  Blob place(std::string_view nspace) const;
  /// A place that another node has told; the first one stays. Errors: corrupt.
  Result<void> take_place(NodeNumber node, std::string_view nspace, Bytes place);

  /// Brings the card of a rank. Concurrent fetches of one card share the reads, and the wait for a first
  /// commit.
  void fetch(NodeNumber node, const pmix_proc_t& proc, Until until, FetchDone done);
  /// Has the server of the rank's node send what comes beyond position `beyond` of its log, as soon as there
  /// is any. Callers that await more from the same position share the request.
  void await_more(NodeNumber node, const pmix_proc_t& proc, std::uint64_t beyond, FetchDone done);
  void node_lost(NodeNumber node);

  /// After Cluster::turn(). Number of fetches that went on.
  std::size_t progress();

  struct Counters {
    std::uint64_t fetches = 0, reads = 0, bytes_read = 0;
    std::uint64_t requests = 0;  ///< messages: places and cards that were asked for
  };
  const Counters& counters() const noexcept { return counters_; }

 private:
  struct Offer;
  struct Place;
  struct Fetch;
  struct Part;
  using Name = std::pair<NodeNumber, std::string>;
  using Rank = std::pair<std::string, std::uint32_t>;

  FetchDone traced(const pmix_proc_t& proc, FetchDone done) const;
  Place* place_for(const Fetch& fetch) const;
  void ask_place(Fetch& fetch);
  void ask_for_card(Fetch& fetch);
  void request(NodeNumber node, const pmix_proc_t& proc, std::uint64_t beyond, bool waits, FetchDone done);
  std::uint64_t known(const pmix_proc_t& proc) const;
  void read_start(Fetch& fetch);
  void read_all(Fetch& fetch, const Place& place, const store::CardImage& image);
  void launch(Fetch& fetch);
  void go_on(Fetch& fetch);
  std::unique_ptr<Fetch> take_out(Fetch& fetch);
  void end(Fetch& fetch, const Fetched& fetched);

  Cluster& cluster_;
  Jobs& jobs_;
  std::map<std::string, std::unique_ptr<Offer>, std::less<>> offers_;
  std::map<Name, std::unique_ptr<Place>> places_;
  std::map<const Fetch*, std::unique_ptr<Fetch>> fetches_;
  std::map<Rank, Fetch*> by_rank_;                                            ///< the same fetches
  std::map<std::pair<Rank, std::uint64_t>, std::vector<FetchDone>> awaited_;  ///< by rank and position
  std::deque<Fetch*> ready_;                                                  ///< their reads have ended
  std::vector<std::byte> landing_;  ///< slots for the starts of cards
  std::unique_ptr<MemoryRegion> landing_region_;
  std::vector<std::uint32_t> free_slots_;
  std::deque<Fetch*> waiting_;  ///< for a slot, or room in the mesh
  const base::WeakSelf<Modex> weak_self_{this};
  Counters counters_;
};

inline constexpr Counter<Modex> modex_counters[] = {
    {"modex.fetches", "cards of other nodes that were wanted here",
     [](Modex& modex) { return modex.counters().fetches; }},
    {"modex.gets", "reads of another node's memory for them",
     [](Modex& modex) { return modex.counters().reads; }},
    {"modex.bytes", "bytes that these asked for", [](Modex& modex) { return modex.counters().bytes_read; },
     Measure::bytes},
    {"modex.requests", "requests to other servers, where a read alone did not do",
     [](Modex& modex) { return modex.counters().requests; }},
};

}  // namespace weft::server
