// SPDX-License-Identifier: BSD-3-Clause
// Fences of processes on several nodes: this node's part in the collective between their servers.
//
// Generation  Each attempt of a set of processes is one generation of its collective, on every node that has some of
//             them: also an attempt that fails here before all local participants came (refuse()). So attempts of all
//             nodes pair up, whatever failed where.
// Who is gone A server learns of processes that died elsewhere, and asks their node about each fence with them that is
//             open here: has its part come? Only that node decides; if its part cannot come any more it ends the
//             generation for all. Nothing is guessed from the order in which news arrives.
// Threads     The server's loop.
#pragma once

#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/server/cluster/cluster.hpp"
#include "core/server/jobs/proc_set.hpp"
#include "core/server/fences/stuck.hpp"

namespace weft::server {

/// Of one node's participants in a fence.
struct LocalPart {
  enum class State : std::uint8_t {
    entered,  ///< all are in it: the node's part is under way
    waiting,  ///< some are in it
    absent,   ///< none is
  };
  State state = State::absent;
  std::vector<Missing> missing;           ///< ascending by rank
  pmix_status_t hopeless = PMIX_SUCCESS;  ///< why it will never be entered, if so
};

class NodeFences {
 public:
  using Blob = std::vector<std::byte>;
  using Key = std::pair<collectives::Signature, collectives::Generation>;
  struct Part {
    NodeNumber node;
    Bytes bytes;
  };
  /// others: what the other nodes contributed, valid during the call.
  using Done = std::function<void(pmix_status_t status, const std::vector<Part>& others)>;

  struct Hooks {
    /// The nodes of these processes, ascending. Empty: not all of them are known here.
    std::function<std::vector<NodeNumber>(const Procs&)> nodes_of;
    /// Of the attempt that has `ahead` others before it that have not begun.
    std::function<LocalPart(const Procs&, std::uint64_t ahead)> local_part;
    /// This node's next attempt cannot succeed: end it; calls refuse().
    std::function<void(const Procs&, pmix_status_t why)> give_up;
    std::function<void(const std::string& text)> report;
    /// A process of another node has died. Once a process.
    std::function<void(const pmix_proc_t& proc)> gone;
  };

  NodeFences(asio::io_context& loop, Nodes& nodes, std::string host, std::chrono::seconds stuck_after,
             Hooks hooks);

  /// All local participants are in it. mine: empty unless `collect`. done: in Nodes::turn(), once.
  /// Errors: not_found (a participant that is not known here).
  Result<Key> begin(Procs procs, bool collect, Blob mine, Done done);
  /// The attempt that has begun fails here, as `why`: so it does at all that have not finished it.
  void abort(const Key& key, pmix_status_t why);
  /// The next attempt has failed here before it began.
  void refuse(const Procs& procs, pmix_status_t why);

  /// Some local participants have waited for others for `age`, and the report is due: asks the other nodes and reports,
  /// unless one before us does. ahead: as in Hooks::local_part.
  void report(const Procs& procs, std::uint64_t ahead, LocalPart mine, std::chrono::seconds age);

  /// A process of this node has left without finalize: servers with which it shared a job are told.
  void tell_gone(const pmix_proc_t& proc, const std::vector<NodeNumber>& nodes);

  /// The same here, of one of another node: by itself, or its node is lost.
  void enter_gone(const pmix_proc_t& proc);
  /// The job has ended here; a later one may have its name.
  void forget(std::string_view nspace);

  /// Of this set, that have begun or failed here.
  std::uint64_t attempts(const Procs& procs) const;
  std::size_t open() const noexcept { return open_.size(); }
  /// When this node's part in it was complete; nothing: it is not under way here.
  std::optional<std::chrono::steady_clock::time_point> since(const Key& key) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    Procs procs;
    std::vector<NodeNumber> members;
    Clock::time_point since;
    bool is_reported = false;
  };
  struct Inquiry;

  void hear_gone(Bytes body);
  void ask_about(const Key& key, const Open& fence, NodeNumber node,
                 std::function<void(const LocalPart*)> then);
  void answer_about(Bytes body, const Letters::Answer& answer);
  void arm();
  void look();
  void ask_all(std::shared_ptr<Inquiry> inquiry, bool is_lower_half);
  void conclude(const Inquiry& inquiry);

  Nodes& nodes_;
  std::string host_;
  std::chrono::seconds stuck_after_;
  Hooks hooks_;
  std::map<Key, Open> open_;
  std::set<std::pair<std::string, std::uint32_t>> gone_;  ///< processes of other nodes that died
  asio::steady_timer timer_;
  bool is_armed_ = false;
};

collectives::Signature signature_of(const Procs& procs);

}  // namespace weft::server
