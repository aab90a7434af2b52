// SPDX-License-Identifier: BSD-3-Clause
#include "core/events/event_cache.hpp"

#include "recorder.hpp"

namespace weft::events {
namespace {

using test::event_of;
using test::flag;
using test::proc;

constexpr auto anything = [](const Event&) { return true; };

TEST(EventCache, keeps_order_and_drops_the_oldest) {
  EventCache cache(2);
  for (const int code : {-1, -2, -3}) cache.add(event_of(code));
  EXPECT_EQ(cache.dropped(), 1U);
  EXPECT_EQ(cache.take(anything)->code, -2);
  EXPECT_EQ(cache.take(anything)->code, -3);
  EXPECT_FALSE(cache.take(anything));
}

TEST(EventCache, takes_the_oldest_that_is_wanted) {
  EventCache cache(8);
  for (const int code : {-1, -2, -3, -2}) cache.add(event_of(code));
  EXPECT_EQ(cache.take([](const Event& e) { return e.code == -2; })->code, -2);
  EXPECT_EQ(cache.take([](const Event& e) { return e.code != -1; })->code, -3);
  EXPECT_EQ(cache.size(), 2U);
}

TEST(EventCache, honours_do_not_cache_and_zero_capacity) {
  EventCache cache(8), none(0);
  Event event = event_of(-1);
  event.infos = flag(PMIX_EVENT_DO_NOT_CACHE);
  cache.add(std::move(event));
  none.add(event_of(-1));
  EXPECT_EQ(cache.size(), 0U);
  EXPECT_EQ(none.size(), 0U);
}

TEST(EventCache, forgets_what_a_namespace_sent_or_suffered) {
  EventCache cache(8);
  cache.add(event_of(-1, "gone"));
  cache.add(event_of(-2, "gone-not"));
  Event about = event_of(-3, "server");
  about.infos.add(PMIX_EVENT_AFFECTED_PROC, data::Value::of_proc(proc("gone", 3)));
  cache.add(std::move(about));
  cache.forget("gone");
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(cache.take(anything)->code, -2);
}

}  // namespace
}  // namespace weft::events
