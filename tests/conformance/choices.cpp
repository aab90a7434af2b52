// SPDX-License-Identifier: BSD-3-Clause
// The list of what the suite runs on: one line for each kind of transport.
#include "tests/conformance/choices.hpp"

namespace weft::conformance {

const std::vector<Choice>& choices() {
  static const std::vector<Choice> found = [] {
    std::vector<Choice> out;
    add_sim(out);
    add_shm(out);
#ifdef WEFT_HAS_OFI
    add_ofi(out);
#endif
#ifdef WEFT_HAS_UCX
    add_ucx(out);
#endif
    add_faulty(out);  // last: it wraps the others
    return out;
  }();
  return found;
}

}  // namespace weft::conformance
