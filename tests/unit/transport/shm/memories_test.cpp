// SPDX-License-Identifier: BSD-3-Clause
// One memory for each job, in one range of addresses.
#include "transport/shm/memories.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "tests/unit/transport/shm/testing.hpp"
#include "transport/shm/partial_window.hpp"

namespace weft::shm {
namespace {

constexpr std::size_t page = page_bytes;

Memories made(std::size_t bytes) {
  auto memories = Memories::create(bytes);
  EXPECT_TRUE(memories.has_value());
  return std::move(*memories);
}

bool is_zero(const std::byte* from, std::size_t bytes) {
  return std::all_of(from, from + bytes, [](std::byte b) { return b == std::byte{0}; });
}

TEST(Memories, a_descriptor_leads_to_one_of_them) {
  auto memories = made(16 * page);
  const auto one = memories.make(2 * page).value(), other = memories.make(page + 1).value();
  EXPECT_NE(inode_of(memories.fd(one)), inode_of(memories.fd(other)));
  auto window = PartialWindow::map(Fd(::dup(memories.fd(one))));
  ASSERT_TRUE(window);
  EXPECT_EQ(window->size(), 2 * page);
  EXPECT_EQ(window->inode(), inode_of(memories.fd(one)));
  ASSERT_TRUE(window->make_writable(0, 2 * page));
  std::fill_n(window->base(), 2 * page, std::byte{7});
  EXPECT_EQ(memories.base()[one + 2 * page - 1], std::byte{7});
  EXPECT_TRUE(is_zero(memories.base() + other, 2 * page));
  EXPECT_TRUE(has_fixed_size(memories.fd(other)));
}

TEST(Memories, are_prepared_before_they_are_touched) {
  auto memories = made(16 * page);
  std::vector<std::pair<std::byte*, std::size_t>> prepared;
  memories.on_new([&](MutableBytes memory) { prepared.emplace_back(memory.data(), memory.size()); });
  const auto at = memories.make(3 * page).value();
  EXPECT_EQ(prepared, (decltype(prepared){{memories.base() + at, 3 * page}}));
}

TEST(Memories, one_that_is_released_reads_as_zero_and_is_no_other_jobs) {
  auto memories = made(4 * page);
  const auto first = memories.make(2 * page).value(), second = memories.make(2 * page).value();
  std::fill_n(memories.base(), 4 * page, std::byte{7});
  const Fd client(::dup(memories.fd(first)));
  auto window = PartialWindow::map(Fd(::dup(client.get())));
  ASSERT_TRUE(window && window->make_writable(0, page));
  memories.release(first);
  EXPECT_TRUE(is_zero(memories.base() + first, 2 * page));
  EXPECT_FALSE(is_zero(memories.base() + second, 2 * page));
  EXPECT_EQ(memories.make(2 * page).value(), first);
  window->base()[0] = std::byte{8};  // by a process of the job that has ended
  EXPECT_TRUE(is_zero(memories.base() + first, 2 * page));
  EXPECT_NE(inode_of(memories.fd(first)), inode_of(client.get()));
}

// A debugger or a scanner, which reads all that a process can read, does not go through gigabytes of nothing.
TEST(Memories, addresses_that_none_has_had_are_not_readable) {
  auto memories = made(4 * page);
  const auto is_readable = [&](std::uint64_t at) {
    return ::access(reinterpret_cast<const char*>(memories.base() + at), F_OK) == 0 || errno != EFAULT;
  };
  EXPECT_FALSE(is_readable(0));
  const auto at = memories.make(page).value();
  EXPECT_TRUE(is_readable(at));
  memories.release(at);
  EXPECT_TRUE(is_readable(at)) << "a thread of the host may look at the job that has gone";
  EXPECT_FALSE(is_readable(at + page));
}

TEST(Memories, of_all_sizes_come_back_whole) {
  testing::Random random;
  auto memories = made(64 * page);
  std::vector<std::uint64_t> held;
  for (int round = 0; round < 1000; ++round) {
    if (held.empty() || random.below(2) == 0) {
      const std::size_t bytes = (1 + random.below(20)) * page;
      if (const auto at = memories.make(bytes)) {
        ASSERT_TRUE(is_zero(memories.base() + *at, bytes));
        std::fill_n(memories.base() + *at, bytes, std::byte{7});
        held.push_back(*at);
      }
    } else {
      const auto which = held.begin() + static_cast<std::ptrdiff_t>(random.below(held.size()));
      memories.release(*which);
      held.erase(which);
    }
  }
  for (const auto at : held) memories.release(at);
  EXPECT_EQ(memories.left(), 64 * page);
}

TEST(Memories, what_does_not_fit_is_an_error_and_leaves_nothing) {
  auto memories = made(4 * page);
  EXPECT_EQ(memories.make(5 * page).error().code, Errc::no_space);
  EXPECT_EQ(memories.left(), 4 * page);
  EXPECT_TRUE(memories.make(4 * page));
  EXPECT_EQ(memories.make(1).error().code, Errc::no_space);
}

TEST(Memories, keep_to_the_file_size_limit_instead_of_dying) {
  const auto child = testing::start_child([] {
    auto early = Memories::create(64 * page);
    const rlimit limit{16 * page + 100, RLIM_INFINITY};
    if (!early || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    auto late = Memories::create(64 * page);
    return late && late->left() == 16 * page && late->make(16 * page) && !early->make(17 * page) &&
           early->make(16 * page);
  });
  EXPECT_TRUE(testing::ended_well(testing::reap(child)));
}

}  // namespace
}  // namespace weft::shm
