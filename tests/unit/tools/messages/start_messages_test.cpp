// SPDX-License-Identifier: BSD-3-Clause
// The account of a start, for people and for programs.
#include "tools/messages/start_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::messages {
namespace {

StartAccount an_account() {
  return {.nspace = "j",
          .ranks = 8,
          .nodes = 4,
          .phases = {{.name = "allocation", .own = 1234},
                     {.name = "map", .nodes = {{"a", 1000}, {"b", 4000}, {"c", 2000}, {"d", 4000}}, .of = 4},
                     {.name = "first fence", .nodes = {{"a", 5}}, .bytes = 77, .of = 4},
                     {.name = "first touch", .of = 4}},
          .running_after = 20'005,
          .silent = {"b", "c", "d"}};
}

TEST(StartMessages, the_median_is_the_lower_of_the_two_in_the_middle) {
  const auto account = an_account();
  EXPECT_EQ(median(account.phases[1]), 2000u);
  EXPECT_EQ(median(account.phases[2]), 5u);
  EXPECT_EQ(median({.name = "x", .nodes = {{"a", 9}, {"b", 1}, {"c", 5}}}), 5u);
}

TEST(StartMessages, the_slowest_come_first_and_equals_in_their_order) {
  const auto account = an_account();
  const auto three = slowest(account.phases[1], 3);
  ASSERT_EQ(three.size(), 3u);
  EXPECT_EQ(three[0].host + three[1].host + three[2].host, "bdc");
  EXPECT_EQ(slowest(account.phases[2], 3).size(), 1u);
}

TEST(StartMessages, for_people_are_lines) {
  const auto lines = start_lines(an_account());
  const std::vector<std::string> expected{
      "start of job j, 8 ranks on 4 nodes, in milliseconds:",
      "  allocation         1.234",
      "  map                2.000  median of 4 nodes; slowest b 4.000, d 4.000, c 2.000",
      "  first fence        0.005  median of 1 of 4 nodes; slowest a 0.005; 77 bytes sent",
      "  first touch            -  not reached",
      "  all ranks ran after 20.005",
      "  nothing was told by b, c, d"};
  EXPECT_EQ(lines, expected);
}

TEST(StartMessages, of_a_job_that_has_not_run_say_so) {
  auto account = an_account();
  account.running_after.reset();
  account.silent = {"a", "b", "c", "d", "e"};
  const auto lines = start_lines(account);
  EXPECT_NE(std::find(lines.begin(), lines.end(), "  not all ranks ran"), lines.end());
  EXPECT_EQ(lines.back(), "  nothing was told by a, b, c and 2 more");
}

TEST(StartMessages, for_programs_are_one_document) {
  EXPECT_EQ(
      start_json(an_account()),
      R"({"report": "launch", "job": "j", "ranks": 8, "nodes": 4, "phases": [)"
      R"({"phase": "allocation", "microseconds": 1234}, )"
      R"({"phase": "map", "nodes": 4, "of": 4, "median_microseconds": 2000, "slowest": [)"
      R"({"host": "b", "microseconds": 4000}, {"host": "d", "microseconds": 4000}, {"host": "c", "microseconds": 2000}]}, )"
      R"({"phase": "first fence", "nodes": 1, "of": 4, "median_microseconds": 5, "slowest": [)"
      R"({"host": "a", "microseconds": 5}], "bytes": 77}, {"phase": "first touch"}], )"
      R"("running_after_microseconds": 20005, "silent": ["b", "c", "d"]})");
}

}  // namespace
}  // namespace weft::messages
