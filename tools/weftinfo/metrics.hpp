// SPDX-License-Identifier: BSD-3-Clause
// Clusters in the text exposition format of Prometheus, version 0.0.4 (docs/design/report.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/weftinfo/report.hpp"

namespace weft::weftinfo {

/// All samples of a metric stand together, whatever cluster they are of. Pure function.
std::string metrics_of(const std::vector<Cluster>& clusters);

/// A counter of the servers as a metric: "mesh.bytes_sent" is weft_mesh_sent_bytes_total. The unit stands
/// behind, and `_total` where the figure only grows.
std::string metric_name(std::string_view counter, Measure measure);

}  // namespace weft::weftinfo
