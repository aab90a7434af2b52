// SPDX-License-Identifier: BSD-3-Clause
// --dry-run, --explain and --display: where each rank goes, and why, as text. Starts nothing.
#pragma once

#include <string>
#include <vector>

#include "tools/placement/processors.hpp"
#include "tools/placement/topology.hpp"
#include "tools/weftrun/plan/plan.hpp"

namespace weft::weftrun {

/// A machine whose processors are known: this one, or one that WEFT_TOPOLOGY describes, which then stands for
/// every node.
struct KnownMachine {
  placement::Topology topology;
  placement::Processors processors;
  bool is_every_node = false;
  std::string from;  ///< where that is known from, in words for the user

  /// description: WEFT_TOPOLOGY; empty: this machine. processors: those that may be used, by --cpu-list;
  /// empty: all. Throws Stop.
  static KnownMachine of(const std::string& description, const std::vector<unsigned>& processors = {});
};

/// --display allocation: one line a node, with its slots.
std::string describe_allocation(const Plan& plan);

/// One line a rank, below its node: slot, and processors if they are known. why: the reasons, above that.
std::string explain(const Plan& plan, const Options& options, const KnownMachine& machine, bool why);

}  // namespace weft::weftrun
