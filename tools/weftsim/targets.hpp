// SPDX-License-Identifier: BSD-3-Clause
// The design's targets for large jobs, each with the command whose figure it compares; and where one is
// missed, which algorithm would meet it.
#pragma once

#include <string>

namespace weft::weftsim {

struct TargetReport {
  std::string text;
  bool all_met = true;
};

/// Takes some minutes of processor time.
TargetReport compare_targets();

}  // namespace weft::weftsim
