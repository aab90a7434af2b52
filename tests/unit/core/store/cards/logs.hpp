// SPDX-License-Identifier: BSD-3-Clause
// Logs for tests: in memory of an exact size, with the words that a writer stores in reach, and records that
// check themselves.
#pragma once

#include <string>
#include <vector>

#include "core/store/cards/keyed_log.hpp"
#include "tests/unit/transport/shm/testing.hpp"

namespace weft::store {

inline constexpr KeyOwner rank0{Realm::rank, 0};

inline Bytes bytes_of(std::string_view text) {
  return as_bytes(text);
}

/// In one piece, or with `first` bytes of data in a first one: two blocks then, far from each other.
struct ExactLog {
  explicit ExactLog(std::uint64_t capacity, std::uint32_t buckets = 8)
      : ExactLog(capacity, buckets, capacity) {}
  ExactLog(std::uint64_t capacity, std::uint32_t buckets, std::uint64_t first)
      : block(KeyedLog::footprint(first, buckets)),
        rest(capacity - first),
        log(block.get(), first, buckets, rest.get(), capacity),
        buckets_(buckets) {}

  Result<void> put(std::string_view key, std::string_view value, KeyOwner owner = rank0) {
    return log.append({owner, 1, key, bytes_of(value)});
  }
  /// The value's text, or "-" and the error's number.
  std::string get(std::string_view key, KeyOwner owner = rank0) const {
    const auto found = log.find(owner, key, hash_key(key));
    return found ? std::string(as_text(found->value))
                 : "-" + std::to_string(static_cast<int>(found.error().code));
  }
  std::size_t count() const {
    std::size_t n = 0;
    EXPECT_TRUE(log.visit(0, [&](const Record&) { ++n; }));
    return n;
  }

  std::uint64_t& published() { return *reinterpret_cast<std::uint64_t*>(block.get()); }
  std::uint32_t* heads() { return reinterpret_cast<std::uint32_t*>(block.get() + block.size()) - buckets_; }
  std::uint32_t buckets() const { return buckets_; }
  std::byte* data() { return block.get() + sizeof(KeyedLog::Header); }

  testing::ExactBlock block, rest;
  KeyedLog log;

 private:
  std::uint32_t buckets_;
};

inline void put(ExactLog& log, std::uint8_t scope, std::string_view key, std::string_view value) {
  ASSERT_TRUE(log.log.append({rank0, scope, key, bytes_of(value)}));
}

inline std::string missing() {
  return "-" + std::to_string(static_cast<int>(Errc::not_found));
}
inline std::string corrupt() {
  return "-" + std::to_string(static_cast<int>(Errc::corrupt));
}

/// A value that says which it is, and every byte of which follows from that.
inline std::vector<std::byte> numbered_value(std::uint64_t number) {
  std::vector<std::byte> out(8 + number * 7 % 90);
  std::memcpy(out.data(), &number, 8);
  for (std::size_t i = 8; i < out.size(); ++i) out[i] = static_cast<std::byte>(number * 31 + i);
  return out;
}

/// The number of a value, 0 if one of its bytes is not what the number says.
inline std::uint64_t number_of(Bytes value) {
  std::uint64_t number = 0;
  if (value.size() < 8) return 0;
  std::memcpy(&number, value.data(), 8);
  const auto whole = numbered_value(number);
  return value.size() == whole.size() && std::memcmp(value.data(), whole.data(), whole.size()) == 0 ? number
                                                                                                    : 0;
}

}  // namespace weft::store
