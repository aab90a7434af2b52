// SPDX-License-Identifier: BSD-3-Clause
// What goes in one message to the launcher, that nothing is lost on the way, and how many messages come to
// the launcher of many nodes.
#include "tools/weftd/report_queue.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tools/channel/launch_tree.hpp"

namespace weft::weftd {
namespace {

using channel::MessageType;
using Items = std::vector<ReportQueue::Item>;
constexpr std::uint32_t launcher = 100, above = 7, self = 3;

class ReportQueueTest : public ::testing::Test {
 protected:
  ReportQueueTest() { queue_.report_to(above); }
  void add(Way way = Way::by_the_tree) { queue_.add(MessageType::ended, "own", way); }
  void add_below(std::uint32_t node, std::uint32_t number) {
    queue_.add({{node, number, MessageType::started, "below"}},
               replies_.add([this](bool is_received) { ++(is_received ? confirmed_ : refused_); }));
  }
  /// The numbers of this node's reports in the next message.
  std::vector<std::uint32_t> next_numbers() {
    std::vector<std::uint32_t> out;
    if (const auto batch = queue_.next())
      for (const auto& item : batch->items) out.push_back(item.number);
    return out;
  }
  ReportQueue queue_{self, launcher};
  int confirmed_ = 0, refused_ = 0;
  channel::PendingReplies replies_;
};

using Numbers = std::vector<std::uint32_t>;

TEST_F(ReportQueueTest, what_comes_together_goes_together) {
  EXPECT_FALSE(queue_.next());
  add();
  add_below(20, 1);
  add();
  const auto batch = queue_.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->to, above);
  ASSERT_EQ(batch->items.size(), 3u);
  EXPECT_EQ(batch->items[0].node, self);
  EXPECT_EQ(batch->items[0].number, 1u);
  EXPECT_EQ(batch->items[1].node, 20u);
  EXPECT_EQ(batch->items[1].bytes, "below");
  EXPECT_EQ(batch->items[2].number, 2u);
  EXPECT_FALSE(queue_.next());
}

TEST_F(ReportQueueTest, those_below_hear_when_the_launcher_has_it) {
  add_below(20, 1);
  const auto batch = queue_.next();
  EXPECT_EQ(confirmed_, 0);
  queue_.confirm(batch->number);
  EXPECT_EQ(confirmed_, 1);
  queue_.confirm(batch->number);
  EXPECT_EQ(confirmed_, 1);
}

TEST_F(ReportQueueTest, few_messages_are_under_way_at_a_time) {
  std::vector<std::uint64_t> sent;
  for (std::size_t i = 0; i < ReportQueue::most_under_way; ++i) {
    add();
    sent.push_back(queue_.next()->number);
  }
  add();
  add();
  EXPECT_FALSE(queue_.next());
  queue_.confirm(sent[2]);
  EXPECT_EQ(next_numbers(), (Numbers{5, 6}));
  add();
  EXPECT_FALSE(queue_.next());
  queue_.hurry();
  EXPECT_EQ(next_numbers(), (Numbers{7}));
}

TEST_F(ReportQueueTest, all_that_is_not_confirmed_goes_straight_when_the_server_above_is_lost) {
  add();
  const auto first = queue_.next(), none = queue_.next();
  add();
  const auto second = queue_.next();
  add_below(20, 1);
  const auto third = queue_.next();
  add();
  queue_.confirm(first->number);
  queue_.fail(second->number);
  queue_.fail(third->number);  // it fails as well, and is on its way already
  const auto again = queue_.next();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->to, launcher);
  ASSERT_EQ(again->items.size(), 3u);
  EXPECT_EQ(again->items[0].number, 2u);
  EXPECT_EQ(again->items[1].node, 20u);
  EXPECT_EQ(again->items[2].number, 3u);
  EXPECT_FALSE(queue_.next() || none);
  queue_.confirm(again->number);
  EXPECT_EQ(confirmed_, 1);
  add();
  queue_.report_to(above);
  EXPECT_EQ(queue_.next()->to, launcher) << "once straight, always straight";
}

TEST_F(ReportQueueTest, what_may_decide_goes_straight_behind_what_is_not_confirmed) {
  for (std::size_t i = 0; i < ReportQueue::most_under_way; ++i) {
    add();
    queue_.next();
  }
  add();
  EXPECT_FALSE(queue_.next());
  add(Way::straight);
  const auto batch = queue_.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->to, launcher);
  EXPECT_EQ(batch->items.size(), ReportQueue::most_under_way + 2);
  EXPECT_EQ(batch->items.front().number, 1u);
}

TEST_F(ReportQueueTest, what_may_decide_waits_for_no_message_to_the_launcher) {
  queue_.report_to(launcher);
  for (std::size_t i = 0; i < ReportQueue::most_under_way; ++i) {
    add();
    queue_.next();
  }
  add(Way::straight);
  EXPECT_EQ(next_numbers(), (Numbers{5})) << "what goes the same way goes once";
  add();
  EXPECT_FALSE(queue_.next());
}

TEST_F(ReportQueueTest, those_below_hear_where_the_launcher_is_lost) {
  queue_.report_straight();
  add_below(20, 1);
  queue_.fail(queue_.next()->number);
  EXPECT_EQ(refused_, 1);
  EXPECT_EQ(confirmed_, 0);
  EXPECT_FALSE(queue_.next());
}

/// A job's daemons in their tree, where each message takes one round to the server above, and so does its
/// confirmation.
class Daemons {
 public:
  explicit Daemons(std::uint32_t count) : tree_(numbers(count), count), launcher_(count) {
    for (std::uint32_t node = 0; node < count; ++node) {
      queues_.push_back(std::make_unique<ReportQueue>(node, launcher_));
      queues_.back()->report_to(*tree_.parent_of(node));
    }
  }
  void report(std::uint32_t node) { queues_[node]->add(MessageType::settled, "", Way::by_the_tree); }
  void round() {
    struct Sent {
      std::uint32_t from;
      ReportQueue::Batch batch;
    };
    std::vector<Sent> all;
    for (std::uint32_t node = 0; node < queues_.size(); ++node)
      while (auto batch = queues_[node]->next()) all.push_back({node, std::move(*batch)});
    auto confirmations = std::exchange(confirmations_, {});
    for (const auto& confirm : confirmations) confirm();
    for (auto& [from, batch] : all) {
      const auto confirm = [queue = queues_[from].get(), number = batch.number](bool) {
        queue->confirm(number);
      };
      if (batch.to != launcher_) {
        queues_[batch.to]->add(std::move(batch.items), replies_.add(confirm));
        continue;
      }
      ++messages;
      senders.insert(from);
      for (const auto& item : batch.items) heard.insert(item.node);
      confirmations_.push_back([confirm] { confirm(true); });
    }
  }

  std::size_t messages = 0;  ///< at the launcher
  std::set<std::uint32_t> senders, heard;

 private:
  static std::vector<std::uint32_t> numbers(std::uint32_t count) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t node = 0; node < count; ++node) out.push_back(node);
    return out;
  }
  const channel::LaunchTree tree_;
  const std::uint32_t launcher_;
  channel::PendingReplies replies_;
  std::vector<std::unique_ptr<ReportQueue>> queues_;
  std::vector<std::function<void()>> confirmations_;
};

TEST(Reports, of_many_nodes_at_once_are_few_messages_of_eight_senders_at_the_launcher) {
  for (const std::uint32_t count : {8u, 72u, 584u, 4680u}) {
    Daemons daemons(count);
    for (std::uint32_t node = 0; node < count; ++node) daemons.report(node);
    for (int i = 0; i < 20; ++i) daemons.round();
    EXPECT_EQ(daemons.heard.size(), count);
    EXPECT_EQ(daemons.senders.size(), 8u);
    std::size_t levels = 0;
    for (std::uint32_t nodes = count; nodes != 0; nodes = (nodes - 8) / 8) ++levels;
    EXPECT_EQ(daemons.messages, 8 * levels) << count;
  }
}

/// One node after the other, one a round: as many at a time as are confirmed in that time.
TEST(Reports, of_many_nodes_that_end_one_by_one_all_come) {
  Daemons daemons(584);
  for (std::uint32_t node = 0; node < 584; ++node) {
    daemons.report(583 - node);
    daemons.round();
  }
  for (int i = 0; i < 20; ++i) daemons.round();
  EXPECT_EQ(daemons.heard.size(), 584u);
  EXPECT_EQ(daemons.senders.size(), 8u);
  EXPECT_LE(daemons.messages, 584u);
}

}  // namespace
}  // namespace weft::weftd
