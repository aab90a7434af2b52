// SPDX-License-Identifier: BSD-3-Clause
// What a trace of a job can have events of (docs/scale/trace.md): calls of ranks, and what a server does for
// them. In the segment an event has the number of its row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::store {

/// The rows of trace_names, in its order.
enum class TraceCall : std::uint16_t {
  none,
  init,
  finalize,
  abort,
  put,
  commit,
  fence,
  fence_nb,
  get,
  get_nb,
  group_construct,
  group_destruct,
  group_invite,
  group_join,
  group_leave,
  connect,
  disconnect,
  spawn,
  publish,
  lookup,
  unpublish,
  query,
  server_fence,
  server_fetch,
};

struct TraceName {
  TraceCall call;
  std::string_view name;
  std::string_view subject;  ///< what the number of an event is; empty: there is none
  /// The border between C++ and C sees where it begins and ends (core/abi/calls/guard.hpp). Else the event is
  /// noted where more is known of it.
  bool is_of_guard = false;
};

inline constexpr std::array<TraceName, 24> trace_names{{
    {TraceCall::none, "none", ""},
    {TraceCall::init, "PMIx_Init", ""},
    {TraceCall::finalize, "PMIx_Finalize", ""},
    {TraceCall::abort, "PMIx_Abort", "", true},
    {TraceCall::put, "PMIx_Put", "", true},
    {TraceCall::commit, "PMIx_Commit", "", true},
    {TraceCall::fence, "PMIx_Fence", "", true},
    {TraceCall::fence_nb, "PMIx_Fence_nb", ""},
    {TraceCall::get, "PMIx_Get", "rank"},
    {TraceCall::get_nb, "PMIx_Get_nb", "rank"},
    {TraceCall::group_construct, "PMIx_Group_construct", "", true},
    {TraceCall::group_destruct, "PMIx_Group_destruct", "", true},
    {TraceCall::group_invite, "PMIx_Group_invite", "", true},
    {TraceCall::group_join, "PMIx_Group_join", "", true},
    {TraceCall::group_leave, "PMIx_Group_leave", "", true},
    {TraceCall::connect, "PMIx_Connect", "", true},
    {TraceCall::disconnect, "PMIx_Disconnect", "", true},
    {TraceCall::spawn, "PMIx_Spawn", "", true},
    {TraceCall::publish, "PMIx_Publish", "", true},
    {TraceCall::lookup, "PMIx_Lookup", "", true},
    {TraceCall::unpublish, "PMIx_Unpublish", "", true},
    {TraceCall::query, "PMIx_Query_info", "", true},
    {TraceCall::server_fence, "fence between nodes", "generation"},
    {TraceCall::server_fetch, "fetch of a card", "rank"},
}};

constexpr bool trace_names_are_in_order() {
  for (std::size_t i = 0; i < trace_names.size(); ++i)
    if (static_cast<std::size_t>(trace_names[i].call) != i) return false;
  return true;
}
static_assert(trace_names_are_in_order(), "the rows stand in the order of TraceCall");

/// none: calls of this entry point are no events, or are noted elsewhere.
constexpr TraceCall guarded_call(std::string_view entry_point) noexcept {
  for (const auto& row : trace_names)
    if (row.is_of_guard && row.name == entry_point) return row.call;
  return TraceCall::none;
}

}  // namespace weft::store
