// SPDX-License-Identifier: BSD-3-Clause
// What an action says that must be refused.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tools/messages/stop.hpp"

namespace weft::messages {

template <class Action>
std::string refusal_of(Action&& action) {
  try {
    action();
  } catch (const Stop& stop) {
    EXPECT_EQ(stop.exit_code(), exit_status::usage);
    EXPECT_EQ(std::string(stop.what()).find('\n'), std::string::npos) << stop.what();
    return stop.what();
  }
  return "accepted";
}

inline void expect_refusal(const std::string& said, const std::string& expected) {
  EXPECT_NE(said.find(expected), std::string::npos) << said << "\n  lacks: " << expected;
}

}  // namespace weft::messages
