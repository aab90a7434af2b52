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
    EXPECT_TRUE(rooms->events.subscribe(*ranks[rank]->connection, codes));
  }
  void raise(std::uint32_t rank, pmix_data_range_t range, pmix_status_t which = code) {
    rooms->events.relay(ranks[rank]->connection, 1, event_of(rank, range, which));
  }
  std::size_t count_heard(std::uint32_t rank) {
    std::size_t count = 0;
    while (heard(rank)) ++count;
    return count;
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

TEST_F(EventRelayTest, what_has_come_reaches_later_subscribers_once_and_in_order) {
  raise(0, PMIX_RANGE_LOCAL);
  raise(0, PMIX_RANGE_NAMESPACE, other_code);
  raise(0, PMIX_RANGE_SESSION);
  EXPECT_EQ(ranks[0]->reply_to(1), PMIX_SUCCESS);
  subscribe(1, {other_code});
  EXPECT_EQ(heard(1), other_code);
  EXPECT_FALSE(heard(1));
  subscribe(1, {});  // a default handler: the rest
  EXPECT_EQ(heard(1), code);
  EXPECT_EQ(heard(1), code);
  EXPECT_FALSE(heard(1));
  subscribe(1, {code, other_code});
  EXPECT_FALSE(heard(1)) << "it was sent all of them";
  subscribe(2, {code, code});
  EXPECT_EQ(count_heard(2), 2u);
}

TEST_F(EventRelayTest, a_later_subscriber_hears_what_its_range_and_the_source_allow) {
  auto custom = event_of(0, PMIX_RANGE_CUSTOM);
  custom.infos.add(PMIX_EVENT_CUSTOM_RANGE, data::Value::of_proc(proc(2)));
  rooms->events.relay(ranks[0]->connection, 1, std::move(custom));
  raise(0, PMIX_RANGE_RM);
  auto passing = event_of(0, PMIX_RANGE_LOCAL);
  passing.infos.add(PMIX_EVENT_DO_NOT_CACHE, data::Value::of(true));
  rooms->events.relay(ranks[0]->connection, 1, std::move(passing));
  raise(1, PMIX_RANGE_LOCAL, other_code);
  while (ranks[1]->read()) {
  }
  subscribe(1, {});
  EXPECT_FALSE(heard(1)) << "not in the range, not kept, or its own";
  subscribe(2, {});
  EXPECT_EQ(heard(2), code);
  EXPECT_EQ(heard(2), other_code);
  EXPECT_FALSE(heard(2));
}

TEST_F(EventRelayTest, what_is_kept_is_bounded_and_ends_with_its_namespace) {
  rooms->events.notify({code, link::make_proc("another", 0), PMIX_RANGE_GLOBAL, {}}, [](pmix_status_t) {});
  for (std::size_t i = 0; i < events::RecentBounds().items; ++i)
    rooms->events.notify({other_code, self, PMIX_RANGE_GLOBAL, {}}, [](pmix_status_t) {});
  subscribe(1, {});
  EXPECT_EQ(count_heard(1), events::RecentBounds().items);
  rooms->events.notify({code, link::make_proc("another", 0), PMIX_RANGE_GLOBAL, {}}, [](pmix_status_t) {});
  rooms->events.forget("another");
  subscribe(2, {code});
  EXPECT_FALSE(heard(2));
}

TEST_F(EventRelayTest, an_event_that_is_not_for_default_handlers_reaches_those_that_name_it) {
  subscribe(1, {});
  auto event = event_of(0, PMIX_RANGE_LOCAL);
  event.infos.add(PMIX_EVENT_NON_DEFAULT, data::Value::of(true));
  rooms->events.relay(ranks[0]->connection, 1, std::move(event));
  EXPECT_FALSE(heard(1));
  subscribe(1, {code});
  EXPECT_EQ(heard(1), code);
  subscribe(1, {code});
  EXPECT_FALSE(heard(1));
}

TEST_F(EventRelayTest, what_a_client_wants_no_more_is_not_sent_and_comes_once_when_it_is_wanted_again) {
  auto& connection = *ranks[1]->connection;
  subscribe(1, {code, other_code});
  raise(0, PMIX_RANGE_LOCAL);
  EXPECT_EQ(heard(1), code);
  EXPECT_EQ(rooms->events.unsubscribe(connection, {{code, -1}, false}).codes,
            std::vector<pmix_status_t>{code});
  EXPECT_TRUE(rooms->events.unsubscribe(connection, {{code}, true}).empty()) << "it has left these";
  raise(0, PMIX_RANGE_LOCAL);
  raise(0, PMIX_RANGE_LOCAL, other_code);
  EXPECT_EQ(heard(1), other_code);
  EXPECT_FALSE(heard(1));
  subscribe(1, {code});
  EXPECT_EQ(heard(1), code) << "what came meanwhile";
  EXPECT_FALSE(heard(1)) << "not what it was sent before";
  raise(0, PMIX_RANGE_LOCAL);
  EXPECT_EQ(heard(1), code);
}

TEST_F(EventRelayTest, a_client_without_default_handlers_is_sent_no_more_than_it_names) {
  auto& connection = *ranks[1]->connection;
  subscribe(1, {});
  raise(0, PMIX_RANGE_LOCAL);
  EXPECT_EQ(heard(1), code);
  EXPECT_TRUE(rooms->events.unsubscribe(connection, {{}, true}).all);
  raise(0, PMIX_RANGE_LOCAL, other_code);
  EXPECT_FALSE(heard(1));
  subscribe(1, {code});
  EXPECT_FALSE(heard(1)) << "its default handler was sent that event";
  subscribe(1, {});
  EXPECT_EQ(heard(1), other_code);
  EXPECT_FALSE(heard(1));
}

TEST_F(EventRelayTest, a_client_may_not_name_codes_without_end) {
  std::vector<pmix_status_t> codes(5000);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = -5000 - static_cast<pmix_status_t>(i);
  EXPECT_FALSE(rooms->events.subscribe(*ranks[1]->connection, codes));
  codes.resize(4096);
  EXPECT_TRUE(rooms->events.subscribe(*ranks[1]->connection, codes));
  EXPECT_TRUE(rooms->events.subscribe(*ranks[1]->connection, codes));
  EXPECT_FALSE(rooms->events.subscribe(*ranks[1]->connection, {-1}));
  (void)rooms->events.unsubscribe(*ranks[1]->connection, {{codes.front()}, false});
  EXPECT_TRUE(rooms->events.subscribe(*ranks[1]->connection, {-1}));
}

TEST_F(EventRelayTest, a_range_that_is_none_or_stays_in_its_process_is_refused) {
  subscribe(1, {});
  for (const int range : {8, 99, 255, static_cast<int>(PMIX_RANGE_PROC_LOCAL)}) {
    rooms->events.relay(ranks[0]->connection, 5, event_of(0, static_cast<pmix_data_range_t>(range)));
    EXPECT_EQ(ranks[0]->reply_to(5), PMIX_ERR_BAD_PARAM) << range;
  }
  EXPECT_FALSE(heard(1));
}

TEST_F(EventRelayTest, the_server_adds_when_an_event_came_to_it) {
  subscribe(1, {});
  const auto time_heard = [&]() -> time_t {
    const auto frame = ranks[1]->read();
    const auto event = frame ? link::decode<link::EventMessage>(frame->payload) : fail(Errc::not_found);
    const auto* info = event ? event->infos.find(PMIX_EVENT_TIMESTAMP) : nullptr;
    return info == nullptr ? 0 : info->value.data.time;
  };
  const auto before = std::time(nullptr);
  raise(0, PMIX_RANGE_LOCAL);
  EXPECT_GE(time_heard(), before);
  auto stamped = event_of(0, PMIX_RANGE_LOCAL);
  pmix_value_t then{};
  then.type = PMIX_TIME;
  then.data.time = 42;
  stamped.infos.add(PMIX_EVENT_TIMESTAMP, data::Value::adopt(then));
  rooms->events.relay(ranks[0]->connection, 1, std::move(stamped));
  EXPECT_EQ(time_heard(), 42);
}

TEST_F(EventRelayTest, the_hosts_handlers_hear_what_comes_and_what_it_raises) {
  static std::vector<pmix_status_t> seen;
  seen.clear();
  const auto on_event = [](size_t, pmix_status_t status, const pmix_proc_t*, pmix_info_t*, size_t,
                           pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done, void* open) {
    seen.push_back(status);
    done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, open);
  };
  const pmix_status_t codes[] = {code, other_code};
  const auto id = handlers.add(codes, {}, on_event);
  ASSERT_TRUE(id);
  handlers.activate(*id);
  raise(0, PMIX_RANGE_RM);
  rooms->events.notify({other_code, self, PMIX_RANGE_LOCAL, {}}, [](pmix_status_t) {});
  EXPECT_EQ(seen, (std::vector<pmix_status_t>{code, other_code}));
}

TEST_F(EventRelayTest, a_local_event_of_the_host_or_of_the_system_reaches_the_clients_of_the_node) {
  subscribe(1, {});
  rooms->events.notify({code, self, PMIX_RANGE_LOCAL, {}}, [](pmix_status_t) {});
  EXPECT_EQ(heard(1), code);
  rooms->events.notify({other_code, link::make_proc("", PMIX_RANK_UNDEF), PMIX_RANGE_LOCAL, {}},
                       [](pmix_status_t) {});
  EXPECT_EQ(heard(1), other_code);
  rooms->events.notify({code, link::make_proc("elsewhere", 0), PMIX_RANGE_LOCAL, {}}, [](pmix_status_t) {});
  EXPECT_FALSE(heard(1));
}

TEST_F(EventRelayTest, a_finalized_rank_hears_nothing_more) {
  subscribe(1, {});
  ranks[1]->connection->finalized = true;
  rooms->events.relay(ranks[0]->connection, 1, event_of(0, PMIX_RANGE_LOCAL));
  EXPECT_FALSE(heard(1));
}

TEST_F(EventRelayTest, a_death_is_told_to_default_handlers_once_and_to_others_by_its_codes) {
  subscribe(0, {});
  subscribe(1, {PMIX_ERR_PROC_TERM_WO_SYNC, PMIX_EVENT_PROC_TERMINATED});
  rooms->events.announce_death(proc(2), 0);
  const auto frame = ranks[0]->read();
  ASSERT_TRUE(frame && frame->type == link::MessageType::event);
  const auto event = link::decode<link::EventMessage>(frame->payload);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->code, PMIX_ERR_PROC_ABORTED);
  EXPECT_TRUE(events::covers(event->source, proc(2)));
  const auto* affected = event->infos.find(PMIX_EVENT_AFFECTED_PROC);
  ASSERT_TRUE(affected != nullptr && affected->value.type == PMIX_PROC);
  EXPECT_TRUE(events::covers(*affected->value.data.proc, proc(2)));
  const auto* proxy = event->infos.find(PMIX_EVENT_PROXY);
  ASSERT_TRUE(proxy != nullptr && proxy->value.type == PMIX_PROC);
  EXPECT_TRUE(events::covers(*proxy->value.data.proc, self));
  EXPECT_NE(event->infos.find(PMIX_EVENT_TIMESTAMP), nullptr);
  EXPECT_FALSE(heard(0));
  EXPECT_EQ(heard(1), PMIX_ERR_PROC_TERM_WO_SYNC);
  EXPECT_EQ(heard(1), PMIX_EVENT_PROC_TERMINATED);
  EXPECT_FALSE(heard(1));
}

TEST_F(EventRelayTest, a_host_that_has_a_handler_for_losses_tells_default_handlers_itself) {
  const auto on_event = [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*,
                           size_t, pmix_event_notification_cbfunc_fn_t done,
                           void* open) { done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, open); };
  subscribe(0, {});
  rooms->events.announce_loss(proc(2));
  EXPECT_EQ(heard(0), PMIX_ERR_PROC_ABORTED);
  const auto id = handlers.add({}, {}, on_event);
  ASSERT_TRUE(id);
  handlers.activate(*id);
  subscribe(1, {PMIX_ERR_PROC_ABORTED});
  EXPECT_EQ(heard(1), PMIX_ERR_PROC_ABORTED) << "the loss before";
  rooms->events.announce_loss(proc(2));
  EXPECT_FALSE(heard(0));
  EXPECT_EQ(heard(1), PMIX_ERR_PROC_ABORTED);
}

TEST_F(EventRelayTest, of_a_job_that_ends_with_its_first_process_those_hear_that_name_a_code) {
  data::Infos infos;
  infos.add(PMIX_JOB_RECOVERABLE, data::Value::of(false));
  bool is_new = true;
  ASSERT_TRUE(rooms->jobs.register_job(job(), 3, infos, is_new));
  subscribe(0, {});
  subscribe(1, {PMIX_ERR_PROC_ABORTED});
  rooms->events.announce_death(proc(2), 0);
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
