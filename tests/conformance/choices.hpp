// SPDX-License-Identifier: BSD-3-Clause
// Each adds what of its transport works on this machine.
#pragma once

#include <vector>

#include "tests/conformance/fabric.hpp"

namespace weft::conformance {

void add_sim(std::vector<Choice>& to);
void add_ucx(std::vector<Choice>& to);

}  // namespace weft::conformance
