// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the message ring have in common: a ring in memory of an exact size, and messages that
// know themselves.
#pragma once

#include <algorithm>
#include <new>
#include <vector>

#include "tests/unit/transport/shm/testing.hpp"
#include "transport/shm/endpoint/message_ring.hpp"

namespace weft::shm {

/// Message `number`: its bytes follow from its number and its length.
struct Numbered {
  std::vector<std::byte> bytes;
  std::size_t header = 0;
  std::uint16_t id = 0;

  Numbered(std::uint64_t number, std::size_t length) : bytes(length) {
    std::uint64_t state = number * 0x9e3779b97f4a7c15u + length;
    for (auto& b : bytes) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      b = static_cast<std::byte>(state >> 56);
    }
    header = length == 0 ? 0 : static_cast<std::size_t>(number % (length + 1));
    id = static_cast<std::uint16_t>(number);
  }
  Message message() const { return {Bytes(bytes).first(header), Bytes(bytes).subspan(header)}; }
  bool is(std::uint16_t got_id, const Message& got) const {
    const auto same = [](Bytes a, Bytes b) {
      return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
    };
    const auto mine = message();
    return got_id == id && same(got.header, mine.header) && same(got.payload, mine.payload);
  }
};

/// Lengths from nothing to the largest, so that messages meet the ring's end in every way.
inline std::size_t length_of(std::uint64_t number, std::uint64_t capacity) {
  const auto mixed = (number * 0x9e3779b97f4a7c15u) >> 33;
  return mixed % 8 == 0 ? mixed % (capacity / 4 + 1) : mixed % std::min<std::uint64_t>(64, capacity / 4);
}

struct Ring {
  explicit Ring(std::uint64_t bytes)
      : capacity(bytes), block(RingHeader::footprint(bytes)), header(*::new (block.get()) RingHeader) {}
  std::uint64_t capacity;
  testing::ExactBlock block;
  RingHeader& header;
  RingWriter writer{header, capacity};
  RingReader reader{header, capacity};
  std::vector<std::byte> into = std::vector<std::byte>(capacity / 4);
  std::byte* data() { return block.get() + sizeof(RingHeader); }
};

}  // namespace weft::shm
