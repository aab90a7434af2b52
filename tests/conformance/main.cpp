// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/conformance/process.hpp"

int main(int argc, char** argv) {
  if (argc == 3 && weft::conformance::child_argument == argv[1]) return weft::conformance::run_child(argv[2]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
