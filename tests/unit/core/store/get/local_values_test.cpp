// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/get/local_values.hpp"

#include <thread>

#include "tests/unit/core/store/segment/jobs.hpp"

namespace weft::store {
namespace {

TEST(LocalValues, keeps_the_newest_of_each_owner) {
  LocalValues values;
  EXPECT_TRUE(values.empty());
  EXPECT_EQ(words(values.find("ns", 0, "key")), not_found());
  ASSERT_TRUE(values.store("ns", 0, "key", Value::of("one").get()));
  ASSERT_TRUE(values.store("ns", 0, "key", Value::of("two").get()));
  ASSERT_TRUE(values.store("ns", 1, "key", Value::of(std::uint32_t{7}).get()));
  EXPECT_FALSE(values.empty());
  EXPECT_EQ(words(values.find("ns", 0, "key")), "s two");
  EXPECT_EQ(words(values.find("ns", 1, "key")), "u32 7");
  EXPECT_EQ(words(values.find("other", 0, "key")), not_found());
  EXPECT_EQ(words(values.find("ns", 0, "other")), not_found());
}

TEST(LocalValues, collects_in_order_and_keeps_what_is_there) {
  LocalValues values;
  for (const auto* key : {"b", "a", "c"}) ASSERT_TRUE(values.store("ns", 0, key, Value::of(key).get()));
  data::Infos out;
  out.add("b", Value::of("mine"));
  values.collect("ns", 0, out);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_STREQ(out.data()[0].value.data.string, "mine");
  EXPECT_STREQ(out.data()[1].key, "a");
  EXPECT_STREQ(out.data()[2].key, "c");
}

TEST(LocalValues, from_many_threads) {
  testing::Watchdog watchdog;
  LocalValues values;
  std::atomic<unsigned> faults{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < testing::rounds(5000); ++i) {
        if (!values.store("ns", t, "key", Value::of(i).get())) ++faults;
        if (words(values.find("ns", t, "key")) != "u32 " + std::to_string(i)) ++faults;
        (void)values.find("ns", (t + 1) % 4, "key");
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(faults.load(), 0u);
}

}  // namespace
}  // namespace weft::store
