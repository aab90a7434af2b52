// SPDX-License-Identifier: BSD-3-Clause
// Damaged messages through every decoder. A decoder may not read beyond the bytes (asan looks on), ask for
// much memory, hang, or make something that cannot be sent on.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/fuzz/decoders.hpp"
#include "tests/unit/transport/shm/testing.hpp"

namespace weft::fuzz {

/// In the names of the tests: not its bytes.
static void PrintTo(const Decoder& decoder, std::ostream* out) {
  *out << decoder.name;
}

namespace {

using testing::Random;

class EveryDecoder : public ::testing::TestWithParam<Decoder> {
 protected:
  /// From memory that ends where the bytes end.
  static bool accepts(const Encoded& bytes) {
    const testing::ExactBlock exact(std::max<std::size_t>(bytes.size(), 1));
    std::copy(bytes.begin(), bytes.end(), exact.get());
    return GetParam().accepts({exact.get(), bytes.size()});
  }
  const Encoded& any_sample(Random& random) const {
    return GetParam().samples[random.below(GetParam().samples.size())];
  }
  testing::Watchdog watchdog_{120};
};
INSTANTIATE_TEST_SUITE_P(On, EveryDecoder, ::testing::ValuesIn(all_decoders()),
                         [](const auto& one) { return one.param.name; });

TEST_P(EveryDecoder, accepts_what_is_valid) {
  ASSERT_FALSE(GetParam().samples.empty());
  for (const auto& sample : GetParam().samples) EXPECT_TRUE(accepts(sample));
}

TEST_P(EveryDecoder, refuses_what_is_cut_or_longer) {
  if (GetParam().is_open_ended) return;  // what is cut is another message; survives_splices has it
  for (auto sample : GetParam().samples) {
    for (std::size_t length = 0; length < sample.size(); ++length)
      ASSERT_FALSE(accepts({sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(length)})) << length;
    sample.push_back({});
    EXPECT_FALSE(accepts(sample));
  }
}

TEST_P(EveryDecoder, survives_damage) {
  Random random;
  for (unsigned round = 0; round < testing::rounds(4000); ++round) {
    auto bytes = any_sample(random);
    testing::damage(random, bytes.data(), bytes.size());
    (void)accepts(bytes);
  }
}

/// Parts of two messages, parts left out, parts twice.
TEST_P(EveryDecoder, survives_splices) {
  Random random;
  for (unsigned round = 0; round < testing::rounds(2000); ++round) {
    const auto& head = any_sample(random);
    const auto& tail = any_sample(random);
    Encoded bytes(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(random.below(head.size() + 1)));
    bytes.insert(bytes.end(), tail.begin() + static_cast<std::ptrdiff_t>(random.below(tail.size() + 1)),
                 tail.end());
    (void)accepts(bytes);
  }
}

TEST_P(EveryDecoder, survives_noise) {
  Random random;
  for (unsigned round = 0; round < testing::rounds(4000); ++round) {
    Encoded bytes(random.below(200));
    // Small numbers are often lengths that could be: noise of full bytes ends at the first of them.
    const auto range = random.below(2) == 0 ? 256 : 1 + random.below(8);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random.below(range));
    (void)accepts(bytes);
  }
}

}  // namespace
}  // namespace weft::fuzz
