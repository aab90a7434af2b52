// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/partial_window.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "tests/unit/transport/shm/testing.hpp"

namespace weft::shm {
namespace {

constexpr std::size_t page = page_bytes;

using Writers = Memory::Writers;

Memory made(std::size_t bytes, Writers writers = Writers::several) {
  auto memory = Memory::create(bytes, writers);
  EXPECT_TRUE(memory.has_value());
  return std::move(*memory);
}

bool is_zero(const std::byte* from, std::size_t bytes) {
  return std::all_of(from, from + bytes, [](std::byte b) { return b == std::byte{0}; });
}

class MemoryOfBoth : public ::testing::TestWithParam<Writers> {};
INSTANTIATE_TEST_SUITE_P(Kind, MemoryOfBoth, ::testing::Values(Writers::creator, Writers::several),
                         [](const auto& kind) {
                           return kind.param == Writers::creator ? "server" : "clients";
                         });

TEST(Memory, allocates_whole_pages_until_the_last_one) {
  auto segment = made(4 * page);
  EXPECT_EQ(segment.allocate(1).value(), 0u);
  EXPECT_EQ(segment.allocate(page).value(), page);
  EXPECT_EQ(segment.allocate(page + 1).value(), 2 * page);
  EXPECT_EQ(segment.left(), 0u);
  const auto full = segment.allocate(1);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Errc::no_space);
}

TEST(Memory, has_a_fixed_size_and_other_files_have_not) {
  EXPECT_TRUE(has_fixed_size(made(4 * page).fd()));
  const Fd unsealed(::memfd_create("weft-node", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), page), 0);
  EXPECT_FALSE(has_fixed_size(unsealed.get()));
  ASSERT_EQ(::fcntl(unsealed.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  EXPECT_FALSE(has_fixed_size(unsealed.get())) << "more seals may follow, and none is final";
  EXPECT_FALSE(has_fixed_size(-1));
}

TEST(Memory, refuses_what_cannot_fit_without_losing_what_can) {
  auto segment = made(4 * page);
  for (const std::size_t bytes : {5 * page, ~std::size_t{0}, ~std::size_t{0} - page})
    EXPECT_EQ(segment.allocate(bytes).error().code, Errc::no_space);
  EXPECT_EQ(segment.allocate(4 * page).value(), 0u);
}

TEST_P(MemoryOfBoth, released_bytes_read_as_zero_and_serve_again) {
  auto segment = made(8 * page, GetParam());
  const auto first = segment.allocate(2 * page).value();
  const auto second = segment.allocate(2 * page).value();
  std::fill_n(segment.base() + first, 4 * page, std::byte{7});
  segment.release(first, 2 * page);
  EXPECT_TRUE(is_zero(segment.base() + first, 2 * page));
  EXPECT_FALSE(is_zero(segment.base() + second, 2 * page));  // the neighbour keeps its bytes
  EXPECT_EQ(segment.allocate(2 * page).value(), first);
}

TEST_P(MemoryOfBoth, a_clients_mapping_sees_the_zeroes_too) {
  auto segment = made(2 * page, GetParam());
  const auto at = segment.allocate(page).value();
  segment.base()[at] = std::byte{7};
  auto client = Window::map(segment.fd(), 0, segment.size(), Window::Access::read);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->base()[at], std::byte{7});
  segment.release(at, page);
  EXPECT_EQ(client->base()[at], std::byte{0});
}

// Jobs come in all sizes and end in any order: what a server runs one after the other must not wear the space
// out.
TEST_P(MemoryOfBoth, space_of_all_sizes_comes_back_whole) {
  testing::Random random;
  auto segment = made(64 * page, GetParam());
  struct Piece {
    std::uint64_t at;
    std::size_t bytes;
  };
  std::vector<Piece> held;
  for (int round = 0; round < 2000; ++round) {
    if (held.empty() || random.below(2) == 0) {
      const std::size_t bytes = (1 + random.below(20)) * page;
      if (const auto at = segment.allocate(bytes)) {
        ASSERT_TRUE(is_zero(segment.base() + *at, bytes));
        for (const auto& other : held) ASSERT_TRUE(*at + bytes <= other.at || other.at + other.bytes <= *at);
        std::fill_n(segment.base() + *at, bytes, std::byte{7});
        held.push_back({*at, bytes});
      }
    } else {
      const auto which = held.begin() + static_cast<std::ptrdiff_t>(random.below(held.size()));
      segment.release(which->at, which->bytes);
      held.erase(which);
    }
  }
  for (const auto& piece : held) segment.release(piece.at, piece.bytes);
  EXPECT_TRUE(segment.allocate(64 * page));  // all of it, in one piece
}

TEST(Memory, shrinks_to_the_file_size_limit_instead_of_dying) {
  const auto child = testing::start_child([] {
    const rlimit limit{16 * page + 100, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    auto segment = Memory::create(std::size_t{1} << 30, Writers::several);
    if (!segment || segment->size() != 16 * page) return false;
    const auto at = segment->allocate(16 * page);
    if (!at) return false;
    segment->base()[16 * page - 1] = std::byte{1};
    segment->release(*at, 16 * page);
    return true;
  });
  EXPECT_TRUE(testing::ended_well(testing::reap(child)));
}

TEST(Memory, a_limit_of_nothing_is_an_error) {
  const auto child = testing::start_child([] {
    const rlimit limit{100, RLIM_INFINITY};
    return ::setrlimit(RLIMIT_FSIZE, &limit) == 0 && !Memory::create(std::size_t{1} << 20, Writers::several);
  });
  EXPECT_TRUE(testing::ended_well(testing::reap(child)));
}

TEST_P(MemoryOfBoth, no_process_can_shrink_or_grow_it) {
  auto segment = made(4 * page, GetParam());
  EXPECT_NE(::ftruncate(segment.fd(), page), 0);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(::ftruncate(segment.fd(), 8 * page), 0);
  EXPECT_NE(::fcntl(segment.fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);  // nor take the server's own writing away
}

TEST(Memory, of_one_writer_is_written_by_no_descriptor_and_no_mapping) {
  auto memory = made(4 * page, Writers::creator);
  memory.base()[page] = std::byte{7};
  const Fd handed(::dup(memory.fd()));
  const Fd reopened(::open(("/proc/self/fd/" + std::to_string(memory.fd())).c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(handed);
  ASSERT_TRUE(reopened);
  for (const auto* fd : {&handed, &reopened}) {
    EXPECT_FALSE(Window::map(fd->get(), 0, page, Window::Access::write));
    auto window = PartialWindow::map(Fd(::dup(fd->get())));
    ASSERT_TRUE(window);
    EXPECT_EQ(window->base()[page], std::byte{7});
    EXPECT_FALSE(window->make_writable(0, page));
    EXPECT_LT(::pwrite(fd->get(), "x", 1, page), 0);
    EXPECT_NE(::fallocate(fd->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, page, page), 0);
  }
  memory.base()[page] = std::byte{8};  // the creator goes on
  EXPECT_EQ(memory.base()[page], std::byte{8});
}

TEST(Memory, that_could_shrink_is_mapped_by_no_client) {
  const Fd loose(::memfd_create("weft-node", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(loose.get(), page), 0);
  const auto memory = made(page, Writers::several);
  EXPECT_EQ(SegmentWindows::map(Fd(::dup(loose.get())), Fd(::dup(memory.fd()))).error().code, Errc::denied);
  EXPECT_EQ(SegmentWindows::map(Fd(::dup(memory.fd())), Fd(::dup(loose.get()))).error().code, Errc::denied);
}

/// A file system of its own with room for one page. The test needs root; a child gives up its mounts with its
/// life.
TEST(Memory, a_store_that_would_find_no_memory_is_an_error_before_it) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting a file system needs root";
  const auto child = testing::start_child([] {
    if (::unshare(CLONE_NEWNS) != 0) return false;
    // EINVAL: in a chroot / is no mount.
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 && errno != EINVAL) return false;
    if (::mount("none", "/mnt", "tmpfs", 0, "size=16k") != 0) return false;
    const Fd fd(::open("/mnt/full", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd || ::ftruncate(fd.get(), 64 * page) != 0) return false;
    auto window = Window::map(fd.get(), 0, 64 * page, Window::Access::write);
    if (!window || !window->populate(0, page)) return false;
    const auto full = window->populate(page, 63 * page);
    return !full && full.error().code == Errc::no_space;
  });
  EXPECT_TRUE(testing::ended_well(testing::reap(child)));
}

TEST_P(MemoryOfBoth, takes_memory_only_where_it_is_touched) {
  auto segment = made(std::size_t{64} << 30, GetParam());
  (void)segment.allocate(std::size_t{1} << 30);
  segment.base()[0] = segment.base()[std::size_t{1} << 29] = std::byte{1};
  struct stat facts {};
  ASSERT_EQ(::fstat(segment.fd(), &facts), 0);
  EXPECT_LE(facts.st_blocks, 64);  // of 512 bytes; two pages, with slack for larger ones
}

TEST(Window, writes_reach_the_other_mapping_and_read_only_means_it) {
  auto segment = made(4 * page);
  auto writable = Window::map(segment.fd(), page, page, Window::Access::write);
  ASSERT_TRUE(writable);
  writable->base()[5] = std::byte{9};
  EXPECT_EQ(segment.base()[page + 5], std::byte{9});

  auto readable = Window::map(segment.fd(), 0, 4 * page, Window::Access::read);
  ASSERT_TRUE(readable);
  const auto child = testing::start_child([&] {
    ::signal(SIGSEGV, SIG_DFL);  // also where a sanitizer would write a report
    readable->base()[page + 5] = std::byte{1};
    return true;
  });
  const int status = testing::reap(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

TEST(Window, a_bad_descriptor_is_an_error) {
  const auto window = Window::map(-1, 0, page, Window::Access::read);
  ASSERT_FALSE(window);
  EXPECT_EQ(window.error().code, Errc::os);
  EXPECT_EQ(window.error().sys, EBADF);
}

TEST(Window, moves_without_unmapping_twice) {
  auto segment = made(2 * page);
  auto a = Window::map(segment.fd(), 0, page, Window::Access::write);
  auto b = Window::map(segment.fd(), page, page, Window::Access::write);
  ASSERT_TRUE(a && b);
  Window moved(std::move(*a));
  EXPECT_FALSE(*a);
  moved = std::move(*b);
  EXPECT_FALSE(*b);
  moved.base()[0] = std::byte{3};
  EXPECT_EQ(segment.base()[page], std::byte{3});
}

TEST(Fd, closes_once_and_releases) {
  const int raw = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  {
    Fd fd(raw);
    Fd other(std::move(fd));
    EXPECT_FALSE(fd);
    EXPECT_EQ(other.get(), raw);
  }
  EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
  Fd kept(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int out = kept.release();
  kept.reset();
  EXPECT_NE(::fcntl(out, F_GETFD), -1);
  ::close(out);
}

}  // namespace
}  // namespace weft::shm
