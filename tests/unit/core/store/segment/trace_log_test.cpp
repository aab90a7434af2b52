// SPDX-License-Identifier: BSD-3-Clause
// The log of a process's calls: which calls it keeps, what threads and an end by force leave, and what a
// reader makes of bytes that a rank has written wrong.
#include "core/store/segment/trace_log.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <set>
#include <thread>

#include "tests/unit/core/store/segment/jobs.hpp"

namespace weft::store {
namespace {

/// Room for exactly so many.
struct Memory {
  explicit Memory(std::size_t records)
      : bytes(sizeof(TraceLog::Header) + records * sizeof(TraceLog::Record)),
        lines(bytes / 64 + 1),
        log(lines.front().bytes, bytes) {}
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  const std::size_t bytes;
  std::vector<Line> lines;
  TraceLog log;
};

void call(const TraceLog& log, std::uint32_t subject, std::uint64_t begun) {
  log.begin(TraceCall::get, subject, TraceLog::Thread::stays, begun).end(PMIX_SUCCESS);
}

std::vector<std::uint32_t> subjects(const TraceLog& log) {
  std::vector<std::uint32_t> out;
  for (const auto& event : log.events()) out.push_back(event.subject);
  return out;
}

TEST(TraceLogTest, an_empty_one_has_nothing) {
  const Memory memory(4);
  EXPECT_EQ(memory.log.capacity(), 4u);
  EXPECT_TRUE(memory.log.events().empty());
  EXPECT_EQ(memory.log.left_out(), 0u);
  EXPECT_FALSE(TraceLog());
  TraceLog::Entry().end(PMIX_SUCCESS);
}

TEST(TraceLogTest, a_call_is_there_from_its_beginning) {
  const Memory memory(4);
  const auto before = FirstCall::now();
  const auto entry = memory.log.begin(TraceCall::fence);
  ASSERT_EQ(memory.log.events().size(), 1u);
  EXPECT_EQ(memory.log.events()[0].ended, 0u);
  entry.end(PMIX_ERR_TIMEOUT);
  const auto event = memory.log.events().at(0);
  EXPECT_GE(event.begun, before);
  EXPECT_GE(event.ended, event.begun);
  EXPECT_EQ(event.call, static_cast<std::uint16_t>(TraceCall::fence));
  EXPECT_EQ(event.status, PMIX_ERR_TIMEOUT);
  EXPECT_EQ(event.subject, TraceLog::no_subject);
  EXPECT_EQ(event.thread, ::pthread_self());
  memory.log.begin(TraceCall::fence_nb, 7, TraceLog::Thread::leaves);
  EXPECT_EQ(memory.log.events().at(1).thread, 0u);
}

TEST(TraceLogTest, the_first_half_stays_and_the_rest_are_the_latest) {
  const Memory memory(4);
  for (std::uint32_t n = 0; n < 4; ++n) call(memory.log, n, n + 1);
  EXPECT_EQ(subjects(memory.log), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(memory.log.left_out(), 0u);
  call(memory.log, 4, 5);
  EXPECT_EQ(subjects(memory.log), (std::vector<std::uint32_t>{0, 1, 3, 4}));
  EXPECT_EQ(memory.log.left_out(), 1u);
  for (std::uint32_t n = 5; n < 20; ++n) call(memory.log, n, n + 1);
  EXPECT_EQ(subjects(memory.log), (std::vector<std::uint32_t>{0, 1, 18, 19}));
  EXPECT_EQ(memory.log.left_out(), 16u);
}

TEST(TraceLogTest, every_place_is_used_and_none_beyond) {
  for (const std::uint64_t capacity : {2u, 3u, 7u, 1022u}) {
    std::set<std::uint64_t> places;
    for (std::uint64_t n = 0; n < 3 * capacity; ++n) {
      const auto place = TraceLog::place_of(n, capacity);
      ASSERT_LT(place, capacity);
      EXPECT_TRUE(n >= capacity || place == n);
      places.insert(place);
    }
    EXPECT_EQ(places.size(), capacity);
  }
}

TEST(TraceLogTest, the_end_of_a_call_whose_record_is_anothers_is_dropped) {
  const Memory memory(4);
  for (std::uint32_t n = 0; n < 2; ++n) call(memory.log, n, n + 1);
  const auto slow = memory.log.begin(TraceCall::fence, 2, TraceLog::Thread::stays, 3);
  call(memory.log, 3, 4);
  const auto other = memory.log.begin(TraceCall::get, 4, TraceLog::Thread::stays, 5);  // the record of `slow`
  slow.end(PMIX_ERR_TIMEOUT);
  EXPECT_EQ(memory.log.events().at(3).ended, 0u);
  other.end(PMIX_SUCCESS);
  EXPECT_NE(memory.log.events().at(3).ended, 0u);
  EXPECT_EQ(memory.log.events().at(3).status, PMIX_SUCCESS);
}

TEST(TraceLogTest, threads_lose_no_call) {
  const Memory memory(4096);
  std::vector<std::thread> threads;
  constexpr std::uint32_t each = 1000;
  for (std::uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < each; ++i) call(memory.log, t * each + i, FirstCall::now());
    });
  while (memory.log.left_out() == 0 && memory.log.events().size() < 4 * each) std::this_thread::yield();
  for (auto& thread : threads) thread.join();
  const auto all = subjects(memory.log);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 4 * each);
  std::set<std::uint64_t> words;
  for (const auto& event : memory.log.events()) {
    EXPECT_GE(event.ended, event.begun);
    words.insert(event.thread);
  }
  EXPECT_LE(words.size(), 4u);  // the word of a thread that has ended may come again
}

TEST(TraceLogTest, a_killed_process_leaves_what_it_was_in) {
  constexpr std::size_t bytes = trace_log_bytes;
  auto* const memory = static_cast<std::byte*>(
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(memory), MAP_FAILED);
  const TraceLog log(memory, bytes);
  EXPECT_GT(log.capacity(), 1000u);
  const pid_t rank = ::fork();
  if (rank == 0) {
    for (std::uint32_t n = 0;; ++n) {
      const auto entry = log.begin(TraceCall::put, n);
      if (n != 3000) entry.end(PMIX_SUCCESS);
      if (n == 3000) ::kill(::getpid(), SIGKILL);
    }
  }
  int status = 0;
  ASSERT_EQ(::waitpid(rank, &status, 0), rank);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto events = log.events();
  ASSERT_EQ(events.size(), log.capacity());
  EXPECT_EQ(log.left_out(), 3001 - log.capacity());
  EXPECT_EQ(events.front().subject, 0u);
  EXPECT_EQ(events.back().subject, 3000u);
  EXPECT_EQ(events.back().ended, 0u);
  ::munmap(memory, bytes);
}

TEST(TraceLogTest, bytes_written_wrong_are_read_within_bounds) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    // On the heap, in a block of the exact size: AddressSanitizer sees a look beyond.
    constexpr std::size_t bytes = sizeof(TraceLog::Header) + 5 * sizeof(TraceLog::Record);
    auto* const memory = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64}));
    for (std::size_t i = 0; i < bytes; ++i) memory[i] = static_cast<std::byte>(random());
    const TraceLog log(memory, bytes);
    EXPECT_LE(log.events().size(), 5u);
    (void)log.left_out();
    ::operator delete (memory, std::align_val_t{64});
  }
}

TEST(TraceLogTest, a_job_has_logs_where_a_launcher_traces_it) {
  Node node;
  auto spec = flat_job("job", 3, 2);
  const auto without = node.add(spec);
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->trace_log(0));
  EXPECT_EQ(without->view().header().trace_area.bytes, 0u);
  spec.nspace = "traced";
  spec.has_trace_logs = true;
  const auto traced = node.add(spec);
  ASSERT_TRUE(traced);
  call(traced->trace_log(0), 1, 1);
  call(traced->trace_log(1), 2, 1);
  EXPECT_EQ(subjects(traced->trace_log(0)), std::vector<std::uint32_t>{1});
  EXPECT_EQ(subjects(traced->trace_log(1)), std::vector<std::uint32_t>{2});
}

}  // namespace
}  // namespace weft::store
