// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Connect, PMIx_Disconnect and groups that the host makes: the host is called when all participants of this node have called.
// The loop's thread only.
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
#include "core/server/services/host_groups.hpp"
#include "core/server/services/requester.hpp"

namespace weft::server {

class Gatherings {
 public:
  enum class Kind { connect, disconnect, construct, destruct };
  /// What a participant asks for. Calls of one kind and set belong together; of a group, those of its name.
  struct Call {
    Kind kind;
    std::string group;  ///< empty: it is none
    Procs procs;
    data::Infos directives;
  };

  Gatherings(asio::io_context& loop, Jobs& jobs, Host& host)
      : loop_(loop), jobs_(jobs), host_(host), groups_(jobs, host) {}

  /// A participant has called. Participants may name the set in any order.
  void enter(const Requester& from, Call call);
  /// The same for the end of a group, whose members are known here.
  void enter_destruct(const Requester& from, link::GroupDestruct message);
  /// A local process will not call any more: it has ended, or has finalized.
  void lose(const pmix_proc_t& proc, pmix_status_t status);

 private:
  struct Gathering {
    Call call;  ///< of the first participant
    Procs set;  ///< canonical
    std::vector<Requester> arrived;
    std::unique_ptr<asio::steady_timer> deadline;
  };
  using Open = std::list<Gathering>::iterator;

  Procs set_of(const Call& call) const;
  Open find_or_begin(const Requester& from, Call&& call, const Procs& set);
  bool is_complete(const Gathering& gathering) const;
  pmix_status_t status_of_lost(const Gathering& gathering) const;
  void hand_to_host(Open open);
  void fail(Open open, pmix_status_t status);
  void call_host(Call call, Host::Answered done);

  asio::io_context& loop_;
  Jobs& jobs_;
  Host& host_;
  HostGroups groups_;
  std::list<Gathering> open_;  ///< not with the host yet
};

}  // namespace weft::server
