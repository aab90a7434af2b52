// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Connect and PMIx_Disconnect: the host is called when all participants of this node have called. The loop's thread only.
//
//   gathering --(the last local participant)--> with the host --(its answer)--> ended
//       |
//       +-----(a participant has ended; a deadline has passed)----------------> ended
//
// A gathering that ends before it is complete is told to the host as well, with PMIX_LOCAL_COLLECTIVE_STATUS: participants of other
// nodes wait for this one.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <list>
#include <memory>
#include <vector>

#include "core/server/host/host.hpp"
#include "core/server/jobs/jobs.hpp"
#include "core/server/services/requester.hpp"

namespace weft::server {

class Gatherings {
 public:
  enum class Kind { connect, disconnect };

  Gatherings(asio::io_context& loop, Jobs& jobs, Host& host) : loop_(loop), jobs_(jobs), host_(host) {}

  /// A participant has called. Participants may name the set in any order.
  void enter(Kind kind, const Requester& from, Procs procs, data::Infos directives);
  /// A local process will not call any more: it has ended, or has finalized.
  void lose(const pmix_proc_t& proc, pmix_status_t status);

 private:
  struct Gathering {
    Kind kind;
    Procs set;    ///< canonical
    Procs named;  ///< as the first participant named them
    data::Infos directives;
    std::vector<Requester> arrived;
    std::unique_ptr<asio::steady_timer> deadline;
  };
  using Open = std::list<Gathering>::iterator;

  Open find_or_begin(Kind kind, const Requester& from, Procs&& procs, Procs&& set, data::Infos&& directives);
  bool is_complete(const Gathering& gathering) const;
  pmix_status_t status_of_lost(const Gathering& gathering) const;
  void hand_to_host(Open open);
  void fail(Open open, pmix_status_t status);
  void call_host(Kind kind, Procs procs, data::Infos directives, Done done);

  asio::io_context& loop_;
  Jobs& jobs_;
  Host& host_;
  std::list<Gathering> open_;  ///< not with the host yet
};

}  // namespace weft::server
