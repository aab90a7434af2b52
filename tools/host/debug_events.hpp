// SPDX-License-Identifier: BSD-3-Clause
// The events between processes that stop for a debugger, debuggers, and this host: PMIx Standard, chapter
// "Tools and Debuggers". Events in, names out; pure functions.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/host/info_list.hpp"
#include "tools/job/control.hpp"
#include "tools/job/stops.hpp"

namespace weft::host {

/// PMIX_BREAKPOINT of PMIX_READY_FOR_DEBUG, cut to job::longest_breakpoint; empty: the event names none.
std::string breakpoint_in(std::span<const pmix_info_t> infos);

/// The processes that PMIX_DEBUGGER_RELEASE is for: those of its custom range, else those that it affects.
/// Nothing in the result: all.
std::vector<job::ControlRequest::Target> released_by(std::span<const pmix_info_t> infos);

/// The infos of PMIX_READY_FOR_DEBUG about a whole job.
InfoList ready_infos(const std::string& nspace, const std::string& breakpoint);

/// One program of a job.
struct ProgramStops {
  const job::Stops& stops;
  std::uint32_t first = 0, ranks = 0;  ///< its own are these from `first` on
};
/// Which ranks stop where, as a job-level key of the job says it: true (all of them), a rank, an array of
/// ranks. Nothing is added where no rank stops.
///   ranks  of the job
void add_stops(InfoList& infos, std::uint32_t ranks, const std::vector<ProgramStops>& programs);

}  // namespace weft::host
