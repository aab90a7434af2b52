// SPDX-License-Identifier: BSD-3-Clause
// Which message of a process belongs to an operation that has ended before it.
#include "core/server/groups/open/owed_answers.hpp"

#include <gtest/gtest.h>

#include "core/link/messages.hpp"

namespace weft::server {
namespace {

struct OwedAnswersTest : ::testing::Test {
  using Kind = OperationName::Kind;

  static pmix_proc_t proc(std::uint32_t rank) { return link::make_proc("job", rank); }
  static Blob answer(int number) { return {static_cast<std::byte>(number)}; }
  /// The answer that the process gets; 0: none.
  int taken(const OperationName& name, std::uint32_t rank, const Procs& set = {}) {
    const auto answer = owed.take(name, set, proc(rank));
    return answer ? static_cast<int>(answer->front()) : 0;
  }

  OwedAnswers owed;
  const OperationName construct{Kind::construct, "group"}, fence{Kind::group_fence, "group"};
};

TEST_F(OwedAnswersTest, each_process_gets_it_once) {
  owed.add(construct, {}, answer(1), {proc(0), proc(1)});
  EXPECT_EQ(taken(construct, 2), 0);
  EXPECT_EQ(taken(construct, 0), 1);
  EXPECT_EQ(taken(construct, 0), 0) << "its next call is of another";
  EXPECT_EQ(taken(construct, 1), 1);
  EXPECT_EQ(taken(construct, 1), 0);
}

TEST_F(OwedAnswersTest, of_another_name_it_is_another) {
  owed.add(construct, {}, answer(1), {proc(0)});
  EXPECT_EQ(taken(fence, 0), 0);
  EXPECT_EQ(taken({Kind::construct, "other"}, 0), 0);
  EXPECT_TRUE(owed.owes(construct, proc(0)));
  EXPECT_FALSE(owed.owes(fence, proc(0)));
  EXPECT_FALSE(owed.owes(construct, proc(1)));
}

/// The members of lost nodes may have been left out of the set by then.
TEST_F(OwedAnswersTest, the_name_alone_says_which_group_it_is) {
  owed.add(construct, {proc(0), proc(1)}, answer(1), {proc(0)});
  EXPECT_EQ(taken(construct, 0, {proc(0), proc(1), proc(2)}), 1);
}

TEST_F(OwedAnswersTest, connects_are_told_apart_by_their_sets) {
  const OperationName connect{Kind::connect};
  owed.add(connect, {proc(0), proc(1)}, answer(1), {proc(0)});
  owed.add(connect, {proc(0), proc(2)}, answer(2), {proc(0)});
  EXPECT_EQ(taken(connect, 0, {proc(0)}), 0);
  EXPECT_EQ(taken(connect, 0, {proc(0), proc(2)}), 2);
  EXPECT_EQ(taken(connect, 0, {proc(0), proc(1)}), 1);
}

TEST_F(OwedAnswersTest, the_oldest_is_the_first) {
  owed.add(fence, {}, answer(1), {proc(0)});
  owed.add(fence, {}, answer(2), {proc(0)});
  EXPECT_EQ(taken(fence, 0), 1);
  EXPECT_EQ(taken(fence, 0), 2);
}

TEST_F(OwedAnswersTest, a_process_that_has_ended_is_owed_nothing) {
  owed.add(fence, {}, answer(1), {proc(0), proc(1)});
  owed.lose(proc(0));
  EXPECT_EQ(taken(fence, 0), 0);
  EXPECT_TRUE(owed.owes(fence, proc(1)));
  owed.lose(proc(PMIX_RANK_WILDCARD));
  EXPECT_EQ(taken(fence, 1), 0);
}

TEST_F(OwedAnswersTest, a_process_that_has_left_a_group_is_owed_nothing_of_that_group) {
  const OperationName other{Kind::group_fence, "other"};
  for (const auto& name : {construct, fence, other}) owed.add(name, {}, answer(1), {proc(0), proc(1)});
  owed.leave("group", proc(0));
  EXPECT_EQ(taken(construct, 0), 0);
  EXPECT_EQ(taken(fence, 0), 0);
  EXPECT_EQ(taken(other, 0), 1);
  for (const auto& name : {construct, fence, other}) EXPECT_EQ(taken(name, 1), 1) << to_text(name);
}

TEST_F(OwedAnswersTest, what_is_owed_to_processes_that_have_left_takes_no_place) {
  const auto numbered = [](std::size_t number) {
    return OperationName{Kind::construct, "group " + std::to_string(number)};
  };
  owed.add(numbered(0), {}, answer(1), {proc(0)});
  owed.add(fence, {}, answer(1), {proc(0), proc(1)});
  owed.leave("group", proc(0));
  owed.leave("group", proc(1));
  for (std::size_t i = 1; i < OwedAnswers::most; ++i) owed.add(numbered(i), {}, answer(1), {proc(0)});
  EXPECT_TRUE(owed.owes(numbered(0), proc(0)));
  owed.add(numbered(OwedAnswers::most), {}, answer(1), {proc(0)});
  EXPECT_FALSE(owed.owes(numbered(0), proc(0)));
}

TEST_F(OwedAnswersTest, the_latest_are_remembered_however_many_there_were) {
  for (std::size_t i = 0; i <= OwedAnswers::most; ++i)
    owed.add({Kind::construct, "group " + std::to_string(i)}, {}, answer(1), {proc(0)});
  EXPECT_EQ(taken({Kind::construct, "group 0"}, 0), 0);
  EXPECT_EQ(taken({Kind::construct, "group 1"}, 0), 1);
  EXPECT_EQ(taken({Kind::construct, "group " + std::to_string(OwedAnswers::most)}, 0), 1);
}

}  // namespace
}  // namespace weft::server
