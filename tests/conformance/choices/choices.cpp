// SPDX-License-Identifier: BSD-3-Clause
// The list of what the suite runs on: one line for each kind of transport.
#include "tests/conformance/choices/choices.hpp"

#include <cstdio>
#include <cstdlib>

namespace weft::conformance {

std::vector<Choice> candidates() {
  std::vector<Choice> out;
  add_sim(out);
  add_shm(out);
  add_tcp(out);
#ifdef WEFT_HAS_OFI
  add_ofi(out);
#endif
#ifdef WEFT_HAS_UCX
  add_ucx(out);
#endif
  add_faulty(out);  // last: it wraps the others
  return out;
}

const std::vector<Choice>& choices() {
  static const std::vector<Choice> found = [] {
    const char* only = std::getenv("WEFT_TEST_TRANSPORT");
    std::vector<Choice> out;
    for (auto& candidate : candidates()) {
      if (only != nullptr && candidate.name != only) continue;
      const auto fabric = candidate.make();
      if (const auto opened = open_endpoint(*fabric))
        out.push_back(std::move(candidate));
      else
        std::fprintf(stderr, "conformance: without %s, which does not open here: %s (%d)\n",
                     candidate.name.c_str(), opened.error().what, opened.error().sys);
    }
    return out;
  }();
  return found;
}

}  // namespace weft::conformance
