// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/generations.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace weft::collectives {
namespace {

Signature signature_of(std::uint64_t number) {
  return {number, ~number};
}

TEST(Generations, are_counted_from_one_for_each_signature) {
  Generations generations;
  EXPECT_EQ(generations.begun(signature_of(1)), 0u);
  EXPECT_EQ(generations.next(signature_of(1)), 1u);
  EXPECT_EQ(generations.next(signature_of(1)), 2u);
  EXPECT_EQ(generations.next(signature_of(2)), 1u);
  EXPECT_EQ(generations.begun(signature_of(1)), 2u);
}

TEST(Generations, of_what_is_kept_none_is_forgotten_and_of_the_others_the_latest_are_counted) {
  Generations generations;
  EXPECT_TRUE(generations.keep(signature_of(0)));
  EXPECT_FALSE(generations.keep(signature_of(0)));
  generations.next(signature_of(0));
  for (std::uint64_t i = 1; i <= Generations::most_others; ++i) generations.next(signature_of(i));
  generations.next(signature_of(1));  // the latest again
  generations.next(signature_of(Generations::most_others + 1));
  EXPECT_EQ(generations.size(), Generations::most_others + 1);
  EXPECT_EQ(generations.begun(signature_of(0)), 1u);
  EXPECT_EQ(generations.begun(signature_of(1)), 2u);
  EXPECT_EQ(generations.begun(signature_of(2)), 0u);
  EXPECT_EQ(generations.begun(signature_of(3)), 1u);
}

TEST(Generations, what_is_released_is_the_latest_and_goes_on_when_it_is_kept_again) {
  Generations generations;
  generations.keep(signature_of(0));
  generations.next(signature_of(0));
  generations.release(signature_of(0));
  generations.release(signature_of(77));  // never counted
  EXPECT_EQ(generations.size(), 1u);
  for (std::uint64_t i = 1; i < Generations::most_others; ++i) generations.next(signature_of(i));
  EXPECT_TRUE(generations.keep(signature_of(0)));
  EXPECT_EQ(generations.next(signature_of(0)), 2u);
  generations.release(signature_of(0));
  for (std::uint64_t i = 1; i <= Generations::most_others; ++i) generations.next(signature_of(1000 + i));
  EXPECT_EQ(generations.begun(signature_of(0)), 0u);
  EXPECT_EQ(generations.size(), Generations::most_others);
}

TEST(Generations, a_model_of_all_counts_agrees_wherever_it_is_kept) {
  Generations generations;
  std::map<Signature, Generation> kept;
  std::mt19937 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const auto signature = signature_of(random() % 4000);
    switch (random() % 4) {
      case 0:
        generations.keep(signature);
        kept.emplace(signature, generations.begun(signature));
        break;
      case 1:
        generations.release(signature);
        kept.erase(signature);
        break;
      default: {
        const auto next = generations.next(signature);
        const auto known = kept.find(signature);
        if (known != kept.end()) {
          ASSERT_EQ(next, ++known->second);
        }
      }
    }
    ASSERT_LE(generations.size(), kept.size() + Generations::most_others);
  }
}

}  // namespace
}  // namespace weft::collectives
