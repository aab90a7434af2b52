// SPDX-License-Identifier: BSD-3-Clause
// What a server says of first calls, and what becomes of it beside times of the node itself.
#include "tools/node/places/server_start.hpp"

#include <gtest/gtest.h>
#include <pmix.h>

#include <array>
#include <cstdio>
#include <vector>

namespace weft::node {
namespace {

struct Said {
  std::array<std::array<std::uint64_t, 4>, 3> numbers{};
  std::array<pmix_data_array_t, 3> arrays{};
  std::vector<pmix_info_t> infos;
  pmix_data_array_t array{};
  pmix_value_t value{};

  Said(std::array<std::array<std::uint64_t, 4>, 3> from, std::size_t count) : numbers(from) {
    constexpr std::array keys{"weft.start.init", "weft.start.fence", "weft.start.fetch"};
    for (std::size_t i = 0; i < keys.size(); ++i) {
      arrays[i] = {PMIX_UINT64, count, numbers[i].data()};
      auto& info = infos.emplace_back();
      std::snprintf(info.key, sizeof info.key, "%s", keys[i]);
      info.value.type = PMIX_DATA_ARRAY;
      info.value.data.darray = &arrays[i];
    }
    auto& bytes = infos.emplace_back();
    std::snprintf(bytes.key, sizeof bytes.key, "weft.bytes");
    bytes.value.type = PMIX_UINT64;
    bytes.value.data.uint64 = 77;
    array = {PMIX_INFO, infos.size(), infos.data()};
    value.type = PMIX_DATA_ARRAY;
    value.data.darray = &array;
  }
};

TEST(ServerStart, is_read_as_it_was_said) {
  const Said said({{{2, 9'000, 5'000, 4'000}, {1, 3, 2, 1}, {0, 0, 0, 0}}}, 4);
  const auto read = start_in(said.value);
  EXPECT_EQ(read.init.ranks, 2u);
  EXPECT_EQ(read.init.last_begun, 9'000u);
  EXPECT_EQ(read.init.after_last, 5'000u);
  EXPECT_EQ(read.init.longest, 4'000u);
  EXPECT_EQ(read.fence.longest, 1u);
  EXPECT_EQ(read.fetch.ranks, 0u);
  EXPECT_EQ(read.fence_bytes, 77u);
}

TEST(ServerStart, of_another_shape_is_nothing) {
  const Said said({{{2, 9, 5, 4}, {1, 3, 2, 1}, {1, 1, 1, 1}}}, 3);
  EXPECT_EQ(start_in(said.value).init.ranks, 0u);
  pmix_value_t text{};
  text.type = PMIX_UNDEF;
  EXPECT_EQ(start_in(text).fence_bytes, 0u);
}

TEST(ServerStart, completes_what_the_node_has_measured) {
  job::NodeStart start;
  add_to(start, {.init = {2, 9'000'000, 5'000'000, 4'000'000}, .fence = {1, 1, 7'000, 8'000}, .fetch = {}},
         6'000'000);
  EXPECT_EQ(start.load, 3'000u);
  EXPECT_EQ(start.init, 4'000u);
  EXPECT_EQ(start.fence, 7u);
  EXPECT_FALSE(start.fetch);
  EXPECT_EQ(start.in_init, 2u);
  EXPECT_EQ(start.fenced, 1u);
}

TEST(ServerStart, has_no_load_before_all_ranks_are_there_and_none_below_nothing) {
  job::NodeStart start;
  const ServerStart said{.init = {1, 5, 1, 1}, .fence = {}, .fetch = {}};
  add_to(start, said, 0);
  EXPECT_FALSE(start.load);
  add_to(start, said, 9);
  EXPECT_EQ(start.load, 0u);
  job::NodeStart other;
  add_to(other, {}, 9);
  EXPECT_FALSE(other.load || other.init || other.fence);
}

}  // namespace
}  // namespace weft::node
