// SPDX-License-Identifier: BSD-3-Clause
// Groups of the processes of one node, under a host that knows nothing of groups. The members:
// group_programs.cpp.
#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

class GroupTest : public Multiproc, public ::testing::WithParamInterface<Segment> {};
INSTANTIATE_TEST_SUITE_P(Segment, GroupTest, ::testing::ValuesIn(ways({Segment::mapped, Segment::mixed})),
                         [](const auto& way) { return name_of(way.param); });

TEST_P(GroupTest, its_name_in_every_call) {
  all_run(GetParam(), 5, "uses_a_group");
}
TEST_P(GroupTest, groups_of_other_processes) {
  all_run(GetParam(), 4, "asks_for_groups_of_all");
}
TEST_P(GroupTest, members_name_it_in_many_ways) {
  all_run(GetParam(), 5, "names_it_in_many_ways");
}
TEST_P(GroupTest, many_at_once_and_fences) {
  all_run(GetParam(), 4, "makes_many_at_once");
}
TEST_P(GroupTest, data_of_members) {
  all_run(GetParam(), 4, "gives_data");
}
TEST_P(GroupTest, a_member_comes_too_late) {
  all_run(GetParam(), 3, "one_comes_too_late");
}
TEST_P(GroupTest, by_chance) {
  all_run(GetParam(), 5, "makes_groups_by_chance", {"11", "500"});
}
TEST_P(GroupTest, threads) {
  all_run(GetParam(), 3, "makes_and_ends_groups");
}

TEST_P(GroupTest, a_member_dies) {
  for (const char* how : {"plain", "optional", "made", "notifies"}) {
    Host host;
    host.add_job("job", 4);
    std::vector<Child> members;
    for (pmix_rank_t rank = 0; rank < 4; ++rank)
      members.push_back(host.start("job", rank, "loses_the_last", {how}, reach(GetParam(), rank)));
    EXPECT_EQ(members[3].wait(), SIGUSR1) << how;
    members.pop_back();
    expect_success(members);
  }
}

}  // namespace
}  // namespace weft::test
