// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/names/deadline.hpp"

#include <gtest/gtest.h>

#include "core/data/types/value.hpp"

namespace weft::data {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

/// In seconds; 0: none; -1: refused.
long timeout_in(const Value& value) {
  const auto timeout = timeout_of(value.get());
  if (!timeout) return -1;
  return timeout->has_value() ? static_cast<long>((*timeout)->count()) : 0;
}

TEST(Deadline, seconds_of_any_whole_number_and_zero_is_none) {
  EXPECT_EQ(timeout_in(Value::of(std::uint16_t{5})), 5);
  EXPECT_EQ(timeout_in(Value::of(std::uint64_t{7})), 7);
  EXPECT_EQ(timeout_in(Value::of(std::uint32_t{0})), 0);
}

TEST(Deadline, other_values_are_refused) {
  const auto text = timeout_of(Value::of(std::string_view("soon")).get());
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().code, Errc::type_mismatch);
  pmix_value_t negative{};
  negative.type = PMIX_INT;
  negative.data.integer = -1;
  EXPECT_FALSE(timeout_of(negative).has_value());
}

TEST(Deadline, long_timeouts_end_later_than_short_ones) {
  const auto now = steady_clock::now();
  // Nanoseconds of the first that is not accepted as it is do not fit the clock.
  for (const std::uint64_t long_one : {1'000'000'000ull, 9'300'000'000ull, 10'000'000'000ull, ~0ull}) {
    const auto timeout = timeout_of(Value::of(std::uint64_t{long_one}).get());
    ASSERT_TRUE(timeout.has_value() && timeout->has_value()) << long_one;
    EXPECT_EQ((*timeout)->count(), longest_timeout.count()) << long_one;
    EXPECT_GT(*deadline_after(*timeout), now + std::chrono::hours(24 * 365)) << long_one;
  }
  EXPECT_GT(*deadline_after(seconds::max()), now);
}

TEST(Deadline, none_without_a_timeout) {
  EXPECT_FALSE(deadline_after(Timeout()).has_value());
}

}  // namespace
}  // namespace weft::data
