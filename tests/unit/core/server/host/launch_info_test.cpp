// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/launch_info.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace weft::server {
namespace {

struct Environment {
  char** entries = nullptr;
  ~Environment() {
    for (char** entry = entries; entry != nullptr && *entry != nullptr; ++entry) std::free(*entry);
    std::free(entries);
  }
  std::vector<std::string> all() const {
    std::vector<std::string> out;
    for (char** entry = entries; entry != nullptr && *entry != nullptr; ++entry) out.emplace_back(*entry);
    return out;
  }
};

TEST(LaunchInfo, sets_and_replaces) {
  Environment env;
  ASSERT_TRUE(set_variable(&env.entries, "A", "1"));
  ASSERT_TRUE(set_variable(&env.entries, "AB", "2"));
  ASSERT_TRUE(set_variable(&env.entries, "A", "3=4"));
  ASSERT_TRUE(set_variable(&env.entries, "EMPTY", ""));
  EXPECT_EQ(env.all(), (std::vector<std::string>{"A=3=4", "AB=2", "EMPTY="}));
}

TEST(LaunchInfo, travels_and_arrives) {
  ::setenv("UCX_OF_THIS_TEST", "a value, with = and \n", 1);
  ::setenv("WEFT_TOKEN", "never", 1);
  auto made = make_launch_info(nullptr, 0);
  ::unsetenv("UCX_OF_THIS_TEST");
  ::unsetenv("WEFT_TOKEN");
  ASSERT_TRUE(made);
  const auto read = read_launch_info(made->data(), made->size());
  ASSERT_TRUE(read);
  bool found = false;
  for (const auto& [name, value] : *read) {
    EXPECT_NE(name, "WEFT_TOKEN");
    EXPECT_NE(name, "PATH");
    found |= name == "UCX_OF_THIS_TEST" && value == "a value, with = and \n";
  }
  EXPECT_TRUE(found);
}

TEST(LaunchInfo, cut_at_any_byte_it_is_refused) {
  ::setenv("FI_OF_THIS_TEST", "value", 1);
  auto made = make_launch_info(nullptr, 0);
  ::unsetenv("FI_OF_THIS_TEST");
  ASSERT_TRUE(made && made->size() == 1);
  auto& object = made->data()[0].value.data.bo;
  const auto whole = object.size;
  for (object.size = 0; object.size < whole; ++object.size)
    EXPECT_FALSE(read_launch_info(made->data(), made->size())) << object.size;
  EXPECT_TRUE(read_launch_info(made->data(), made->size()));
}

}  // namespace
}  // namespace weft::server
