// SPDX-License-Identifier: BSD-3-Clause
// A job: its plan, what is known of each rank, how far its life is, and what it has come to. What happens to
// it comes in by a call, which returns what is to be done. Without a loop, a process or a terminal.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/job/ending.hpp"
#include "tools/job/events.hpp"
#include "tools/jobs/held_nodes.hpp"
#include "tools/jobs/orders.hpp"
#include "tools/jobs/outcome.hpp"
#include "tools/jobs/rank_states.hpp"
#include "tools/jobs/states.hpp"
#include "tools/messages/messages.hpp"
#include "tools/placement/distribution.hpp"

namespace weft::jobs {

class Job {
 public:
  struct Plan {
    std::vector<std::string> hosts;     ///< of the nodes, by number
    std::vector<std::string> programs;  ///< of the apps
    bool goes_on = false;               ///< it outlives ranks and nodes that are lost, once it is launched
    std::string output_directory{};     ///< of files of what ranks write; empty: it is forwarded
    bool merges_errors = false;         ///< standard error goes where standard output goes
    std::vector<job::Stops> stops{};    ///< of the apps; none: no rank stops for a debugger
    std::string name{};                 ///< in lines about its ranks; empty: they need none
  };
  /// table: outlives this object.
  Job(Plan plan, const placement::RankTable& table);

  // What happens, and what is to be done then.
  /// Some rank may run from here on.
  void launched() { is_launched_ = true; }
  /// The ranks of a node have been started: those with a pid, in the order of the ranks.
  struct Started {
    std::uint32_t node = 0;
    std::vector<std::int32_t> pids{};
    int exit_code = 0;      ///< the job's, if a rank could not be started
    std::string failure{};  ///< empty: all ranks run
  };
  Orders started(const Started& report);
  Orders rank_ended(const job::RankEnd& end);
  /// A rank whose end was told of without a connection had connected.
  Orders connected_late(job::Rank rank);
  /// All ranks of a node that are to stop there for a debugger have. Once a point.
  Orders node_held(std::uint32_t node, const job::Held& held);
  Orders aborted(const job::AbortRequest& request);
  /// After Hold: what has ended for the loss of a rank counts now, if that rank lives on or not.
  Orders hold_over();
  /// No rank of a node runs any more. Once a node.
  Orders node_settled();
  /// A node is lost with all its ranks. line: for the user; empty: there is none of this node.
  Orders node_lost(std::uint32_t node, const std::string& line);
  struct Reason {
    int exit_code = 0;
    std::string line{};
  };
  /// What is no news of a rank or a node. reason: what the job comes to if this is the reason for its end;
  /// nothing: it is none.
  Orders raise(Event event, const std::optional<Reason>& reason = {});
  /// Another process wants these ranks ended, which is no failure of theirs.
  void expect_end(const std::vector<job::Rank>& ranks) { ranks_.expect_end(ranks); }
  /// Once, when the output of a job is written of which ranks failed and the rest went on: a line to print
  /// before output_done. Empty: there is none.
  std::string take_summary();

  State state() const noexcept { return state_; }
  bool all_run() const noexcept { return nodes_to_start_ == 0; }  ///< or have, on each node
  int exit_code() const noexcept { return outcome_.exit_code(); }
  const job::Ending& ending() const noexcept { return ending_; }
  const RankStates& ranks() const noexcept { return ranks_; }
  messages::Where where(job::Rank rank) const;
  bool has_connected() const noexcept { return has_connected_; }  ///< some rank, at any time
  /// The first to fail, if it had not connected.
  std::optional<job::Rank> stranger() const noexcept { return stranger_; }

 private:
  using Text = const std::string&;
  bool is_before_its_end() const noexcept { return state_ == State::starting || state_ == State::running; }
  bool continues() const noexcept { return plan_.goes_on && is_launched_ && is_before_its_end(); }
  std::string_view consequence() const noexcept;
  void say(Say::What what, std::string line, const std::optional<AboutRank>& about = {});
  void step_by(Event event, int exit_code, Text line, const std::optional<AboutRank>& about = {});
  void step_by(Event event) { step_by(event, outcome_.exit_code(), {}); }
  void fail(Event event, int exit_code, Text what, Text line, const std::optional<AboutRank>& about = {});
  void note_failure(job::Rank rank, int exit_code, pmix_status_t how);
  void judge(const job::RankEnd& end);
  void judge_held();
  void say_absentees();
  void expect_held();
  void announce(const std::optional<job::Held>& held);
  void end_named(const job::AbortRequest& request);
  Orders done() { return std::exchange(orders_, {}); }

  const Plan plan_;
  const placement::RankTable& table_;
  RankStates ranks_;
  HeldNodes held_nodes_;
  State state_ = State::starting;
  Outcome outcome_;
  job::Ending ending_;  ///< as tools hear it
  Orders orders_;       ///< of the present call
  /// Ends of ranks that came before that of the rank whose loss they may follow from.
  std::vector<job::RankEnd> held_;
  bool may_hold_ = true;
  std::vector<job::Rank> absentees_;  ///< ended with status 0 before PMIx_Init, and not told of yet
  std::uint32_t nodes_to_start_, nodes_to_settle_;  ///< before all ranks run; before no rank runs any more
  std::optional<job::Rank> stranger_;
  bool has_announced_start_ = false, is_launched_ = false, has_summed_up_ = false, has_connected_ = false;
};

}  // namespace weft::jobs
