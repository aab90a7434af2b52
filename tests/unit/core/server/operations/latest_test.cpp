// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/operations/latest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::server {
namespace {

template <class Of>
std::vector<int> keys_of(const Of& latest) {
  std::vector<int> out;
  for (const auto& [key, value] : latest) out.push_back(key);
  return out;
}

using Three = Latest<int, std::string, 3>;

TEST(Latest, the_oldest_is_forgotten) {
  Three latest;
  EXPECT_EQ(latest.find(1), nullptr);
  for (int key = 5; key > 0; --key) latest.add(key, std::to_string(key));
  EXPECT_EQ(keys_of(latest), (std::vector{3, 2, 1})) << "by age, and not by key";
  EXPECT_EQ(latest.size(), 3u);
  EXPECT_EQ(latest.find(4), nullptr);
  ASSERT_NE(latest.find(3), nullptr);
  EXPECT_EQ(*latest.find(3), "3");
}

TEST(Latest, what_is_added_again_is_the_newest) {
  Three latest;
  for (const int key : {1, 2, 3}) latest.add(key, "before");
  EXPECT_EQ(latest.add(1, "again"), "again");
  EXPECT_EQ(latest.size(), 3u) << "the same key takes no room of another";
  latest.add(4, "new");
  EXPECT_EQ(keys_of(latest), (std::vector{3, 1, 4}));
  EXPECT_EQ(*latest.find(1), "again");
}

TEST(Latest, what_is_erased_makes_room) {
  Three latest;
  for (const int key : {1, 2, 3}) latest.add(key, {});
  latest.erase(2);
  latest.erase(7);
  latest.add(4, {});
  EXPECT_EQ(keys_of(latest), (std::vector{1, 3, 4}));
  latest.erase_if([](int key, std::string& value) {
    value = "seen";
    return key != 3;
  });
  EXPECT_EQ(keys_of(latest), std::vector{3});
  EXPECT_EQ(*latest.find(3), "seen");
  EXPECT_EQ(latest.find(4), nullptr);
}

struct OpenOnes {
  Latest<int, bool, 3> latest;
  void add(int key, bool is_open) {
    latest.add(key, is_open, [](int, bool value) { return value; });
  }
};

TEST(Latest, an_open_one_in_front_does_not_lift_the_bound) {
  OpenOnes ones;
  ones.add(0, true);
  for (int key = 1; key <= 100; ++key) ones.add(key, false);
  EXPECT_EQ(keys_of(ones.latest), (std::vector{0, 99, 100}));
}

TEST(Latest, open_ones_stay_beyond_the_bound_and_no_longer_than_they_are_open) {
  OpenOnes ones;
  for (int key = 1; key <= 5; ++key) ones.add(key, true);
  EXPECT_EQ(ones.latest.size(), 5u);
  ones.add(6, false);
  EXPECT_EQ(keys_of(ones.latest), (std::vector{1, 2, 3, 4, 5, 6})) << "the newest is not its own victim";
  for (const int key : {1, 2, 3, 4}) *ones.latest.find(key) = false;
  ones.add(7, false);
  EXPECT_EQ(keys_of(ones.latest), (std::vector{5, 6, 7})) << "the bound holds again";
}

}  // namespace
}  // namespace weft::server
