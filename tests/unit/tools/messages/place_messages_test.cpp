// SPDX-License-Identifier: BSD-3-Clause
// Where ranks are, as text: ranks in one place together, and bounded however many there are.
#include "tools/messages/place_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace weft::messages {
namespace {

using job::Place;
using job::Places;
using job::Rank;

Place in_call(std::uint32_t rank, const char* call, std::uint64_t age_ms, std::uint32_t stack = 0) {
  return {
      Rank{rank}, static_cast<int>(100 + rank), Place::Phase::connected, call, {}, age_ms, "sleeps in futex",
      stack};
}

std::string program(Rank) {
  return "./ring";
}

TEST(Places, ranks_in_one_place_are_told_together) {
  Places a, b;
  a.ranks = {in_call(0, "PMIx_Fence of all ranks", 12'000, 1),
             in_call(1, "PMIx_Fence of all ranks", 14'200, 1)};
  a.stacks = {"#0 poll\n#1 main"};
  b.ranks = {in_call(2, "PMIx_Fence of all ranks", 13'000, 1)};
  b.stacks = {"#0 poll\n#1 main"};
  b.ranks.push_back({Rank{3}, 103, Place::Phase::connected, "", "PMIx_Get", 900, "runs", 0});
  b.remark = "gdb: no";
  EXPECT_EQ(
      where_ranks_are("", {{"a", {Rank{0}, Rank{1}}, a}, {"b", {Rank{2}, Rank{3}}, b}}, program),
      "where ranks are; 4 run:\n"
      "  ranks 0-2 of ./ring: PMIx_Fence of all ranks, for at least 12 s to 14 s\n"
      "    rank 0 (pid 100 on a), rank 1 (pid 101 on a), rank 2 (pid 102 on b)\n"
      "    ranks 0-2: sleeps in futex\n"
      "      #0 poll\n"
      "      #1 main\n"
      "  rank 3 of ./ring: in no call of PMIx that its server knows of; the last was PMIx_Get, 900 ms ago\n"
      "    rank 3 (pid 103 on b)\n"
      "    rank 3: runs\n"
      "  on b: gdb: no");
}

TEST(Places, a_node_without_an_answer_is_named_with_its_ranks) {
  const auto text = where_ranks_are("j.1", {{"a", {Rank{0}, Rank{2}}, std::nullopt}}, program);
  EXPECT_EQ(text, "where ranks are of j.1; 0 run:\n  a has not answered: nothing is known of ranks 0,2");
}

TEST(Places, phases_have_words_of_their_own) {
  Places places;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    places.ranks.push_back({Rank{rank}, 1, static_cast<Place::Phase>(rank), "", "", 0, "", 0});
  }
  const auto text = where_ranks_are("", {{"a", {}, places}}, program);
  for (const auto* words : {"rank 0 of ./ring: not in PMIx_Init yet", "rank 1 of ./ring: in no call of PMIx",
                            "rank 2 of ./ring: behind PMIx_Finalize", "rank 3 of ./ring: gone without"})
    EXPECT_NE(text.find(words), std::string::npos) << words << text;
}

TEST(Places, a_thousand_ranks_take_few_lines) {
  Places places;
  for (std::uint32_t rank = 0; rank < 1000; ++rank)
    places.ranks.push_back(in_call(rank, "PMIx_Fence of all ranks", 5000));
  EXPECT_LE(where_ranks_are("", {{"a", {}, places}}, program).size(), 400u);
  for (std::uint32_t rank = 0; rank < 1000; ++rank) {
    places.stacks.push_back("#0 f" + std::to_string(rank));
    places.ranks[rank].stack = rank + 1;
  }
  const auto stacks = where_ranks_are("", {{"a", {}, places}}, program);
  EXPECT_NE(stacks.find("and 992 ranks with other stacks"), std::string::npos) << stacks;
  for (std::uint32_t rank = 0; rank < 1000; ++rank)
    places.ranks[rank].call = "PMIx_Get of k" + std::to_string(rank);
  const auto calls = where_ranks_are("", {{"a", {}, places}}, program);
  EXPECT_NE(calls.find("and 976 ranks in 976 other places"), std::string::npos) << calls;
  EXPECT_LE(std::count(calls.begin(), calls.end(), '\n'), 120);
}

TEST(Places, a_job_waits_when_a_rank_is_in_one_call_for_long) {
  using std::chrono::milliseconds;
  Places places;
  places.ranks = {in_call(0, "", 90'000), in_call(1, "PMIx_Fence of all ranks", 2000)};
  EXPECT_TRUE(has_waited({{"a", {}, places}}, milliseconds(2000)));
  EXPECT_FALSE(has_waited({{"a", {}, places}}, milliseconds(2001)));
  EXPECT_FALSE(has_waited({{"a", {}, std::nullopt}}, milliseconds(1)));
}

TEST(Places, control_characters_of_keys_do_not_reach_the_terminal) {
  Places places;
  places.ranks = {in_call(0, "PMIx_Get of a\x1b[2J", 1)};
  EXPECT_EQ(where_ranks_are("", {{"a", {}, places}}, program).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace weft::messages
