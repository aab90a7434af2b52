// SPDX-License-Identifier: BSD-3-Clause
// Which ends of operations are said again where a member has left.
#include "core/server/groups/open/failures.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::server {
namespace {

struct FailuresTest : ::testing::Test {
  using Kind = OperationName::Kind;
  using Statuses = std::vector<pmix_status_t>;

  static OperationName fence_of(std::string group) { return {Kind::group_fence, std::move(group)}; }

  Failures failures;
  const OperationName fence = fence_of("group"), destruct{Kind::destruct, "group"};
};

TEST_F(FailuresTest, all_of_an_operation_are_known_the_oldest_first) {
  EXPECT_EQ(failures.of(fence), Statuses{});
  failures.add(fence, PMIX_ERR_TIMEOUT);
  failures.add(fence, PMIX_ERR_UNREACH);
  failures.add(fence, PMIX_ERR_UNREACH);
  EXPECT_EQ(failures.of(fence), (Statuses{PMIX_ERR_TIMEOUT, PMIX_ERR_UNREACH, PMIX_ERR_UNREACH}));
}

TEST_F(FailuresTest, those_of_another_kind_or_group_are_others) {
  failures.add(fence, PMIX_ERR_UNREACH);
  failures.add(destruct, PMIX_ERR_PROC_ABORTED);
  failures.add(fence_of("other"), PMIX_ERR_TIMEOUT);
  EXPECT_EQ(failures.of(fence), Statuses{PMIX_ERR_UNREACH});
  EXPECT_EQ(failures.of(destruct), Statuses{PMIX_ERR_PROC_ABORTED});
  EXPECT_EQ(failures.of(fence_of("other")), Statuses{PMIX_ERR_TIMEOUT});
}

TEST_F(FailuresTest, one_that_has_ended_well_is_owed_no_more) {
  failures.add(fence, PMIX_ERR_UNREACH);
  failures.add(fence, PMIX_ERR_UNREACH);
  failures.add(destruct, PMIX_ERR_TIMEOUT);
  failures.forget(fence);
  EXPECT_EQ(failures.of(fence), Statuses{});
  EXPECT_EQ(failures.of(destruct), Statuses{PMIX_ERR_TIMEOUT});
  failures.add(fence, PMIX_ERR_TIMEOUT);
  EXPECT_EQ(failures.of(fence), Statuses{PMIX_ERR_TIMEOUT});
}

TEST_F(FailuresTest, a_group_with_other_members_begins_anew_in_all_of_them) {
  failures.add(fence, PMIX_ERR_UNREACH);
  failures.add(destruct, PMIX_ERR_UNREACH);
  failures.add(fence_of("other"), PMIX_ERR_UNREACH);
  failures.forget("group");
  EXPECT_EQ(failures.of(fence), Statuses{});
  EXPECT_EQ(failures.of(destruct), Statuses{});
  EXPECT_EQ(failures.of(fence_of("other")), Statuses{PMIX_ERR_UNREACH});
}

TEST_F(FailuresTest, the_latest_of_an_operation_are_remembered_however_many_there_were) {
  failures.add(fence, PMIX_ERR_UNREACH);
  failures.add(fence, PMIX_ERR_PROC_ABORTED);
  for (std::size_t i = 1; i < Failures::most_in_a_row; ++i) failures.add(fence, PMIX_ERR_TIMEOUT);
  const auto known = failures.of(fence);
  ASSERT_EQ(known.size(), Failures::most_in_a_row);
  EXPECT_EQ(known.front(), PMIX_ERR_PROC_ABORTED) << "the oldest has gone, and no other";
  EXPECT_EQ(known.back(), PMIX_ERR_TIMEOUT);
}

TEST_F(FailuresTest, the_latest_operations_are_remembered_however_many_there_were) {
  for (std::size_t i = 0; i <= Failures::most; ++i)
    failures.add(fence_of("group " + std::to_string(i)), PMIX_ERR_UNREACH);
  EXPECT_EQ(failures.of(fence_of("group 0")), Statuses{});
  EXPECT_EQ(failures.of(fence_of("group 1")), Statuses{PMIX_ERR_UNREACH});
  EXPECT_EQ(failures.of(fence_of("group " + std::to_string(Failures::most))), Statuses{PMIX_ERR_UNREACH});
}

}  // namespace
}  // namespace weft::server
