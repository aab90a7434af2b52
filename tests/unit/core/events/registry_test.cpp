// SPDX-License-Identifier: BSD-3-Clause
// How an event runs through its chain, whichever handler completes, when and on which thread.
#include "core/events/registry.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <optional>
#include <thread>

#include "recorder.hpp"

namespace weft::events {
namespace {

using test::Call;
using test::event_of;
using test::flag;
using test::Log;
using test::proc;
using test::Recorder;

constexpr pmix_status_t code = -5001;
constexpr std::chrono::seconds watchdog{20};

// A value that another thread waits for.
template <class T>
class Slot {
 public:
  void put(T value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
    changed_.notify_all();
  }
  T take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, watchdog, [&] { return value_.has_value(); })) std::abort();
    return *std::exchange(value_, std::nullopt);
  }
  bool empty() {
    const std::lock_guard lock(mutex_);
    return !value_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<T> value_;
};

class RegistryTest : public testing::Test {
 protected:
  void SetUp() override { Recorder::take_log(); }
  Recorder& handler(
      const char* name, Recorder::Behaviour behaviour = [](const Call& c) { c.answer(); }) {
    return handlers_.emplace_back(name, std::move(behaviour));
  }
  Done note() {
    return [this](const End& end) { outcomes_.push_back(end.outcome); };
  }

  std::deque<Recorder> handlers_;
  std::vector<Outcome> outcomes_;
  std::optional<Registry> registry_{std::in_place, Identity{proc("job", 0), nullptr}};
};

using Outcomes = std::vector<Outcome>;

TEST_F(RegistryTest, references_count_from_zero_and_are_not_reused) {
  EXPECT_EQ(handler("a").add_active(*registry_, {code}), 0U);
  EXPECT_TRUE(registry_->remove(0));
  EXPECT_EQ(handler("b").add_active(*registry_, {code}), 1U);
}

TEST_F(RegistryTest, tells_how_an_event_ended) {
  handler("b").add_active(*registry_, {code});
  handler("a", [](const Call& c) {
    c.answer(c.code == code ? PMIX_SUCCESS : PMIX_EVENT_ACTION_COMPLETE);
  }).add_active(*registry_, {code, -5002});
  registry_->deliver(event_of(code), note());
  registry_->deliver(event_of(-5002), note());
  registry_->deliver(event_of(-5003), note());
  EXPECT_EQ(outcomes_, (Outcomes{Outcome::finished, Outcome::ended_by_handler, Outcome::no_handler}));
}

TEST_F(RegistryTest, action_complete_ends_the_chain) {
  handler("default").add_active(*registry_, {});
  handler("stop", [](const Call& c) { c.answer(PMIX_EVENT_ACTION_COMPLETE); }).add_active(*registry_, {code});
  registry_->deliver(event_of(code));
  EXPECT_EQ(Recorder::take_log(), (Log{"stop"}));
}

TEST_F(RegistryTest, handlers_get_the_event_and_their_object) {
  bool seen = false;
  handler("named", [&](const Call& c) {
    EXPECT_EQ(c.code, code);
    EXPECT_STREQ(c.source.nspace, "job");
    EXPECT_EQ(c.source.rank, 3U);
    ASSERT_EQ(c.ninfos, 3U);
    EXPECT_STREQ(c.infos[0].key, "my.info");
    EXPECT_STREQ(c.infos[0].value.data.string, "hello");
    EXPECT_STREQ(c.infos[1].key, PMIX_EVENT_HDLR_NAME);
    EXPECT_STREQ(c.infos[1].value.data.string, "named");
    EXPECT_EQ(c.infos[2].value.type, PMIX_POINTER);
    EXPECT_EQ(c.results, nullptr);
    EXPECT_EQ(c.nresults, 0U);
    seen = true;
    c.answer();
  }).add_active(*registry_, {code});
  Event event = event_of(code, "job", 3);
  event.infos = test::text("my.info", "hello");
  registry_->deliver(std::move(event));
  EXPECT_TRUE(seen);
}

TEST_F(RegistryTest, an_event_cannot_bring_what_only_the_library_says) {
  bool seen = false;
  int foreign = 0;
  handler("named", [&](const Call& c) {
    ASSERT_EQ(c.ninfos, 3U);
    EXPECT_STREQ(c.infos[0].key, "my.info");
    EXPECT_STREQ(c.infos[1].key, PMIX_EVENT_HDLR_NAME);
    EXPECT_STREQ(c.infos[1].value.data.string, "named");
    EXPECT_STREQ(c.infos[2].key, PMIX_EVENT_RETURN_OBJECT);
    EXPECT_NE(c.infos[2].value.data.ptr, &foreign);
    seen = true;
    c.answer();
  }).add_active(*registry_, {code});
  Event event = event_of(code);
  event.infos.add(PMIX_EVENT_RETURN_OBJECT, test::pointer_value(&foreign));
  event.infos.add(PMIX_EVENT_HDLR_NAME, data::Value::of("another"));
  event.infos.add(server_attribute, data::Value::of_rank(0));
  event.infos.add("my.info", data::Value::of("hello"));
  registry_->deliver(std::move(event));
  EXPECT_TRUE(seen);
}

TEST_F(RegistryTest, a_handler_is_told_which_server_raised_the_event) {
  std::optional<pmix_rank_t> said;
  handler("named", [&](const Call& c) {
    for (std::size_t i = 0; i < c.ninfos; ++i)
      if (c.infos[i].key == std::string_view(server_attribute)) said = c.infos[i].value.data.rank;
    c.answer();
  }).add_active(*registry_, {code});
  Event event = event_of(code);
  event.server = 4;
  event.infos.add(server_attribute, data::Value::of_rank(0));
  registry_->deliver(std::move(event));
  EXPECT_EQ(said, 4U);
}

TEST_F(RegistryTest, plain_handlers_get_null_for_nothing) {
  static bool seen;
  seen = false;
  const auto plain = [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t* infos, size_t ninfos,
                        pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t completion, void* cookie) {
    EXPECT_EQ(infos, nullptr);
    EXPECT_EQ(ninfos, 0U);
    seen = true;
    completion(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cookie);
  };
  const auto id = registry_->add({}, {}, plain);
  ASSERT_TRUE(id);
  registry_->activate(*id);
  registry_->deliver(event_of(code));
  EXPECT_TRUE(seen);
}

TEST_F(RegistryTest, results_travel_down_the_chain) {
  int released = 0;
  handler("second", [&](const Call& c) {
    ASSERT_EQ(c.nresults, 2U);
    EXPECT_STREQ(c.results[0].key, "first");
    EXPECT_EQ(c.results[0].value.type, PMIX_STATUS);
    EXPECT_EQ(c.results[0].value.data.status, PMIX_EVENT_PARTIAL_ACTION_TAKEN);
    EXPECT_STREQ(c.results[1].key, "my.result");
    EXPECT_STREQ(c.results[1].value.data.string, "text");
    EXPECT_EQ(released, 1) << "the first handler's array is free again";
    c.answer();
  }).add_active(*registry_, {code});
  handler("first", [&](const Call& c) {
    data::Infos results = test::text("my.result", "text");
    c.completion(
        PMIX_EVENT_PARTIAL_ACTION_TAKEN, results.data(), results.size(),
        [](pmix_status_t status, void* count) {
          EXPECT_EQ(status, PMIX_SUCCESS);
          ++*static_cast<int*>(count);
        },
        &released, c.cookie);
  }).add_active(*registry_, {code});
  registry_->deliver(event_of(code));
  EXPECT_EQ(Recorder::take_log(), (Log{"first", "second"}));
}

TEST_F(RegistryTest, a_late_answer_from_another_thread_continues_there) {
  Slot<Call> parked;
  Slot<std::thread::id> second_ran_on;
  handler("second", [&](const Call& c) {
    second_ran_on.put(std::this_thread::get_id());
    c.answer();
  }).add_active(*registry_, {code});
  handler("first", [&](const Call& c) { parked.put(c); }).add_active(*registry_, {code});
  registry_->deliver(event_of(code), note());
  EXPECT_TRUE(second_ran_on.empty());
  EXPECT_TRUE(outcomes_.empty());
  EXPECT_EQ(registry_->counters().open_chains, 1U);
  std::thread other([&] { parked.take().answer(); });
  const auto other_id = other.get_id();
  other.join();
  EXPECT_EQ(second_ran_on.take(), other_id);
  EXPECT_EQ(outcomes_, (Outcomes{Outcome::finished}));
  EXPECT_EQ(registry_->counters().open_chains, 0U);
}

TEST_F(RegistryTest, a_late_answer_continues_where_the_role_says) {
  std::vector<std::function<void()>> tasks;
  registry_->run_later_by([&](std::function<void()> task) { tasks.push_back(std::move(task)); });
  std::vector<Call> parked;
  for (const auto* name : {"third", "second", "first"})
    handler(name, [&](const Call& c) { parked.push_back(c); }).add_active(*registry_, {code});
  registry_->deliver(event_of(code), note());
  std::thread([&] { parked.at(0).answer(); }).join();
  EXPECT_EQ(Recorder::take_log(), (Log{"first"}));
  ASSERT_EQ(tasks.size(), 1U);
  std::exchange(tasks, {}).front()();
  EXPECT_EQ(Recorder::take_log(), (Log{"second"}));
  std::thread([&] { parked.at(1).answer(PMIX_EVENT_ACTION_COMPLETE); }).join();
  EXPECT_TRUE(outcomes_.empty()) << "the end belongs to that thread, too";
  ASSERT_EQ(tasks.size(), 1U);
  tasks.front()();
  EXPECT_EQ(outcomes_, (Outcomes{Outcome::ended_by_handler}));
}

TEST_F(RegistryTest, a_task_that_never_runs_leaves_the_chain_to_the_end_of_the_registry) {
  std::vector<std::function<void()>> tasks;
  registry_->run_later_by([&](std::function<void()> task) { tasks.push_back(std::move(task)); });
  std::vector<Call> parked;
  handler("second").add_active(*registry_, {code});
  handler("first", [&](const Call& c) { parked.push_back(c); }).add_active(*registry_, {code});
  registry_->deliver(event_of(code), note());
  registry_->deliver(event_of(code), note());
  parked.at(0).answer();
  ASSERT_EQ(tasks.size(), 1U);
  registry_.reset();
  EXPECT_EQ(outcomes_, (Outcomes{Outcome::closed, Outcome::closed}));
  parked.at(1).answer();
  EXPECT_EQ(tasks.size(), 1U) << "what ran them may be gone";
  tasks.front()();
  EXPECT_EQ(Recorder::take_log(), (Log{"first", "first"}));
  EXPECT_EQ(outcomes_.size(), 2U);
}

TEST_F(RegistryTest, an_answer_from_another_thread_during_the_call_waits_for_the_return) {
  bool returned = false;
  handler("second", [&](const Call& c) {
    EXPECT_TRUE(returned);
    c.answer();
  }).add_active(*registry_, {code});
  handler("first", [&](const Call& c) {
    std::thread([&] { c.answer(); }).join();
    returned = true;
  }).add_active(*registry_, {code});
  registry_->deliver(event_of(code), note());
  EXPECT_EQ(outcomes_, (Outcomes{Outcome::finished}));
}

TEST_F(RegistryTest, a_parked_event_delays_no_other) {
  std::vector<Call> parked;
  handler("h", [&](const Call& c) { parked.push_back(c); }).add_active(*registry_, {code});
  for (int i = 0; i < 3; ++i) registry_->deliver(event_of(code, "job", static_cast<pmix_rank_t>(i)), note());
  ASSERT_EQ(parked.size(), 3U);
  EXPECT_EQ(registry_->counters().open_chains, 3U);
  for (const auto& call : {parked[2], parked[0], parked[1]}) call.answer();
  EXPECT_EQ(outcomes_.size(), 3U);
}

TEST_F(RegistryTest, a_second_completion_is_ignored) {
  std::optional<Call> first;
  handler("third", [&](const Call& c) {
    first->answer(PMIX_EVENT_ACTION_COMPLETE);  // long over
    c.answer();
  }).add_active(*registry_, {});
  handler("second", [&](const Call& c) {
    EXPECT_EQ(c.nresults, 1U);
    c.answer();
    c.answer(PMIX_EVENT_ACTION_COMPLETE);
  }).add_active(*registry_, {code, -5002});
  handler("first", [&](const Call& c) {
    first = c;
    c.answer();
    c.answer();
  }).add_active(*registry_, {code});
  registry_->deliver(event_of(code), note());
  EXPECT_EQ(Recorder::take_log(), (Log{"first", "second", "third"}));
  EXPECT_EQ(outcomes_, (Outcomes{Outcome::finished}));
}

TEST_F(RegistryTest, a_long_chain_needs_no_stack) {
  constexpr int length = 2'000;  // a frame for each would be far more than the bound below
  std::uintptr_t lowest = UINTPTR_MAX, highest = 0;
  Recorder& counter = handler("h", [&](const Call& c) {
    const auto here = reinterpret_cast<std::uintptr_t>(&c);
    lowest = std::min(lowest, here);
    highest = std::max(highest, here);
    c.answer();
  });
  for (int i = 0; i < length; ++i) {
    data::Infos infos = flag(PMIX_EVENT_HDLR_APPEND);
    infos.add(PMIX_EVENT_RETURN_OBJECT, test::pointer_value(&counter));
    const pmix_status_t codes[] = {code};
    const auto id = registry_->add(codes, {infos.data(), infos.size()}, &Recorder::on_event);
    ASSERT_TRUE(id);
    registry_->activate(*id);
  }
  registry_->deliver(event_of(code), note());
  EXPECT_EQ(Recorder::take_log().size(), static_cast<std::size_t>(length));
  EXPECT_LT(highest - lowest, 4096U);
}

TEST_F(RegistryTest, cached_events_reach_every_later_handler_in_order_and_once) {
  for (const pmix_rank_t rank : {5U, 6U, 7U}) registry_->deliver(event_of(code, "job", rank), note());
  registry_->deliver(event_of(-9, "job", 8), note());
  EXPECT_EQ(registry_->counters().cached, 4U);
  std::vector<pmix_rank_t> ranks;
  Recorder& late = handler("late", [&](const Call& c) {
    ranks.push_back(c.source.rank);
    c.answer();
  });
  const auto id = late.add(*registry_, {code});
  ASSERT_TRUE(id);
  EXPECT_TRUE(ranks.empty()) << "nothing before the registration was confirmed";
  EXPECT_TRUE(registry_->activate(*id));
  EXPECT_FALSE(registry_->activate(*id));
  EXPECT_TRUE(ranks.empty()) << "the caller's thread runs no handler";
  registry_->catch_up(*id);
  registry_->catch_up(*id);
  EXPECT_EQ(ranks, (std::vector<pmix_rank_t>{5, 6, 7}));
  EXPECT_EQ(registry_->counters().cached, 4U);
  handler("later").add_active(*registry_, {code});
  EXPECT_EQ(Recorder::take_log(), (Log{"late", "late", "late", "later", "later", "later"}));
}

TEST_F(RegistryTest, what_a_live_handler_had_reaches_a_later_one_unless_it_was_completed) {
  handler("declines", [](const Call& c) {
    c.answer(PMIX_EVENT_NO_ACTION_TAKEN);
  }).add_active(*registry_, {code, -5002});
  const auto completes = handler("completes", [](const Call& c) {
                           c.answer(PMIX_EVENT_ACTION_COMPLETE);
                         }).add_active(*registry_, {-5002});
  registry_->deliver(event_of(code));
  registry_->deliver(event_of(-5002));
  EXPECT_EQ(Recorder::take_log(), (Log{"declines", "completes"}));
  EXPECT_TRUE(registry_->remove(completes));
  handler("late").add_active(*registry_, {code, -5002});
  EXPECT_EQ(Recorder::take_log(), (Log{"late"})) << "an event with PMIX_EVENT_ACTION_COMPLETE has ended";
}

TEST_F(RegistryTest, what_comes_while_a_handler_catches_up_follows_and_nothing_twice) {
  for (const pmix_rank_t rank : {1U, 2U}) registry_->deliver(event_of(code, "job", rank));
  std::vector<pmix_rank_t> ranks;
  handler("late", [&](const Call& c) {
    ranks.push_back(c.source.rank);
    if (c.source.rank == 1) {
      registry_->deliver(event_of(code, "job", 3), note());
      Event passing = event_of(code, "job", 4);
      passing.infos = flag(PMIX_EVENT_DO_NOT_CACHE);
      registry_->deliver(std::move(passing), note());
    }
    c.answer();
  }).add_active(*registry_, {code});
  EXPECT_EQ(ranks, (std::vector<pmix_rank_t>{1, 2, 3, 4}));
  EXPECT_EQ(outcomes_, (Outcomes{Outcome::finished, Outcome::finished}));
  registry_->deliver(event_of(code, "job", 5));
  EXPECT_EQ(ranks.back(), 5U);
  EXPECT_EQ(ranks.size(), 5U);
}

TEST_F(RegistryTest, a_handler_that_removes_itself_while_it_catches_up_hears_no_more) {
  for (int i = 0; i < 3; ++i) registry_->deliver(event_of(code));
  std::size_t calls = 0;
  Recorder& late = handler("late", [&](const Call& c) {
    ++calls;
    EXPECT_TRUE(registry_->remove(c.id));
    c.answer();
  });
  const auto id = late.add(*registry_, {code});
  ASSERT_TRUE(id);
  EXPECT_TRUE(registry_->activate(*id));
  registry_->catch_up(*id);
  registry_->deliver(event_of(code));
  EXPECT_EQ(calls, 1U);
}

TEST_F(RegistryTest, a_handler_that_is_removed_before_it_has_caught_up_hears_nothing) {
  registry_->deliver(event_of(code));
  std::size_t calls = 0;
  Recorder& late = handler("late", [&](const Call& c) {
    ++calls;
    c.answer();
  });
  const auto id = late.add(*registry_, {code});
  ASSERT_TRUE(id);
  EXPECT_TRUE(registry_->activate(*id));
  registry_->deliver(event_of(code));
  EXPECT_TRUE(registry_->remove(*id));
  registry_->catch_up(*id);
  registry_->deliver(event_of(code));
  EXPECT_EQ(calls, 0U);
}

TEST_F(RegistryTest, an_inactive_handler_sees_nothing) {
  ASSERT_TRUE(handler("h").add(*registry_, {code}));
  registry_->deliver(event_of(code), note());
  EXPECT_EQ(outcomes_, (Outcomes{Outcome::no_handler}));
  EXPECT_EQ(registry_->counters().cached, 1U);
}

TEST_F(RegistryTest, forgets_a_namespace_and_bounds_its_cache) {
  registry_.emplace(Identity{proc("job", 0), nullptr}, RecentBounds{3, 1u << 20});
  registry_->deliver(event_of(code, "gone"));
  registry_->deliver(event_of(code, "job"));
  registry_->forget_namespace("gone");
  EXPECT_EQ(registry_->counters().cached, 1U);
  for (int i = 0; i < 5; ++i) registry_->deliver(event_of(code));
  EXPECT_EQ(registry_->counters().cached, 3U);
  EXPECT_EQ(registry_->counters().dropped, 3U);
}

TEST_F(RegistryTest, a_one_shot_runs_once) {
  for (int i = 0; i < 2; ++i) registry_->deliver(event_of(code));
  handler("once").add_active(*registry_, {code}, flag(PMIX_EVENT_ONESHOT));
  EXPECT_EQ(registry_->counters().handlers, 0U);
  registry_->deliver(event_of(code));
  EXPECT_EQ(Recorder::take_log(), (Log{"once"}));
}

TEST_F(RegistryTest, each_handler_that_goes_is_told_once) {
  std::vector<std::size_t> gone;
  registry_->on_removed([&](std::size_t id) { gone.push_back(id); });
  const auto first = handler("first").add_active(*registry_, {code});
  const auto once = handler("once").add_active(*registry_, {code - 1, code - 2}, flag(PMIX_EVENT_ONESHOT));
  EXPECT_TRUE(registry_->names(code) && registry_->names(code - 2));
  registry_->deliver(event_of(code));
  EXPECT_TRUE(gone.empty());
  for (int i = 0; i < 2; ++i) registry_->deliver(event_of(code - 1));
  EXPECT_EQ(gone, std::vector{once});
  EXPECT_FALSE(registry_->names(code - 2));
  for (int i = 0; i < 2; ++i) (void)registry_->remove(first);
  EXPECT_EQ(gone, (std::vector{once, first}));
  EXPECT_FALSE(registry_->names(code));
}

TEST_F(RegistryTest, removal_of_an_unknown_reference_is_an_error) {
  EXPECT_EQ(registry_->remove(0).error().code, Errc::invalid);
  const auto id = handler("h").add_active(*registry_, {code});
  bool drained = false;
  EXPECT_TRUE(registry_->remove(id, [&] { drained = true; }));
  EXPECT_TRUE(drained);
  EXPECT_EQ(registry_->remove(id).error().code, Errc::invalid);
  registry_->deliver(event_of(code));
  EXPECT_EQ(Recorder::take_log(), Log{});
}

TEST_F(RegistryTest, a_handler_may_remove_itself_and_others_on_the_way) {
  std::size_t self = 0, next = 0;
  bool drained = false;
  next = handler("next").add_active(*registry_, {code});
  self = handler("self", [&](const Call& c) {
           EXPECT_TRUE(registry_->remove(self, [&] { drained = true; }));
           EXPECT_TRUE(drained) << "waiting for itself would be for ever";
           EXPECT_TRUE(registry_->remove(next));
           c.answer();
         }).add_active(*registry_, {code});
  handler("end").add_active(*registry_, {});
  registry_->deliver(event_of(code), note());
  EXPECT_EQ(Recorder::take_log(), (Log{"self", "end"}));
  EXPECT_EQ(outcomes_, (Outcomes{Outcome::finished}));
}

TEST_F(RegistryTest, removal_is_reported_when_the_other_thread_has_left_the_handler) {
  Slot<bool> entered, leave;
  Slot<std::thread::id> drained;
  const auto id = handler("slow", [&](const Call& c) {
                    c.answer();
                    entered.put(true);
                    leave.take();
                  }).add_active(*registry_, {code});
  std::thread deliverer([&] { registry_->deliver(event_of(code)); });
  entered.take();
  EXPECT_TRUE(registry_->remove(id, [&] { drained.put(std::this_thread::get_id()); }));
  EXPECT_TRUE(drained.empty());
  leave.put(true);
  EXPECT_EQ(drained.take(), deliverer.get_id());
  deliverer.join();
}

TEST_F(RegistryTest, closing_ends_open_chains_and_late_answers_are_harmless) {
  std::optional<Call> parked;
  handler("never").add_active(*registry_, {});
  handler("parked", [&](const Call& c) { parked = c; }).add_active(*registry_, {code});
  registry_->deliver(event_of(code), note());
  registry_.reset();
  EXPECT_EQ(outcomes_, (Outcomes{Outcome::closed}));
  parked->answer();
  EXPECT_EQ(outcomes_.size(), 1U);
  EXPECT_EQ(Recorder::take_log(), (Log{"parked"}));
}

TEST_F(RegistryTest, a_handler_may_deliver_and_register) {
  handler("outer", [&](const Call& c) {
    handler("inner").add_active(*registry_, {-5002});
    registry_->deliver(event_of(-5002), note());
    c.answer();
  }).add_active(*registry_, {code});
  registry_->deliver(event_of(code), note());
  EXPECT_EQ(Recorder::take_log(), (Log{"outer", "inner"}));
  EXPECT_EQ(outcomes_.size(), 2U);
}

// Deliveries, answers from elsewhere, registrations and removals at the same time; for the sanitizers above
// all.
TEST_F(RegistryTest, many_threads_lose_nothing) {
  constexpr int deliverers = 3, events_each = 400;
  std::mutex mutex;
  std::vector<Call> parked;
  std::atomic<int> ended{0}, answered{0};
  handler("direct").add_active(*registry_, {code});
  handler("parking", [&](const Call& c) {
    const std::lock_guard lock(mutex);
    parked.push_back(c);
  }).add_active(*registry_, {});
  Recorder& passing = handler("passing");

  std::vector<std::thread> threads;
  for (int t = 0; t < deliverers; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < events_each; ++i) registry_->deliver(event_of(code), [&](const End&) { ++ended; });
    });
  }
  threads.emplace_back([&] {
    while (answered < deliverers * events_each) {
      std::vector<Call> batch;
      {
        const std::lock_guard lock(mutex);
        batch.swap(parked);
      }
      for (const auto& call : batch) call.answer();
      answered += static_cast<int>(batch.size());
      if (batch.empty()) std::this_thread::yield();
    }
  });
  threads.emplace_back([&] {
    for (int i = 0; i < 200; ++i) {
      const auto id = passing.add_active(*registry_, {code});
      EXPECT_TRUE(registry_->remove(id));
    }
  });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ended, deliverers * events_each);
  EXPECT_EQ(registry_->counters().open_chains, 0U);
  EXPECT_EQ(registry_->counters().handlers, 2U);
}

}  // namespace
}  // namespace weft::events
