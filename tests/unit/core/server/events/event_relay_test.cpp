// SPDX-License-Identifier: BSD-3-Clause
// Events between the clients of a node, and those of the host.
#include "core/server/events/event_relay.hpp"

#include "core/events/range.hpp"
#include "core/server/events/event_wire.hpp"
#include "tests/unit/core/server/clients/one_node.hpp"

namespace weft::server {
namespace {

constexpr pmix_status_t code = -4001, other_code = -4002;

class EventRelayTest : public OneNode {
 protected:
  void SetUp() override {
    OneNode::SetUp();
    for (std::uint32_t rank = 0; rank < 3; ++rank) ranks.push_back(&enter(rank));
  }
  static events::Event event_of(std::uint32_t rank, pmix_data_range_t range, pmix_status_t which = code) {
    return {which, proc(rank), range, {}};
  }
  void subscribe(std::uint32_t rank, const std::vector<pmix_status_t>& codes) {
    EventRelay::subscribe(*ranks[rank]->connection, codes);
  }
  /// The code of the event that the rank's process gets next; nothing: none.
  std::optional<pmix_status_t> heard(std::uint32_t rank) {
    const auto frame = ranks[rank]->read();
    if (!frame || frame->type != link::MessageType::event) return std::nullopt;
    const auto event = link::decode<link::EventMessage>(frame->payload);
    return event ? std::optional(event->code) : std::nullopt;
  }
  std::vector<Line*> ranks;
};

TEST_F(EventRelayTest, subscribers_hear_and_the_source_is_replied_to) {
  subscribe(0, {code});
  subscribe(1, {code, other_code});
  rooms->events.relay(ranks[0]->connection, 3, event_of(0, PMIX_RANGE_LOCAL));
  EXPECT_EQ(ranks[0]->reply_to(3), PMIX_SUCCESS);
  EXPECT_FALSE(ranks[0]->read());  // its library delivers its own events
  EXPECT_EQ(heard(1), code);
  EXPECT_FALSE(heard(2));
}

TEST_F(EventRelayTest, no_code_means_all) {
  subscribe(2, {});
  rooms->events.relay(ranks[0]->connection, 1, event_of(0, PMIX_RANGE_NAMESPACE, other_code));
  EXPECT_EQ(heard(2), other_code);
  EXPECT_FALSE(heard(1));
}

TEST_F(EventRelayTest, the_source_is_the_client_that_raised_it) {
  subscribe(1, {});
  for (const auto& claimed : {proc(2), link::make_proc("server", 0), pmix_proc_t{}}) {
    auto event = event_of(0, PMIX_RANGE_NAMESPACE);
    event.source = claimed;
    rooms->events.relay(ranks[0]->connection, 1, std::move(event));
    const auto frame = ranks[1]->read();
    ASSERT_TRUE(frame && frame->type == link::MessageType::event);
    const auto heard = link::decode<link::EventMessage>(frame->payload);
    ASSERT_TRUE(heard);
    EXPECT_TRUE(events::covers(heard->source, proc(0)));
  }
}

TEST_F(EventRelayTest, a_range_leaves_others_out) {
  for (std::uint32_t rank = 0; rank < 3; ++rank) subscribe(rank, {});
  rooms->events.relay(ranks[0]->connection, 1, event_of(0, PMIX_RANGE_PROC_LOCAL));
  rooms->events.relay(ranks[0]->connection, 2, event_of(0, PMIX_RANGE_RM));
  EXPECT_FALSE(heard(1));
  auto custom = event_of(0, PMIX_RANGE_CUSTOM);
  custom.infos.add(PMIX_EVENT_CUSTOM_RANGE, data::Value::of_proc(proc(2)));
  rooms->events.relay(ranks[0]->connection, 3, std::move(custom));
  EXPECT_FALSE(heard(1));
  EXPECT_EQ(heard(2), code);
}

TEST_F(EventRelayTest, a_finalized_rank_hears_nothing_more) {
  subscribe(1, {});
  ranks[1]->connection->finalized = true;
  rooms->events.relay(ranks[0]->connection, 1, event_of(0, PMIX_RANGE_LOCAL));
  EXPECT_FALSE(heard(1));
}

TEST_F(EventRelayTest, a_death_is_told_to_those_that_named_it) {
  subscribe(0, {});  // all, and so not this: the host is about to say what becomes of the job
  subscribe(1, {PMIX_ERR_PROC_ABORTED});
  rooms->events.announce_death(proc(2));
  EXPECT_FALSE(heard(0));
  EXPECT_EQ(heard(1), PMIX_ERR_PROC_ABORTED);
}

TEST_F(EventRelayTest, the_host_reaches_clients_and_servers) {
  subscribe(1, {code});
  pmix_status_t status = PMIX_ERROR;
  rooms->events.notify(event_of(0, PMIX_RANGE_LOCAL), [&](pmix_status_t ended) { status = ended; });
  EXPECT_EQ(status, PMIX_SUCCESS);
  EXPECT_EQ(heard(1), code);

  auto to_a_server = event_of(0, PMIX_RANGE_CUSTOM);
  to_a_server.infos.add(PMIX_EVENT_CUSTOM_RANGE, data::Value::of_proc(link::make_proc("server", 4)));
  rooms->events.notify(std::move(to_a_server), [&](pmix_status_t ended) { status = ended; });
  EXPECT_EQ(status, PMIX_ERR_UNREACH);  // there is no such server
  EXPECT_FALSE(heard(1));
}

TEST(EventWire, events_go_there_and_back) {
  events::Event event{code, link::make_proc("job", 5), PMIX_RANGE_GLOBAL, {}};
  event.infos.add("key", data::Value::of("text"));
  const auto bytes = encoded(event);
  const auto back = decoded_event(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->code, code);
  EXPECT_EQ(back->source.rank, 5u);
  EXPECT_EQ(back->range, PMIX_RANGE_GLOBAL);
  ASSERT_NE(back->infos.find("key"), nullptr);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decoded_event(Bytes(bytes).first(length))) << length;
}

}  // namespace
}  // namespace weft::server
