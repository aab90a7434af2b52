// SPDX-License-Identifier: BSD-3-Clause
// One writer, several readers in one process: where TSan sees an order that is too weak.
#include <thread>

#include "tests/unit/core/store/cards/logs.hpp"

namespace weft::store {
namespace {

constexpr unsigned key_count = 13;
std::string key_of(unsigned k) {
  return "key." + std::to_string(k);
}

/// Looks keys up until the writer is done: a value is whole, and no key goes back to an older one.
void read_keys(const KeyedLog& log, const std::atomic<bool>& done, std::atomic<unsigned>& faults) {
  std::uint64_t newest[key_count] = {};
  std::vector<std::string> names;
  for (unsigned k = 0; k < key_count; ++k) names.push_back(key_of(k));
  for (bool last = false; !last;) {
    last = done.load(std::memory_order_acquire);
    for (unsigned k = 0; k < key_count; ++k) {
      const auto found = log.find(rank0, names[k], hash_key(names[k]));
      if (!found) {
        if (found.error().code != Errc::not_found || newest[k] != 0) ++faults;
        continue;
      }
      const auto number = number_of(found->value);
      if (number == 0 || number % key_count != k || number < newest[k]) ++faults;
      newest[k] = number;
    }
  }
  for (unsigned k = 0; k < key_count; ++k)
    if (newest[k] == 0) ++faults;  // a test that saw nothing proves nothing
}

/// Follows the log from record to record: numbers come without a gap.
void read_records(const KeyedLog& log, const std::atomic<bool>& done, std::atomic<unsigned>& faults) {
  std::uint64_t next = 1, from = 0;
  for (bool last = false; !last;) {
    last = done.load(std::memory_order_acquire);
    const auto end = log.visit(from, [&](const Record& r) {
      if (number_of(r.value) != next++) ++faults;
    });
    if (!end) {
      ++faults;
      return;
    }
    from = *end;
  }
  if (next == 1) ++faults;
}

TEST(KeyedLogThreads, readers_see_whole_records_and_never_go_back) {
  testing::Watchdog watchdog;
  std::atomic<unsigned> faults{0};
  constexpr unsigned logs = 10;
  for (unsigned l = 0; l < logs; ++l) {
    constexpr std::uint64_t capacity = testing::thread_sanitized ? 128 << 10 : 512 << 10;
    constexpr std::uint32_t buckets = 4;  // fewer than keys: chains matter
    ExactLog memory(capacity, buckets, capacity / 4);
    KeyedLog& log = memory.log;
    std::atomic<bool> done{false};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) readers.emplace_back([&] { read_keys(log, done, faults); });
    readers.emplace_back([&] { read_records(log, done, faults); });
    for (std::uint64_t number = 1;; ++number) {
      const auto key = key_of(static_cast<unsigned>(number % key_count));
      const auto value = numbered_value(number);
      if (!log.append({rank0, 1, key, value})) break;
      if (number % 64 == 0) std::this_thread::yield();  // two cores for four threads
    }
    done.store(true, std::memory_order_release);
    for (auto& reader : readers) reader.join();
  }
  EXPECT_EQ(faults.load(), 0u);
}

}  // namespace
}  // namespace weft::store
