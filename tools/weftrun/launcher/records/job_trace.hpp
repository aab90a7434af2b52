// SPDX-License-Identifier: BSD-3-Clause
// The trace of a job (docs/scale/trace.md): what its nodes tell of the calls of their ranks, and when, by
// weftrun's clock. On the loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/job/node_trace.hpp"
#include "tools/placement/distribution.hpp"
#include "tools/weftrun/launcher/records/trace_file.hpp"

namespace weft::weftrun {

class JobTrace {
 public:
  using Clock = std::chrono::steady_clock;
  /// Throws Stop: the file cannot be written.
  explicit JobTrace(const std::string& path) : file_(path) {}

  void order_goes_out() { ordered_ = now(); }
  void node_started(std::uint32_t node) { started_[node] = now(); }  ///< its report is here
  /// What makes no sense is left out: a trace, a track of a rank of another node, an event before the order.
  void take(std::uint32_t node, job::NodeTrace told) { told_[node] = std::move(told); }

  /// The job as it was planned.
  struct Job {
    std::string nspace;
    std::vector<std::string> hosts;  ///< of the nodes, by number
    const placement::RankTable& table;
    std::optional<std::uint32_t> own{};  ///< the node of this process
    bool one_machine = false;            ///< all nodes have one clock
  };
  /// In the format of Chrome's traces: one object, with a line for each event.
  std::string document(const Job& job) const;
  /// Empty, or why not.
  std::string write(const Job& job) const { return file_.write(document(job)); }
  const std::string& path() const noexcept { return file_.path(); }

  /// How far a node's clock is ahead of weftrun's, in nanoseconds, modulo 2^64.
  struct Offset {
    std::uint64_t ahead = 0;
    std::optional<std::uint64_t> error{};  ///< it is at most so far from the truth; nothing: not known
  };
  /// From a time here, then one there, then one there again, then one here; 0: not known. Nanoseconds.
  static Offset offset_between(std::uint64_t sent, std::uint64_t received, std::uint64_t answered,
                               std::uint64_t back);

 private:
  static std::uint64_t now() {
    return static_cast<std::uint64_t>(Clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
  }
  Offset offset_of(std::uint32_t node, const Job& job) const;

  const TraceFile file_;
  std::uint64_t ordered_ = 0;
  std::map<std::uint32_t, std::uint64_t> started_;  // by node
  std::map<std::uint32_t, job::NodeTrace> told_;    // by node
};

}  // namespace weft::weftrun
