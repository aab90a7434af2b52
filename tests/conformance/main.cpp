// SPDX-License-Identifier: BSD-3-Clause
// The suite on all transports that open here, or on the one that WEFT_TEST_TRANSPORT names.
//
//   conformance_test [--gtest_...]
//   conformance_test --list     the transports that it knows
//
// Exit status 77: the one that was named does not open here; why was said before.
#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>

#include "tests/conformance/process.hpp"

int main(int argc, char** argv) {
  using namespace weft::conformance;
  if (argc == 3 && child_argument == argv[1]) return run_child(argv[2]);
  if (argc == 2 && std::string_view(argv[1]) == "--list") {
    for (const auto& candidate : candidates()) std::puts(candidate.name.c_str());
    return 0;
  }
  if (choices().empty()) return 77;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
