// SPDX-License-Identifier: BSD-3-Clause
// Rpc between two servers on a simulated network, in virtual time.
#include "core/server/cluster/rpc.hpp"

#include "core/server/cluster/messages.hpp"
#include "tests/unit/transport/mesh/nodes.hpp"

namespace weft::server {
namespace {

using mesh::Station;

constexpr std::uint16_t message_id = 3;
constexpr std::uint64_t most_early_bytes = 100'000;

std::vector<std::byte> body_of(const std::string& text) {
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

/// One server's requests, and what became of them.
struct End {
  explicit End(Station& at) : station(&at), rpc(*at.mesh, message_id, most_early_bytes) {
    rpc.on(RequestType::card, [this](NodeNumber, Bytes body, const Rpc::Reply& answer) {
      handled.emplace_back(as_text(body));
      if (answers)
        answer(PMIX_SUCCESS, as_bytes("re: " + handled.back()));
      else
        to_answer.push_back(answer);
    });
  }
  void ask(NodeNumber to, const std::string& text, RequestType type = RequestType::card) {
    rpc.send(to, type, body_of(text), [this, text](pmix_status_t status, Bytes body) {
      answered.push_back(text + ": " + std::to_string(status) + " " + std::string(as_text(body)));
    });
  }
  void turn() {
    if (station == nullptr) return;  // its mesh has ended
    for (; told < station->lost.size(); ++told)
      rpc.node_lost(static_cast<NodeNumber>(std::stoul(station->lost[told])));
    rpc.progress();
  }

  Station* station;
  Rpc rpc;
  bool answers = true;
  std::vector<Rpc::Reply> to_answer;
  std::vector<std::string> handled, answered;
  std::size_t told = 0;
};

class RpcTest : public mesh::Nodes {
 protected:
  void open() {
    pair();
    for (auto* station : {a, b}) ends.push_back(std::make_unique<End>(*station));
  }
  bool until(const std::function<bool()>& done) {
    return mesh::Nodes::until([&] {
      for (const auto& end : ends) end->turn();
      return done();
    });
  }
  /// The other end is gone without a word; we notice after a while.
  void lose_b() {
    ASSERT_TRUE(a->mesh->connect(1));  // from now on it is watched
    stations.pop_back();
    at(1).station = b = nullptr;
    for (int i = 0; i < 100 && a->lost.empty(); ++i) pass(std::chrono::milliseconds(500));
    ASSERT_EQ(a->lost.size(), 1u);
  }
  End& at(std::size_t node) { return *ends[node]; }
  void TearDown() override {
    mesh::Nodes::TearDown();
    ends.clear();  // what the meshes were sending lies here
  }

  std::vector<std::unique_ptr<End>> ends;
};

const std::string unreached = ": " + std::to_string(PMIX_ERR_UNREACH) + " ";

TEST_F(RpcTest, a_request_is_replied_to_once) {
  open();
  at(0).ask(1, "who?");
  ASSERT_TRUE(until([&] { return !at(0).answered.empty(); }));
  EXPECT_EQ(at(0).answered, std::vector<std::string>{"who?: 0 re: who?"});
  EXPECT_EQ(at(1).handled, std::vector<std::string>{"who?"});
}

TEST_F(RpcTest, a_type_of_a_later_release_is_not_supported) {
  open();
  at(0).ask(1, "what?", RequestType(999));
  ASSERT_TRUE(until([&] { return !at(0).answered.empty(); }));
  EXPECT_EQ(at(0).answered[0], "what?: " + std::to_string(PMIX_ERR_NOT_SUPPORTED) + " ");
}

class RoughRpcTest : public RpcTest {
 protected:
  Transport& transport() override { return faulty_; }

 private:
  sim::SimTransport sim_{network};
  faulty::FaultyTransport faulty_{sim_, {.seed = 7, .burst_percent = 20, .delay_percent = 40}};
};

TEST_F(RoughRpcTest, letters_are_handled_in_the_order_in_which_they_were_sent) {
  open();
  std::vector<std::string> sent;
  for (int i = 0; i < 300; ++i) at(0).ask(1, sent.emplace_back(std::to_string(i)));
  ASSERT_TRUE(until([&] { return at(0).answered.size() == 300; }));
  EXPECT_EQ(at(1).handled, sent);
}

TEST_F(RpcTest, what_a_node_sent_before_it_was_lost_is_handled) {
  open();
  at(1).ask(0, "last words");
  // It arrives and lies in the inbox while the loss is noticed.
  ASSERT_TRUE(mesh::Nodes::until([&] { return a->mesh->counters().messages_received != 0; }));
  at(0).ask(1, "open");
  lose_b();
  at(0).turn();
  EXPECT_EQ(at(0).handled, std::vector<std::string>{"last words"});
  EXPECT_EQ(at(0).answered, std::vector<std::string>{"open" + unreached});
}

TEST_F(RpcTest, an_answer_that_came_before_the_loss_counts) {
  open();
  at(0).ask(1, "quick");
  ASSERT_TRUE(mesh::Nodes::until([&] {
    at(1).turn();
    return a->mesh->counters().messages_received != 0;
  }));
  lose_b();
  at(0).turn();
  EXPECT_EQ(at(0).answered, std::vector<std::string>{"quick: 0 re: quick"});
}

TEST_F(RpcTest, a_late_answer_to_an_earlier_life_goes_nowhere) {
  open();
  at(0).answers = false;
  at(1).ask(0, "of the first life");
  ASSERT_TRUE(until([&] { return !at(0).to_answer.empty(); }));
  lose_b();
  at(0).turn();
  // It comes back, and its first request has the number of the one that was never answered.
  b = &start(1, 2);
  introduce();
  ends.push_back(std::make_unique<End>(*b));
  ends[2]->ask(0, "of the second life");
  ASSERT_TRUE(until([&] { return at(0).to_answer.size() == 2; }));
  at(0).to_answer[0](PMIX_ERROR, as_bytes("wrong"));
  at(0).to_answer[1](PMIX_SUCCESS, as_bytes("right"));
  ASSERT_TRUE(until([&] { return !ends[2]->answered.empty(); }));
  EXPECT_EQ(ends[2]->answered, std::vector<std::string>{"of the second life: 0 right"});
}

TEST_F(RpcTest, a_node_that_is_lost_or_unknown_is_unreachable_at_once) {
  open();
  at(0).ask(9, "stranger");
  at(0).turn();
  EXPECT_EQ(at(0).answered, std::vector<std::string>{"stranger" + unreached});
  lose_b();
  at(0).ask(1, "too late");
  at(0).turn();
  EXPECT_EQ(at(0).answered.back(), "too late" + unreached);
}

TEST_F(RpcTest, a_request_that_cannot_leave_uses_up_no_number) {
  a = &start(0);
  b = &start(1);
  ASSERT_TRUE(a->mesh->expect(1) && b->mesh->expect(0));
  for (auto* station : {a, b}) ends.push_back(std::make_unique<End>(*station));
  for (const char* text : {"one", "two"}) at(0).ask(1, text);
  at(0).turn();
  EXPECT_EQ(at(0).answered, (std::vector<std::string>{"one" + unreached, "two" + unreached}));
  introduce();
  at(0).ask(1, "three");
  ASSERT_TRUE(until([&] { return at(0).answered.size() == 3; }));
  EXPECT_EQ(at(0).answered.back(), "three: 0 re: three");
}

TEST_F(RpcTest, what_is_too_long_before_its_turn_is_not_kept) {
  open();
  std::deque<mesh::Sending> sendings;
  static const std::vector<std::byte> body(most_early_bytes / 2 + 1);
  const auto request = [&](std::uint64_t number) {
    auto& sending = sendings.emplace_back();
    sending.done = [](mesh::Work&, Result<void>) noexcept {};
    const auto header = base::encode_fixed(
        RpcHeader{.number = number, .type = static_cast<std::uint16_t>(RequestType::card)});
    ASSERT_TRUE(a->mesh->send(1, message_id, header, body, sending));
    ASSERT_TRUE(until([&] { return b->mesh->counters().messages_received == sendings.size(); }));
  };
  for (const std::uint64_t number : {3, 2}) request(number);  // the second of them is too much
  EXPECT_TRUE(at(1).handled.empty());
  request(1);
  ASSERT_TRUE(until([&] { return at(1).handled.size() == 2; }));
  EXPECT_EQ(at(1).rpc.counters().received, 3u);
  mesh::Nodes::TearDown();  // before the sendings
}

TEST_F(RpcTest, at_the_end_no_request_stays_open) {
  open();
  at(1).answers = false;
  at(0).ask(1, "open");
  at(0).rpc.send(1, RequestType::card, body_of("asks again"), [&](pmix_status_t status, Bytes) {
    EXPECT_EQ(status, PMIX_ERR_UNREACH);
    at(0).ask(1, "again");
  });
  ASSERT_TRUE(until([&] { return at(1).handled.size() == 2; }));
  stations.clear();
  for (const auto& end : ends) end->rpc.close();
  EXPECT_EQ(at(0).answered, (std::vector<std::string>{"open" + unreached, "again" + unreached}));
  for (const auto& answer : at(1).to_answer) answer(PMIX_SUCCESS, {});  // its mesh is gone, and it has closed
}

}  // namespace
}  // namespace weft::server
