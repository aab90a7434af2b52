// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/partial_window.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/transport/shm/testing.hpp"

namespace weft::shm {
namespace {

constexpr std::size_t part = PartialWindow::part_bytes;
constexpr std::size_t large = std::size_t{8} << 30;

struct PartialWindowTest : ::testing::Test {
  PartialWindowTest() {
    memory.emplace(std::move(*Memory::create(large, Memory::Writers::several)));
    window = std::move(*PartialWindow::map(Fd(::dup(memory->fd()))));
  }
  bool is_mapped(std::size_t offset) const {
    unsigned char page = 0;
    return ::mincore(window.base() + offset, page_bytes, &page) == 0;
  }
  std::optional<Memory> memory;
  PartialWindow window;
};

std::size_t pages_mapped() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

TEST_F(PartialWindowTest, maps_what_is_asked_for_and_no_more) {
  const auto before = pages_mapped();
  const auto another = PartialWindow::map(Fd(::dup(memory->fd())));
  ASSERT_TRUE(another);
  EXPECT_LT((pages_mapped() - before) * page_bytes, std::size_t{1} << 20);
  EXPECT_TRUE(is_mapped(0));
  EXPECT_FALSE(is_mapped(part));
  EXPECT_TRUE(window.reach(10 * part + 5, 1));
  EXPECT_TRUE(is_mapped(10 * part));
  EXPECT_FALSE(is_mapped(9 * part));
  EXPECT_FALSE(is_mapped(11 * part));
  EXPECT_FALSE(window.is_incomplete());
}

TEST_F(PartialWindowTest, leaves_nothing_mapped_wherever_its_parts_lie) {
  const auto* const base = window.base();
  const std::size_t offsets[] = {0, 63 * part, 64 * part, 64 * part * 7 + part, large / 2, large - part};
  ASSERT_TRUE(window.reach(130 * part, 70 * part));  // into another word of bits
  for (const auto offset : offsets) ASSERT_TRUE(window.reach(offset, 1));
  window = {};
  const auto is_left = [&](std::size_t offset) {
    unsigned char page = 0;
    return ::mincore(const_cast<std::byte*>(base) + offset, page_bytes, &page) == 0;
  };
  for (const auto offset : offsets) EXPECT_FALSE(is_left(offset)) << offset / part;
  for (std::size_t at = 130; at < 200; ++at) EXPECT_FALSE(is_left(at * part)) << at;
}

TEST_F(PartialWindowTest, all_bytes_of_a_range_are_there_whatever_was_before) {
  memory->base()[3 * part] = memory->base()[5 * part - 1] = memory->base()[large - 1] = std::byte{7};
  ASSERT_TRUE(window.reach(4 * part, 1));
  ASSERT_TRUE(window.reach(3 * part - 1, 2 * part + 1));
  for (const auto offset : {2 * part, 3 * part, 4 * part}) EXPECT_TRUE(is_mapped(offset));
  EXPECT_FALSE(is_mapped(5 * part));
  EXPECT_EQ(window.base()[3 * part], std::byte{7});
  EXPECT_EQ(window.base()[5 * part - 1], std::byte{7});
  EXPECT_TRUE(window.reach(large - 1, 1));
  EXPECT_EQ(window.base()[large - 1], std::byte{7});
}

TEST_F(PartialWindowTest, nothing_lies_behind_its_end) {
  EXPECT_TRUE(window.reach(large, 1));
  EXPECT_TRUE(window.reach(~std::uint64_t{0}, 1));
  EXPECT_TRUE(window.reach(large - 1, ~std::uint64_t{0}));
  EXPECT_TRUE(window.reach(2 * part, 0));
  EXPECT_FALSE(is_mapped(2 * part));
  EXPECT_FALSE(window.make_writable(large - page_bytes, 2 * page_bytes));
  EXPECT_FALSE(window.make_writable(page_bytes, ~std::uint64_t{0}));
}

TEST_F(PartialWindowTest, a_long_range_that_grows) {
  for (std::size_t parts = 100; parts < 400; parts += 50) {
    EXPECT_TRUE(window.reach(8 * part, parts * part));
    EXPECT_TRUE(window.reach(8 * part, parts * part));  // as it is remembered
    for (std::size_t i = 0; i < parts; ++i) ASSERT_TRUE(is_mapped((8 + i) * part)) << i;
    EXPECT_FALSE(is_mapped((8 + parts) * part));
  }
  EXPECT_TRUE(window.reach(0, 100 * part));
  EXPECT_TRUE(is_mapped(7 * part));
}

TEST_F(PartialWindowTest, pages_are_writable_one_by_one) {
  ASSERT_TRUE(window.make_writable(part + page_bytes, page_bytes));
  window.base()[part + page_bytes] = std::byte{9};
  EXPECT_EQ(memory->base()[part + page_bytes], std::byte{9});
  const auto child = testing::start_child([&] {
    ::signal(SIGSEGV, SIG_DFL);  // also where a sanitizer would write a report
    window.base()[part] = std::byte{1};
    return true;
  });
  const int status = testing::reap(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/// Another mapping has come to lie where a part belongs.
TEST_F(PartialWindowTest, a_place_that_is_taken_is_an_error_and_stays_as_it_is) {
  void* const wanted = window.base() + 6 * part;
  void* const other =
      ::mmap(wanted, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ASSERT_EQ(other, wanted);
  std::memset(other, 5, page_bytes);
  EXPECT_FALSE(window.reach(6 * part, 1));
  EXPECT_FALSE(window.reach(4 * part, 3 * part));
  EXPECT_FALSE(window.make_writable(6 * part, page_bytes));
  EXPECT_TRUE(window.is_incomplete());
  EXPECT_TRUE(window.reach(7 * part, 1));
  window = {};
  EXPECT_EQ(static_cast<char*>(other)[page_bytes - 1], 5);
  ::munmap(other, page_bytes);
}

/// A program may close all descriptors and open others: nothing of those is mapped.
TEST_F(PartialWindowTest, a_descriptor_that_is_another_files_is_an_error) {
  Fd handed(::dup(memory->fd()));
  const int number = handed.get();
  auto mapped = PartialWindow::map(std::move(handed));
  ASSERT_TRUE(mapped);
  const auto stranger = Memory::create(large, Memory::Writers::several);
  ASSERT_TRUE(stranger);
  ASSERT_EQ(::dup2(stranger->fd(), number), number);
  EXPECT_TRUE(mapped->reach(0, part));
  EXPECT_FALSE(mapped->reach(part, 1));
  EXPECT_TRUE(mapped->is_incomplete());
}

TEST_F(PartialWindowTest, threads_reach_the_same_parts_at_once) {
  constexpr std::size_t parts = 512, threads = 4;
  for (std::size_t i = 0; i < parts; ++i) memory->base()[i * part + i] = std::byte(i % 251);
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> all;
  for (unsigned seed = 1; seed <= threads; ++seed)
    all.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int round = 0; round < 2000; ++round) {
        const auto i = random() % parts, count = random() % 4;
        const auto last = std::min(i + count, parts - 1);
        if (!window.reach(i * part, (last - i + 1) * part)) ++wrong;
        for (auto at = i; at <= last; ++at) wrong += window.base()[at * part + at] != std::byte(at % 251);
      }
    });
  for (auto& thread : all) thread.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace weft::shm
