// SPDX-License-Identifier: BSD-3-Clause
// The list of what the suite runs on: one line for each kind of transport.
#include "tests/conformance/choices.hpp"

namespace weft::conformance {

const std::vector<Choice>& choices() {
  static const std::vector<Choice> found = [] {
    std::vector<Choice> out;
    add_sim(out);
#ifdef WEFT_HAS_UCX
    add_ucx(out);
#endif
    return out;
  }();
  return found;
}

}  // namespace weft::conformance
