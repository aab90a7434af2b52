// SPDX-License-Identifier: BSD-3-Clause
// Writers that are killed at any moment, while another process reads what they leave.
#include <csignal>
#include <map>
#include <thread>

#include "tests/unit/core/store/cards/logs.hpp"
#include "transport/shm/wait.hpp"

namespace weft::store {
namespace {

constexpr std::uint64_t capacity = std::uint64_t{128} << 20;
constexpr std::uint64_t first = 5000;
constexpr std::uint32_t buckets = 4;
constexpr unsigned key_count = 11;

struct Shared {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> looks{0};
};

std::string key_of(std::uint64_t number) {
  return "key." + std::to_string(number % key_count);
}

/// The next writer of the log: goes on after `number`, until it is killed.
bool write_on(KeyedLog log, std::uint64_t number) {
  if (!log.adopt()) return false;
  for (;;) {
    ++number;
    if (!log.append({rank0, 1, key_of(number), numbered_value(number)})) return false;
  }
}

/// All the time, also while a writer dies: every record is whole and follows its forerunner, no key goes
/// back.
bool read_on(const KeyedLog& log, Shared& shared) {
  std::uint64_t next = 1, from = 0;
  std::uint64_t newest[key_count] = {};
  while (!shared.stop.load(std::memory_order_acquire)) {
    bool good = true;
    const auto end = log.visit(from, [&](const Record& r) { good = good && number_of(r.value) == next++; });
    if (!end || !good) return false;
    from = *end;
    for (unsigned k = 0; k < key_count; ++k) {
      const auto key = key_of(k);
      const auto found = log.find(rank0, key, hash_key(key));
      const auto number = found ? number_of(found->value) : 0;
      if (!found && found.error().code != Errc::not_found) return false;
      if (number < newest[k] || (found && number % key_count != k)) return false;
      newest[k] = number;
    }
    shared.looks.fetch_add(1, std::memory_order_relaxed);
    std::this_thread::yield();
  }
  return next > 1;
}

/// One log, `kills` writers one after the other. Returns how many died between publishing and linking.
void kill_writers(testing::Random& random, unsigned kills, unsigned& unlinked) {
  testing::SharedBlock memory(KeyedLog::footprint(first, buckets)), rest(capacity - first), control(4096);
  auto& shared = *new (control.get()) Shared;
  KeyedLog log(memory.get(), first, buckets, rest.get(), capacity);
  const auto reader = testing::start_child([&] { return read_on(log, shared); });
  std::uint64_t seen = 0, from = 0;
  std::map<std::uint64_t, std::uint64_t> newest;
  for (unsigned kill = 0; kill < kills; ++kill) {
    const auto enough = log.published() + 200 + random.below(20'000);
    const auto writer = testing::start_child([&] { return write_on(log, seen); });
    // The writer is well under way; any instruction may now be its last.
    while (log.published() < enough) std::this_thread::yield();
    for (auto spins = random.below(200); spins != 0; --spins) shm::cpu_relax();
    ASSERT_EQ(::kill(writer, SIGKILL), 0);
    const int status = testing::reap(writer);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself: " << status;

    // The writer has left nothing lost, nothing half, and the index at most one record behind.
    std::uint64_t last = seen;
    const auto end = log.visit(from, [&](const Record& r) {
      ASSERT_EQ(number_of(r.value), ++last);
      newest[last % key_count] = last;
    });
    ASSERT_TRUE(end);
    ASSERT_GT(last, seen);
    from = *end;
    seen = last;
    for (const auto& [k, number] : newest) {
      const auto key = key_of(k);
      const auto found = log.find(rank0, key, hash_key(key));
      const auto got = found ? number_of(found->value) : 0;
      unlinked += got != number;
      // An older record hides the last one of its key, or none does where it is the first.
      const auto older = number > key_count ? number - key_count : 0;
      ASSERT_TRUE(got == number || (number == last && got == older)) << got << " of " << number;
    }
  }
  shared.stop.store(true, std::memory_order_release);
  EXPECT_TRUE(testing::ended_well(testing::reap(reader)));
  EXPECT_GT(shared.looks.load(), 0u);
  // After the last adopt() every key is found at its newest.
  ASSERT_TRUE(log.adopt());
  for (const auto& [k, number] : newest) {
    const auto key = key_of(k);
    EXPECT_EQ(number_of(log.find(rank0, key, hash_key(key))->value), number);
  }
}

TEST(KeyedLogProcesses, writers_killed_at_random_leave_the_log_whole) {
  testing::Watchdog watchdog(110);
  testing::Random random;
  unsigned unlinked = 0;
  // Several logs, because each new writer walks all of its own.
  const testing::Rounds rounds(20);
  for (unsigned log = 0; rounds.go_on(log, 1); ++log) {
    kill_writers(random, 10, unlinked);
    if (HasFatalFailure()) return;
  }
  RecordProperty("killed_before_the_head", static_cast<int>(unlinked));
}

}  // namespace
}  // namespace weft::store
