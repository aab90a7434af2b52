// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mesh/assemblies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/transport/mesh/nodes.hpp"

namespace weft::mesh {
namespace {

const Assemblies::Limits limits{.most_open = 3, .most_bytes = 10'000};

TEST(Assemblies, pieces_in_any_order_of_several_messages) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    Assemblies assemblies;
    struct Part {
      Piece piece;
      std::size_t length;
    };
    std::vector<Part> parts;
    std::vector<std::vector<std::byte>> messages;
    for (std::uint64_t m = 0; m < 3; ++m) {
      messages.push_back(pattern(1 + random() % 3000, static_cast<unsigned>(m)));
      for (std::size_t at = 0; at < messages[m].size();) {
        const auto length = std::min<std::size_t>(1 + random() % 1000, messages[m].size() - at);
        parts.push_back({{m, messages[m].size(), at}, length});
        at += length;
      }
    }
    std::shuffle(parts.begin(), parts.end(), random);
    std::size_t whole = 0;
    for (const auto& part : parts) {
      const auto& message = messages[part.piece.message];
      const auto added =
          assemblies.add(part.piece, Bytes(message).subspan(part.piece.offset, part.length), limits);
      ASSERT_TRUE(added);
      if (added->empty()) continue;
      ++whole;
      EXPECT_EQ(*added, message);
    }
    EXPECT_EQ(whole, 3u);
    EXPECT_TRUE(assemblies.empty());
  }
}

TEST(Assemblies, edges) {
  const auto bytes = pattern(20'000, 1);
  const auto code = [&](Assemblies& to, Piece piece, std::size_t length) {
    const auto added = to.add(piece, Bytes(bytes).first(length), limits);
    return added ? Errc::again : added.error().code;
  };
  Assemblies one;
  EXPECT_EQ(code(one, {1, 10, 0}, 0), Errc::corrupt);
  EXPECT_EQ(code(one, {1, 10, 0}, 11), Errc::corrupt);
  EXPECT_EQ(code(one, {1, 10, 11}, 1), Errc::corrupt);
  EXPECT_EQ(code(one, {1, 10, ~std::uint64_t{0}}, 2), Errc::corrupt);
  EXPECT_EQ(code(one, {1, 10'001, 0}, 1), Errc::no_space);
  EXPECT_TRUE(one.empty());
  EXPECT_EQ(code(one, {1, 10'000, 0}, 1), Errc::again) << "exactly what may be set aside";
  EXPECT_EQ(code(one, {2, 1, 0}, 1), Errc::no_space);
  EXPECT_EQ(code(one, {1, 9'999, 1}, 1), Errc::corrupt) << "another length for the same message";
  EXPECT_EQ(code(one, {1, 10'000, 0}, 10'000), Errc::corrupt) << "more than is missing";
  Assemblies several;
  for (std::uint64_t m = 0; m < 3; ++m) EXPECT_EQ(code(several, {m, 2, 0}, 1), Errc::again);
  EXPECT_EQ(code(several, {3, 2, 0}, 1), Errc::no_space);
  EXPECT_TRUE(several.add({0, 2, 1}, Bytes(bytes).first(1), limits));
  EXPECT_EQ(code(several, {3, 2, 0}, 1), Errc::again) << "room again";
}

}  // namespace
}  // namespace weft::mesh
