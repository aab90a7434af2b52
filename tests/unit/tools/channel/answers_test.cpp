// SPDX-License-Identifier: BSD-3-Clause
#include "tools/channel/answers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace weft::channel {
namespace {

class AnswersTest : public ::testing::Test {
 protected:
  Answer open() {
    return answers_->open([this] { ++given_; });
  }
  std::optional<Answers> answers_{std::in_place};
  int given_ = 0;
};

TEST_F(AnswersTest, a_call_gives_it_once) {
  const Answer answer = open();
  EXPECT_EQ(given_, 0);
  answer();
  EXPECT_EQ(given_, 1);
  answer();
  answers_->give_all();
  EXPECT_EQ(given_, 1);
}

TEST_F(AnswersTest, one_that_is_thrown_away_is_given) {
  { const Answer forgotten = open(); }
  EXPECT_EQ(given_, 1);
}

TEST_F(AnswersTest, copies_are_one_answer) {
  std::function<void()> last;
  {
    const Answer first = open();
    last = first;
  }
  EXPECT_EQ(given_, 0);
  last = nullptr;
  EXPECT_EQ(given_, 1);
}

TEST_F(AnswersTest, the_end_gives_what_is_open) {
  const Answer one = open(), two = open();
  one();
  answers_.reset();
  EXPECT_EQ(given_, 2);
  two();
  EXPECT_EQ(given_, 2);
}

TEST_F(AnswersTest, an_empty_one_does_nothing) {
  Answer{}();
  Answer moved = open();
  const Answer answer = std::move(moved);
  EXPECT_EQ(given_, 0);
}

TEST_F(AnswersTest, one_may_be_opened_while_another_is_given) {
  Answer next;
  answers_->open([&] { next = open(); })();
  EXPECT_EQ(given_, 0);
  next();
  EXPECT_EQ(given_, 1);
}

TEST(AnswersThreads, each_is_given_once) {
  constexpr int many = 2000;
  std::vector<std::atomic<int>> given(many);
  {
    Answers answers;
    std::vector<Answer> open;
    for (auto& one : given) open.push_back(answers.open([&one] { ++one; }));
    std::thread other([&answers] { answers.give_all(); });
    for (auto& answer : open) answer();
    other.join();
  }
  for (const auto& one : given) ASSERT_EQ(one.load(), 1);
}

}  // namespace
}  // namespace weft::channel
