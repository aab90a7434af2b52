// SPDX-License-Identifier: BSD-3-Clause
// A cluster of one node, its opening to the cluster of all nodes, and its end. Two of them in one process,
// over the transport shm.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/server/cluster/cluster.hpp"

namespace weft::server {
namespace {

using Words = std::vector<std::string>;

struct OpeningTest : ::testing::Test {
  static ClusterSpec spec_of(NodeNumber self) {
    ClusterSpec spec;
    spec.self = self;
    spec.nodes = 2;
    spec.key = *mesh::JobKey::from(std::vector<std::byte>(mesh::JobKey::bytes, std::byte{7}));
    spec.transport = "shm";
    return spec;
  }
  ~OpeningTest() override {
    one.stop(nullptr);
    other.stop(nullptr);
  }
  void open_both() {
    ASSERT_TRUE(one.open(spec_of(0)).is_open);
    ASSERT_TRUE(other.open(spec_of(1)).is_open);
    ASSERT_EQ(one.contacts().add(other.contacts().own()), "");
    ASSERT_EQ(other.contacts().add(one.contacts().own()), "");
  }
  void send(Cluster& from, NodeNumber to, RequestType type) {
    from.send(to, type, {}, [this](pmix_status_t status, Bytes) { replies.push_back(status); });
  }
  /// Until the number of replies has come.
  void turn_for(std::size_t number) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (replies.size() < number && std::chrono::steady_clock::now() < limit) {
      one.turn();
      other.turn();
      io.restart();
      io.poll();
    }
    ASSERT_EQ(replies.size(), number);
  }

  asio::io_context io;
  Loop loop{io};
  Cluster one{loop, "first"}, other{loop, "second"};
  std::vector<pmix_status_t> replies;
};

TEST_F(OpeningTest, a_cluster_of_one_reaches_none_and_has_nothing_to_do) {
  EXPECT_FALSE(one.is_open());
  EXPECT_EQ(one.self(), 0u);
  EXPECT_EQ(one.servers().count(), 1u);
  EXPECT_EQ(one.servers().name_of(0), "first");
  EXPECT_TRUE(one.servers().others().empty());
  EXPECT_FALSE(one.servers().is_there(0) || one.servers().is_lost(0) || one.servers().has_left(0));
  EXPECT_FALSE(one.servers().is_there(1) || one.servers().is_lost(1) || one.servers().has_left(1));
  EXPECT_FALSE(one.is_open());
  EXPECT_FALSE(card_key(one, "job"));
  EXPECT_FALSE(one.turn());
  EXPECT_TRUE(pace_of(one).sleep());
  EXPECT_EQ(pace_of(one).deadline(), mesh::TimePoint::max());
  EXPECT_TRUE(one.take_lost().empty());
  pace_of(one).stay_awake();
  pace_of(one).share_cores(3);
  one.say_goodbye();
  one.stop([] { FAIL() << "nothing was exposed"; });
}

TEST_F(OpeningTest, a_request_in_a_cluster_of_one_ends_and_not_within_the_call) {
  send(one, 1, RequestType::event);
  send(one, 0, RequestType::event);
  EXPECT_TRUE(replies.empty());
  turn_for(2);
  EXPECT_EQ(replies, std::vector<pmix_status_t>(2, PMIX_ERR_UNREACH));
}

TEST_F(OpeningTest, handlers_that_were_there_before_hear_requests_as_those_that_come_later_do) {
  Words heard;
  const auto hear = [&](const char* what) {
    return [&heard, what](NodeNumber from, Bytes, const Rpc::Reply& reply) {
      heard.push_back(what + std::to_string(from));
      reply(PMIX_SUCCESS, {});
    };
  };
  one.on(RequestType::event, hear("never"));
  one.on(RequestType::event, hear("before"));
  open_both();
  one.on(RequestType::report, hear("later"));
  send(other, 0, RequestType::event);
  send(other, 0, RequestType::report);
  send(other, 0, RequestType::card);
  turn_for(3);
  EXPECT_EQ(heard, (Words{"before1", "later1"}));
  EXPECT_EQ(replies, (std::vector<pmix_status_t>{PMIX_SUCCESS, PMIX_SUCCESS, PMIX_ERR_NOT_SUPPORTED}));
}

TEST_F(OpeningTest, what_waits_for_the_opening_runs_once_in_its_order) {
  Words ran;
  one.when_open([&] { ran.push_back(one.is_open() && one.servers().count() == 2 ? "first" : "too early"); });
  one.when_open([&] { ran.push_back("second"); });
  EXPECT_TRUE(ran.empty());
  ASSERT_TRUE(one.open(spec_of(0)).is_open);
  EXPECT_EQ(ran, (Words{"first", "second"}));
  one.when_open([&] { ran.push_back("at once"); });
  EXPECT_EQ(ran, (Words{"first", "second", "at once"}));
}

TEST_F(OpeningTest, one_that_cannot_be_opened_is_as_it_was_and_may_be_tried_again) {
  ASSERT_TRUE(other.open(spec_of(1)).is_open);
  auto spec = spec_of(0);
  spec.contacts = {other.contacts().own()};
  spec.contacts.front()[0] ^= std::byte{0x40};  // of another version
  bool has_opened = false;
  one.when_open([&] { has_opened = true; });
  const auto refused = one.open(spec);
  EXPECT_FALSE(refused.is_open);
  EXPECT_NE(refused.note.find("second (node 1)"), std::string::npos) << refused.note;
  EXPECT_FALSE(one.is_open() || has_opened);
  EXPECT_EQ(one.servers().count(), 1u);
  EXPECT_EQ(one.servers().name_of(0), "first");
  EXPECT_TRUE(one.take_lost().empty());
  auto warp = spec_of(0);
  warp.transport = "warp";
  EXPECT_FALSE(one.open(warp).is_open);
  EXPECT_FALSE(one.is_open() || has_opened);
  ASSERT_TRUE(one.open(spec_of(0)).is_open);
  EXPECT_TRUE(has_opened);
}

TEST_F(OpeningTest, its_end_answers_what_is_open_then_frees_what_was_exposed_then_the_endpoint) {
  open_both();
  std::vector<std::byte> memory(4096);
  auto region = one.fabric().endpoint().expose(memory);
  ASSERT_TRUE(region);
  send(one, 1, RequestType::event);
  bool was_answered = false;
  one.stop([&] {
    was_answered = replies == std::vector<pmix_status_t>{PMIX_ERR_UNREACH} && one.is_open();
    region->reset();
  });
  EXPECT_TRUE(was_answered);
  EXPECT_FALSE(one.is_open());
  send(one, 1, RequestType::event);
  turn_for(2);
  EXPECT_EQ(replies.back(), PMIX_ERR_UNREACH);
}

}  // namespace
}  // namespace weft::server
