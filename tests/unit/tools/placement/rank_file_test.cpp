// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/rank_file.hpp"

#include <gtest/gtest.h>

#include "tests/unit/tools/messages/refusal.hpp"

namespace weft::placement {
namespace {

using job::Rank;
using messages::expect_refusal;
using messages::refusal_of;

std::string refusal(const std::string& text) {
  return refusal_of([&] { read_rank_file(text, "f"); });
}

TEST(RankFile, lines_in_any_order_with_blanks_and_comments) {
  const auto file = read_rank_file(
      "# ours\nrank 1=b slot=1:0-2,5\n\n  rank 0 = a   slot = 0-3, 7 # all\r\nrank 2=+n1", "f");
  EXPECT_EQ(file.places,
            (std::vector<RankPlace>{
                {Rank{0}, "a", "0-3,7", 4}, {Rank{1}, "b", "1:0-2,5", 2}, {Rank{2}, "+n1", "*", 5}}));
}

TEST(RankFile, a_bad_line_is_named) {
  expect_refusal(refusal(""), "--rankfile f places no rank");
  for (const char* text :
       {"rank", "0=a", "rank x=a", "rank 0", "rank -1=a", "rank 99999999999=a", "Rank 0=a", "rankfile"})
    expect_refusal(refusal(std::string("# first\n") + text), "--rankfile f, line 2: '");
  expect_refusal(refusal("rank 0=a slots=1"),
                 "line 1: 'slots=1' is unknown; after the host there can be slot=CORES");
  expect_refusal(refusal("rank 0=a slot=x"), "line 1: 'x' is no core and no range of cores");
  expect_refusal(refusal("rank 0=a slot=3-1"), "line 1: '3-1' is no core");
  expect_refusal(refusal("rank 0=a slot=x:1"), "line 1: 'x:1' names no socket");
  expect_refusal(refusal("rank 0=a slot="), "line 1: '' is no core");
  expect_refusal(refusal("rank 0=-oProxyCommand=x"), "is not the name of a host");
  expect_refusal(refusal("rank 0="), "a host has no name");
}

TEST(RankFile, every_rank_has_one_place) {
  expect_refusal(refusal("rank 0=a\nrank 1=a\nrank 0=b"), "line 3: rank 0 has a place already, in line 1");
  expect_refusal(refusal("rank 0=a\nrank 2=a"), "has no line for rank 1, but one for rank 2 (line 2)");
  expect_refusal(refusal("rank 1=a"), "has no line for rank 0");
}

TEST(RankFile, ranks_go_where_their_lines_say) {
  const auto file = read_rank_file("rank 0=b\nrank 1=a\nrank 2=+n1\nrank 3=b", "f");
  const allocation::Hosts hosts = {{"a", 1}, {"b", 1}};
  EXPECT_EQ(encode(place_as_listed(file, {0}, hosts)), "2;list:1x1,1x0,2x1");
  EXPECT_EQ(encode(place_as_listed(file, {1, 3}, hosts)), "2;list:1x1;list:1x0,2x1");
  const auto said = [&](const std::vector<std::uint32_t>& ranks, const allocation::Hosts& nodes) {
    return refusal_of([&] { place_as_listed(file, ranks, nodes); });
  };
  expect_refusal(said({5}, hosts), "has no line for rank 4; the job has 5 ranks, the file places 4");
  expect_refusal(said({3}, hosts), "places 4 ranks (rank 3 in line 4), but the job has 3");
  expect_refusal(said({4}, {{"a", 4}}), "line 1: host 'b' is none of the 1 node of the job");
  expect_refusal(said({4}, {{"b", 4}, {"c", 1}}), "line 2: host 'a' is none of the 2 nodes");
}

TEST(RankFile, its_hosts_are_the_nodes_where_no_others_are_named) {
  const auto hosts = hosts_of(read_rank_file("rank 0=b\nrank 1=a\nrank 2=b", "f"));
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_EQ(hosts[0].name, "b");
  EXPECT_EQ(hosts[0].slots, 2U);
  expect_refusal(refusal_of([] { hosts_of(read_rank_file("rank 0=+n0", "f")); }),
                 "is a node of a list, and there is none");
  const auto named = read_rank_file("rank 0=+n2", "f");
  expect_refusal(refusal_of([&] {
                   place_as_listed(named, {1}, {{"a", 1}});
                 }),
                 "'+n2' is no node of the job, which has +n0 to +n0");
}

}  // namespace
}  // namespace weft::placement
