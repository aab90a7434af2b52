// SPDX-License-Identifier: BSD-3-Clause
// Each adds what there is to try of its transport; choices() tries it.
#pragma once

#include <vector>

#include "tests/conformance/fabric.hpp"

namespace weft::conformance {

void add_ofi(std::vector<Choice>& to);
void add_shm(std::vector<Choice>& to);
void add_tcp(std::vector<Choice>& to);
void add_sim(std::vector<Choice>& to);
void add_ucx(std::vector<Choice>& to);
/// Each of those that are there already, with faults that the contract allows.
void add_faulty(std::vector<Choice>& to);

}  // namespace weft::conformance
