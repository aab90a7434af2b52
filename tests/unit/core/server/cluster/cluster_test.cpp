// SPDX-License-Identifier: BSD-3-Clause
// Whole servers of one session in one process, over a real fabric: contacts, events from server to server, a
// lost one.
#include "core/server/cluster/cluster.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <future>
#include <mutex>

#include "base/fd.hpp"
#include "core/server/connections/connection.hpp"
#include "core/server/server.hpp"

namespace weft::server {
namespace {

using namespace std::string_literals;

constexpr pmix_status_t ours = PMIX_EXTERNAL_ERR_BASE - 1;
constexpr std::chrono::seconds watchdog{30};

/// What handlers of one server heard; events of `ours` carry a number and a text.
struct Heard {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> events;
  bool answers_late = false;
  std::vector<std::pair<pmix_event_notification_cbfunc_fn_t, void*>> to_answer;

  void wait_for(std::size_t number) {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, watchdog, [&] { return events.size() >= number; })) << events.size();
  }
  std::vector<std::string> so_far() {
    const std::lock_guard lock(mutex);
    return events;
  }
  static void handler(std::size_t, pmix_status_t code, const pmix_proc_t* source, pmix_info_t* infos,
                      std::size_t count, pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done,
                      void* open) {
    Heard* self = nullptr;
    std::string text = std::to_string(code) + " of " + std::to_string(source->rank);
    for (std::size_t i = 0; i < count; ++i) {
      if (infos[i].key == std::string_view(PMIX_EVENT_RETURN_OBJECT))
        self = static_cast<Heard*>(infos[i].value.data.ptr);
      if (infos[i].key == std::string_view("text")) text += ": " + std::string(infos[i].value.data.string);
    }
    const std::lock_guard lock(self->mutex);
    self->events.push_back(text);
    if (self->answers_late)
      self->to_answer.emplace_back(done, open);
    else
      done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, open);
    self->changed.notify_all();
  }
};

struct Node {
  Heard heard;
  Server::Owned server;

  Result<void> start(const mesh::JobKey& key, NodeNumber self, std::uint32_t nodes,
                     const std::vector<std::vector<std::byte>>& contacts = {}) {
    data::Infos infos;
    infos.add(PMIX_SERVER_NSPACE, data::Value::of("session"));
    infos.add(PMIX_SERVER_RANK, data::Value::of_rank(self));
    infos.add(PMIX_NUM_NODES, data::Value::of(nodes));
    infos.add(PMIX_HOSTNAME, data::Value::of(std::string_view("host" + std::to_string(self))));
    infos.add("weft.key", data::Value::of_bytes({reinterpret_cast<const std::byte*>(key.data()), 32}));
    for (const auto& contact : contacts) infos.add("weft.contact", data::Value::of_bytes(contact));
    auto started = Server::start(nullptr, infos.data(), infos.size());
    if (!started) return fail(started.error());
    server = std::move(*started);
    data::Infos how;
    pmix_info_t object{};
    std::strncpy(object.key, PMIX_EVENT_RETURN_OBJECT, PMIX_MAX_KEYLEN);
    object.value.type = PMIX_POINTER;
    object.value.data.ptr = &heard;
    pmix_status_t codes[] = {ours, PMIX_EVENT_NODE_DOWN};
    const auto id = server->events().add(codes, {&object, 1}, &Heard::handler);
    if (!id) return fail(id.error());
    server->events().activate(*id);
    return {};
  }
  std::vector<std::byte> contact() {
    std::promise<std::vector<std::byte>> promise;
    server->launch().collect_inventory([&](pmix_status_t, data::Infos infos) {
      const auto* info = infos.find("weft.contact");
      const auto* first = reinterpret_cast<const std::byte*>(info->value.data.bo.bytes);
      promise.set_value({first, first + info->value.data.bo.size});
    });
    return promise.get_future().get();
  }
  pmix_status_t deliver(const std::vector<std::byte>& contact) {
    data::Infos infos;
    infos.add("weft.contact", data::Value::of_bytes(contact));
    std::promise<pmix_status_t> promise;
    server->launch().deliver_inventory(std::move(infos),
                                       [&](pmix_status_t status) { promise.set_value(status); });
    return promise.get_future().get();
  }
  std::future<pmix_status_t> notify(const std::vector<std::uint32_t>& to, const std::string& text) {
    auto* procs = static_cast<pmix_proc_t*>(std::calloc(to.size(), sizeof(pmix_proc_t)));
    for (std::size_t i = 0; i < to.size(); ++i) procs[i] = link::make_proc("session", to[i]);
    pmix_value_t range{};
    range.type = PMIX_DATA_ARRAY;
    range.data.darray = static_cast<pmix_data_array_t*>(std::calloc(1, sizeof(pmix_data_array_t)));
    *range.data.darray = {PMIX_PROC, to.size(), procs};
    events::Event event{ours, server->self(), PMIX_RANGE_CUSTOM, {}};
    event.infos.add(PMIX_EVENT_CUSTOM_RANGE, data::Value::adopt(range));
    event.infos.add("text", data::Value::of(std::string_view(text)));
    auto promise = std::make_shared<std::promise<pmix_status_t>>();
    auto answered = promise->get_future();
    server->notify(std::move(event), [promise](pmix_status_t status) { promise->set_value(status); });
    return answered;
  }
};

/// What goes to standard error meanwhile; a server's lines are written by a thread.
class StandardError {
 public:
  StandardError() : was_(::dup(STDERR_FILENO)) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    read_ = base::Fd(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
  }
  ~StandardError() { ::dup2(was_.get(), STDERR_FILENO); }
  /// The next line with that in it; those of an earlier test may come before.
  std::string line_with(std::string_view part) const {
    std::string line;
    pollfd waits{read_.get(), POLLIN, 0};
    for (char c = 0; ::poll(&waits, 1, 30'000) == 1 && ::read(read_.get(), &c, 1) == 1; line += c) {
      if (c != '\n') continue;
      if (line.find(part) != std::string::npos) return line;
      line.clear();
      c = ' ';
    }
    return line;
  }

 private:
  base::Fd was_, read_;
};

pmix_status_t result_of(std::future<pmix_status_t>& answered) {
  if (answered.wait_for(watchdog) != std::future_status::ready) return PMIX_ERR_TIMEOUT;
  return answered.get();
}

class ServerNodes : public ::testing::Test {
 protected:
  ServerNodes() { ::setenv("WEFT_TRANSPORT", "shm", 1); }
  ~ServerNodes() override { ::unsetenv("WEFT_TRANSPORT"); }

  /// Each knows all, as after a launch message.
  template <std::size_t n>
  void meet(Node (&nodes)[n]) {
    const auto key = mesh::JobKey::random();
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto started = nodes[i].start(key, i, n);
      ASSERT_TRUE(started) << started.error().what;
    }
    for (auto& one : nodes)
      for (auto& other : nodes) ASSERT_EQ(one.deliver(other.contact()), PMIX_SUCCESS);
  }
};

TEST_F(ServerNodes, events_go_to_the_servers_they_name) {
  Node nodes[3];
  meet(nodes);
  auto to_one = nodes[0].notify({1}, "for one");
  auto to_all = nodes[0].notify({PMIX_RANK_WILDCARD}, "for all");
  EXPECT_EQ(result_of(to_one), PMIX_SUCCESS);
  EXPECT_EQ(result_of(to_all), PMIX_SUCCESS);
  const auto code = std::to_string(ours);
  EXPECT_EQ(nodes[0].heard.so_far(), std::vector<std::string>{code + " of 0: for all"});
  EXPECT_EQ(nodes[1].heard.so_far(),
            (std::vector<std::string>{code + " of 0: for one", code + " of 0: for all"}));
  EXPECT_EQ(nodes[2].heard.so_far(), std::vector<std::string>{code + " of 0: for all"});
}

TEST_F(ServerNodes, a_daemon_whose_contact_is_not_known_yet_reports_and_is_answered_when_it_is) {
  const auto key = mesh::JobKey::random();
  Node launcher, daemon;
  ASSERT_TRUE(launcher.start(key, 0, 2));
  ASSERT_TRUE(daemon.start(key, 1, 2, {launcher.contact()}));
  auto reported = daemon.notify({0}, "hello");
  launcher.heard.wait_for(1);
  auto too_early = launcher.notify({1}, "do you hear me?");
  EXPECT_EQ(launcher.deliver(daemon.contact()), PMIX_SUCCESS);
  EXPECT_EQ(result_of(reported), PMIX_SUCCESS);
  const auto early = result_of(too_early);
  EXPECT_TRUE(early == PMIX_SUCCESS || early == PMIX_ERR_UNREACH) << early;
  auto now = launcher.notify({1}, "and now?");
  EXPECT_EQ(result_of(now), PMIX_SUCCESS);
}

TEST_F(ServerNodes, order_is_kept_and_large_bodies_arrive_whole) {
  Node nodes[2];
  meet(nodes);
  std::vector<std::future<pmix_status_t>> answers;
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    // Every tenth is cut into pieces on its way, and those behind it are not.
    const std::string text = std::to_string(i) + std::string(i % 10 == 0 ? 300'000 : 3, '.');
    expected.push_back(std::to_string(ours) + " of 0: " + text);
    answers.push_back(nodes[0].notify({1}, text));
  }
  for (auto& answer : answers) ASSERT_EQ(result_of(answer), PMIX_SUCCESS);
  EXPECT_EQ(nodes[1].heard.so_far(), expected);
}

TEST_F(ServerNodes, the_sender_is_answered_when_the_handler_has_answered) {
  Node nodes[2];
  meet(nodes);
  nodes[1].heard.answers_late = true;
  auto answered = nodes[0].notify({1}, "slowly");
  nodes[1].heard.wait_for(1);
  EXPECT_EQ(answered.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  const auto [done, open] = nodes[1].heard.to_answer.at(0);
  done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, open);
  EXPECT_EQ(result_of(answered), PMIX_SUCCESS);
}

TEST_F(ServerNodes, a_number_that_the_cluster_does_not_have_is_not_reached) {
  Node nodes[2];
  meet(nodes);
  auto unknown = nodes[0].notify({7}, "hello?");
  EXPECT_EQ(result_of(unknown), PMIX_ERR_UNREACH);
}

TEST_F(ServerNodes, one_that_says_goodbye_is_not_lost_and_what_is_asked_of_it_then_fails) {
  Node nodes[2];
  meet(nodes);
  auto before = nodes[1].notify({0}, "I am here");
  EXPECT_EQ(result_of(before), PMIX_SUCCESS);
  nodes[1].server.reset();
  auto after = nodes[0].notify({1}, "are you still there?");
  EXPECT_EQ(result_of(after), PMIX_ERR_UNREACH);
  EXPECT_EQ(nodes[0].heard.so_far().size(), 1u);
}

TEST_F(ServerNodes, damaged_contacts_are_refused) {
  const auto key = mesh::JobKey::random();
  Node one, other;
  ASSERT_TRUE(one.start(key, 0, 2));
  ASSERT_TRUE(other.start(key, 1, 2));
  const auto good = other.contact();
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_EQ(one.deliver({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)}),
              PMIX_ERR_BAD_PARAM);
  auto stranger = good;
  stranger[2] = std::byte{9};  // a number that the session does not have
  EXPECT_EQ(one.deliver(stranger), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(one.deliver(good), PMIX_SUCCESS);
}

/// As of a server of another release: the version, and whatever that release has behind number and name.
std::vector<std::byte> of_another_version(std::vector<std::byte> contact) {
  contact[0] ^= std::byte{0x40};
  contact.resize(contact.size() - 7, std::byte{9});
  return contact;
}

TEST_F(ServerNodes, one_of_another_version_is_refused_by_name_and_counts_as_lost) {
  const auto key = mesh::JobKey::random();
  Node one, other;
  ASSERT_TRUE(one.start(key, 0, 2));
  ASSERT_TRUE(other.start(key, 1, 2));
  StandardError error;
  const auto refused = one.deliver(of_another_version(other.contact()));
  const auto said = error.line_with("host1 (node 1)");
  EXPECT_EQ(refused, PMIX_ERR_BAD_PARAM);
  const auto here = std::to_string(mesh::protocol_version),
             theirs = std::to_string(mesh::protocol_version ^ 0x40);
  for (const auto& part :
       {"host1 (node 1)"s, "version " + theirs, "host0"s, "version " + here, "from one release"s})
    EXPECT_NE(said.find(part), std::string::npos) << part << " in: " << said;
  one.heard.wait_for(1);
  EXPECT_EQ(one.heard.so_far(), std::vector<std::string>{std::to_string(PMIX_EVENT_NODE_DOWN) + " of 1"});
  auto answered = one.notify({1}, "anybody?");
  EXPECT_EQ(result_of(answered), PMIX_ERR_UNREACH);
  // It was started again, from the right release.
  EXPECT_EQ(one.deliver(other.contact()), PMIX_SUCCESS);
  EXPECT_EQ(other.deliver(one.contact()), PMIX_SUCCESS);
  auto heard = one.notify({1}, "and now?");
  EXPECT_EQ(result_of(heard), PMIX_SUCCESS);
}

TEST_F(ServerNodes, one_that_is_reached_stays_whatever_is_brought_in_its_name) {
  Node nodes[2];
  meet(nodes);
  EXPECT_EQ(nodes[0].deliver(of_another_version(nodes[1].contact())), PMIX_ERR_BAD_PARAM);
  auto heard = nodes[0].notify({1}, "still there?");
  EXPECT_EQ(result_of(heard), PMIX_SUCCESS);
}

TEST_F(ServerNodes, a_server_whose_first_contact_is_of_another_version_does_not_start) {
  const auto key = mesh::JobKey::random();
  Node launcher, daemon;
  ASSERT_TRUE(launcher.start(key, 0, 2));
  StandardError error;
  const auto started = daemon.start(key, 1, 2, {of_another_version(launcher.contact())});
  const auto said = error.line_with("host0 (node 0)");
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::unreachable);
  EXPECT_NE(said.find("host0 (node 0)"), std::string::npos) << said;
}

TEST_F(ServerNodes, without_a_transport_there_is_no_server) {
  ::setenv("WEFT_TRANSPORT", "warp", 1);
  Node one;
  const auto started = one.start(mesh::JobKey::random(), 0, 2);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::unreachable);
}

}  // namespace
}  // namespace weft::server
