// SPDX-License-Identifier: BSD-3-Clause
// The node's segment as this process has mapped it, and its place in its own job there.
#pragma once

#include <optional>
#include <string_view>

#include "core/client/connection/control.hpp"
#include "core/store/segment/job_view.hpp"
#include "transport/shm/partial_window.hpp"
#include "transport/shm/wait.hpp"

namespace weft::client {

/// All empty without a segment.
struct OwnJob {
  shm::SegmentWindows segment;
  store::JobView view;
  std::uint32_t local = store::none;
  Control control;
  shm::WaitPolicy wait;

  /// Whether this process sees all of the segment that a lookup may come to. Else it asks the server, as a
  /// process without the segment does.
  bool sees_segment() const noexcept { return segment && !segment.is_incomplete(); }
  /// A job of the segment by its name, this one or another.
  std::optional<store::JobView> find(std::string_view nspace) const {
    if (!segment) return std::nullopt;
    if (nspace == view.nspace()) return view;
    const auto at = store::find_job(segment.bytes(), nspace);
    if (!at) return std::nullopt;
    const auto other = store::JobView::open(segment.bytes(), *at);
    return other ? std::optional(*other) : std::nullopt;
  }
};

}  // namespace weft::client
