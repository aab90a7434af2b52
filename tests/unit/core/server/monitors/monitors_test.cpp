// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/monitors/monitors.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "core/server/events/event_wire.hpp"
#include "tests/unit/core/server/clients/one_node.hpp"

namespace weft::server {
namespace {

using std::chrono::seconds;
using Kind = MonitorOrder::Kind;

/// A call of PMIx_Process_monitor.
struct Asked {
  link::Monitor message;
  explicit Asked(const char* kind, data::Value value = data::Value::of(true)) {
    message.monitor.add(kind, std::move(value));
  }
  template <class Of>
  Asked&& with(const char* key, Of value) && {
    message.directives.add(key, data::Value::of(value));
    return std::move(*this);
  }
};

Asked heartbeat(std::uint32_t time, std::uint32_t drops) {
  return Asked(PMIX_MONITOR_HEARTBEAT)
      .with(PMIX_MONITOR_HEARTBEAT_TIME, time)
      .with(PMIX_MONITOR_HEARTBEAT_DROPS, drops);
}

pmix_status_t status_of(Asked asked) {
  MonitorOrder order;
  return MonitorOrder::read(asked.message, order);
}

MonitorOrder order_of(Asked asked) {
  MonitorOrder order;
  EXPECT_EQ(MonitorOrder::read(asked.message, order), PMIX_SUCCESS);
  return order;
}

TEST(MonitorOrder, is_read_from_the_attributes) {
  const auto beats = order_of(heartbeat(7, 3).with(PMIX_MONITOR_ID, "mine"));
  EXPECT_EQ(beats.kind, Kind::heartbeat);
  EXPECT_EQ(beats.time, seconds(7));
  EXPECT_EQ(beats.drops, 3u);
  EXPECT_EQ(beats.id, "mine");
  EXPECT_EQ(beats.code, PMIX_MONITOR_HEARTBEAT_ALERT);
  EXPECT_EQ(beats.range, PMIX_RANGE_NAMESPACE);
  const auto file = order_of(Asked(PMIX_MONITOR_FILE, data::Value::of("/a/file")));
  EXPECT_EQ(file.path, "/a/file");
  EXPECT_EQ(file.time, MonitorOrder::default_time);
  EXPECT_EQ(file.code, PMIX_MONITOR_FILE_ALERT);
  EXPECT_TRUE(file.watches_size && file.watches_access && file.watches_modify);
  const auto sized =
      order_of(Asked(PMIX_MONITOR_FILE, data::Value::of("/a/file")).with(PMIX_MONITOR_FILE_SIZE, true));
  EXPECT_TRUE(sized.watches_size && !sized.watches_access && !sized.watches_modify);
  EXPECT_EQ(order_of(Asked(PMIX_MONITOR_CANCEL, data::Value::of("mine"))).id, "mine");
  EXPECT_EQ(order_of(Asked(PMIX_MONITOR_CANCEL, data::Value())).id, "");
}

TEST(MonitorOrder, refuses_what_makes_no_sense) {
  EXPECT_EQ(status_of(heartbeat(0, 0)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status_of(Asked(PMIX_MONITOR_HEARTBEAT).with(PMIX_MONITOR_HEARTBEAT_TIME, "soon")),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status_of(Asked(PMIX_MONITOR_HEARTBEAT).with(PMIX_MONITOR_HEARTBEAT_TIME, UINT64_MAX)),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status_of(heartbeat(1, 0).with(PMIX_MONITOR_ID, std::uint32_t{7})), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status_of(heartbeat(1, 0).with(PMIX_RANGE, true)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status_of(Asked(PMIX_MONITOR_FILE)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status_of(Asked(PMIX_MONITOR_FILE, data::Value::of("a/file"))), PMIX_ERR_BAD_PARAM);
  const std::string path = "/" + std::string(MonitorOrder::most_text, 'a');
  EXPECT_EQ(status_of(Asked(PMIX_MONITOR_FILE, data::Value::of(path))), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status_of(Asked(PMIX_MONITOR_CANCEL, data::Value::of(std::uint32_t{1}))), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status_of(Asked(PMIX_MONITOR_PROC_RESOURCE_USAGE)), PMIX_ERR_NOT_SUPPORTED);
  link::Monitor none;
  MonitorOrder order;
  EXPECT_EQ(MonitorOrder::read(none, order), PMIX_ERR_BAD_PARAM);
}

TEST(Misses, tell_once_until_the_next_sign) {
  Misses misses(2);
  EXPECT_FALSE(misses.miss());
  EXPECT_FALSE(misses.miss());
  EXPECT_TRUE(misses.miss());
  EXPECT_FALSE(misses.miss());
  misses.take_sign();
  EXPECT_FALSE(misses.miss());
  misses.take_sign();
  EXPECT_FALSE(misses.miss());
  EXPECT_FALSE(misses.miss());
  EXPECT_TRUE(misses.miss());
}

TEST(FileState, sees_growth_and_times_by_what_is_watched) {
  const auto path = std::filesystem::temp_directory_path() / ("monitored." + std::to_string(::getpid()));
  MonitorOrder size, modify;
  size.watches_size = modify.watches_modify = true;
  const auto none = FileState::of(path);
  EXPECT_FALSE(none.is_sign_since(none, size));
  std::ofstream(path) << "some";
  const auto some = FileState::of(path);
  EXPECT_TRUE(some.is_sign_since(none, size));
  EXPECT_TRUE(some.is_sign_since(none, modify));
  const timespec times[2] = {{1, 0}, {1, 0}};
  EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  const auto touched = FileState::of(path);
  EXPECT_TRUE(touched.is_sign_since(some, modify));
  EXPECT_FALSE(touched.is_sign_since(some, size));
  std::ofstream(path, std::ios::trunc) << "";
  EXPECT_FALSE(FileState::of(path).is_sign_since(some, size)) << "it has not grown";
  std::filesystem::remove(path);
  EXPECT_FALSE(FileState::of(path).is_sign_since(some, modify)) << "it is not there";
}

/// In a time that the test moves.
class MonitorsTest : public OneNode {
 protected:
  void SetUp() override {
    OneNode::SetUp();
    monitors = std::make_unique<Monitors>(clock, rooms->events);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      ranks.push_back(&enter(rank));
      EXPECT_TRUE(rooms->events.subscribe(*ranks[rank]->connection, {PMIX_MONITOR_HEARTBEAT_ALERT}));
    }
  }
  void TearDown() override {
    monitors.reset();
    OneNode::TearDown();
  }
  pmix_status_t ask(std::uint32_t rank, const Asked& asked) {
    monitors->monitor({ranks[rank]->connection, 5}, asked.message);
    const auto frame = ranks[rank]->read();
    const auto answer = frame ? link::decode<link::Answer>(frame->payload) : fail(Errc::not_found);
    return answer ? answer->status : PMIX_ERROR;
  }
  void pass(seconds time) {
    now += time;
    clock.run_due();
  }
  /// The process that the next event at this rank is about; nothing: none has come.
  std::optional<pmix_rank_t> heard(std::uint32_t rank) {
    const auto frame = ranks[rank]->read();
    if (!frame || frame->type != link::MessageType::event) return std::nullopt;
    const auto event = decoded_event(frame->payload);
    if (!event || event->code != PMIX_MONITOR_HEARTBEAT_ALERT) return std::nullopt;
    const auto* affected = event->infos.find(PMIX_EVENT_AFFECTED_PROC);
    return affected != nullptr ? std::optional(affected->value.data.proc->rank) : std::nullopt;
  }

  Loop::TimePoint now{};
  Loop clock{io, &now};
  std::unique_ptr<Monitors> monitors;
  std::vector<Line*> ranks;
};

TEST_F(MonitorsTest, tell_the_namespace_when_more_heartbeats_are_missed_than_may_be) {
  EXPECT_EQ(ask(0, heartbeat(10, 1)), PMIX_SUCCESS);
  pass(seconds(10));
  EXPECT_FALSE(heard(0)) << "one may be missed";
  pass(seconds(9));
  EXPECT_FALSE(heard(0));
  pass(seconds(1));
  EXPECT_EQ(heard(0), 0u);
  EXPECT_EQ(heard(1), 0u);
  pass(seconds(10));
  pass(seconds(10));
  EXPECT_FALSE(heard(1)) << "once until the next heartbeat";
}

TEST_F(MonitorsTest, a_heartbeat_begins_the_time_anew) {
  EXPECT_EQ(ask(0, heartbeat(10, 0)), PMIX_SUCCESS);
  for (int i = 0; i < 5; ++i) {
    pass(seconds(9));
    EXPECT_EQ(ask(0, Asked(PMIX_SEND_HEARTBEAT)), PMIX_SUCCESS);
  }
  EXPECT_EQ(ask(1, Asked(PMIX_SEND_HEARTBEAT)), PMIX_SUCCESS) << "of a process without a monitor";
  pass(seconds(9));
  EXPECT_FALSE(heard(1));
  pass(seconds(1));
  EXPECT_EQ(heard(1), 0u);
  EXPECT_EQ(heard(0), 0u);
  EXPECT_EQ(ask(0, Asked(PMIX_SEND_HEARTBEAT)), PMIX_SUCCESS);
  pass(seconds(10));
  EXPECT_EQ(heard(1), 0u) << "and the next silence is told of";
}

TEST_F(MonitorsTest, end_when_they_are_canceled_and_with_their_process) {
  EXPECT_EQ(ask(0, heartbeat(10, 0).with(PMIX_MONITOR_ID, "one")), PMIX_SUCCESS);
  EXPECT_EQ(ask(0, heartbeat(10, 0).with(PMIX_MONITOR_ID, "two")), PMIX_SUCCESS);
  EXPECT_EQ(ask(1, heartbeat(10, 0).with(PMIX_MONITOR_ID, "one")), PMIX_SUCCESS);
  const auto cancel = [](const char* id) { return Asked(PMIX_MONITOR_CANCEL, data::Value::of(id)); };
  EXPECT_EQ(ask(0, cancel("three")), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(ask(0, cancel("one")), PMIX_SUCCESS);
  EXPECT_EQ(monitors->count(), 2u);
  EXPECT_EQ(ask(0, Asked(PMIX_MONITOR_CANCEL, data::Value())), PMIX_SUCCESS);
  EXPECT_EQ(monitors->count(), 1u) << "the other process's stays";
  monitors->closed(ranks[1]->connection);
  EXPECT_EQ(monitors->count(), 0u);
  pass(seconds(10));
  EXPECT_FALSE(heard(0));
}

TEST_F(MonitorsTest, a_process_has_so_many) {
  for (std::size_t i = 0; i < Monitors::most_of_a_process; ++i)
    ASSERT_EQ(ask(0, heartbeat(10, 0)), PMIX_SUCCESS);
  EXPECT_EQ(ask(0, heartbeat(10, 0)), PMIX_ERR_OUT_OF_RESOURCE);
  EXPECT_EQ(ask(1, heartbeat(10, 0)), PMIX_SUCCESS);
}

TEST_F(MonitorsTest, a_file_is_not_shown_to_another_user) {
  ranks[0]->connection->uid = ::geteuid() + 1;
  EXPECT_EQ(ask(0, Asked(PMIX_MONITOR_FILE, data::Value::of("/etc/hostname"))), PMIX_ERR_NO_PERMISSIONS);
}

}  // namespace
}  // namespace weft::server
