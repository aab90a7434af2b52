// SPDX-License-Identifier: BSD-3-Clause
#include "core/events/event_cache.hpp"

#include <ctime>

#include "recorder.hpp"

namespace weft::events {
namespace {

using test::event_of;
using test::flag;
using test::proc;

using Codes = std::vector<pmix_status_t>;

EventRef held(Event event) {
  return std::make_shared<const Event>(std::move(event));
}
Codes codes_in(const EventCache& cache) {
  Codes codes;
  cache.each([&](std::uint64_t, const EventRef& event) { codes.push_back(event->code); });
  return codes;
}

TEST(EventCache, keeps_order_and_drops_the_oldest) {
  EventCache cache({2, 1u << 20});
  for (const int code : {-1, -2, -3}) cache.add(held(event_of(code)));
  EXPECT_EQ(cache.dropped(), 1U);
  EXPECT_EQ(codes_in(cache), (Codes{-2, -3}));
}

TEST(EventCache, erases_by_number_and_once) {
  EventCache cache;
  std::vector<std::uint64_t> numbers;
  for (const int code : {-1, -2, -3}) numbers.push_back(cache.add(held(event_of(code))));
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1, 2, 3}));
  cache.erase(2);
  cache.erase(2);
  cache.erase(0);
  cache.erase(4);
  EXPECT_EQ(codes_in(cache), (Codes{-1, -3}));
}

TEST(EventCache, is_bounded_in_bytes_by_what_the_infos_hold) {
  const std::string text(1000, 'x');
  Event large = event_of(-9);
  large.infos = test::text("key", std::string(4000, 'x'));
  EventCache cache({100, 4000});
  EXPECT_EQ(cache.add(held(std::move(large))), 0U) << "alone beyond the bound";
  for (const int code : {-1, -2, -3, -4, -5}) {
    Event event = event_of(code);
    event.infos = test::text("key", text);
    cache.add(held(std::move(event)));
  }
  EXPECT_LT(cache.size(), 4U);
  EXPECT_EQ(codes_in(cache).back(), -5);
  EXPECT_EQ(cache.dropped(), 5U - cache.size());
  Event counted = event_of(-6);
  counted.wire_bytes = 4000;
  EXPECT_EQ(cache.add(held(std::move(counted))), 0U) << "the message's own size counts";
}

TEST(EventCache, honours_do_not_cache_and_zero_capacity) {
  EventCache cache, none({0, 1000});
  Event event = event_of(-1);
  event.infos = flag(PMIX_EVENT_DO_NOT_CACHE);
  EXPECT_EQ(cache.add(held(std::move(event))), 0U);
  EXPECT_EQ(none.add(held(event_of(-1))), 0U);
  EXPECT_EQ(cache.size(), 0U);
  EXPECT_EQ(none.size(), 0U);
}

TEST(Event, gets_a_timestamp_unless_it_has_one) {
  Event event = event_of(-1);
  const auto before = std::time(nullptr);
  stamp(event);
  ASSERT_EQ(event.infos.size(), 1U);
  const auto& value = event.infos.find(PMIX_EVENT_TIMESTAMP)->value;
  EXPECT_EQ(value.type, PMIX_TIME);
  EXPECT_GE(value.data.time, before);
  event.infos.data()[0].value.data.time = 7;
  stamp(event);
  ASSERT_EQ(event.infos.size(), 1U);
  EXPECT_EQ(event.infos.data()[0].value.data.time, 7);
}

TEST(EventCache, forgets_what_a_namespace_sent_or_suffered) {
  EventCache cache;
  cache.add(held(event_of(-1, "gone")));
  cache.add(held(event_of(-2, "gone-not")));
  Event about = event_of(-3, "server");
  about.infos.add(PMIX_EVENT_AFFECTED_PROC, data::Value::of_proc(proc("gone", 3)));
  cache.add(held(std::move(about)));
  cache.forget("gone");
  EXPECT_EQ(codes_in(cache), (Codes{-2}));
}

Event declaration_of(const char* model) {
  Event event = event_of(PMIX_MODEL_DECLARED);
  event.range = PMIX_RANGE_PROC_LOCAL;
  event.infos = test::text(PMIX_PROGRAMMING_MODEL, model);
  return event;
}

TEST(EventCache, a_declaration_is_neither_pushed_out_nor_erased) {
  EventCache cache({2, 1u << 20});
  EXPECT_EQ(cache.add(held(declaration_of("MPI"))), 0U) << "no number to erase it by";
  for (const int code : {-1, -2, -3}) cache.add(held(event_of(code)));
  for (std::uint64_t number = 0; number < 4; ++number) cache.erase(number);
  EXPECT_EQ(codes_in(cache), (Codes{PMIX_MODEL_DECLARED}));
  Event of_another = declaration_of("MPI");
  of_another.range = PMIX_RANGE_LOCAL;
  EXPECT_NE(cache.add(held(std::move(of_another))), 0U) << "another process's, an event like others";
}

TEST(EventCache, declarations_are_bounded) {
  EventCache cache;
  for (int i = 0; i < 100; ++i) cache.add(held(declaration_of("MPI")));
  EXPECT_EQ(cache.size(), 64U);
  EXPECT_EQ(cache.dropped(), 36U);
}

}  // namespace
}  // namespace weft::events
