// SPDX-License-Identifier: BSD-3-Clause
// What the conformance suite cannot ask of every transport: strangers, damage, and sleeping for room.
#include "transport/shm/endpoint/endpoint.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "base/local_socket.hpp"
#include "tests/unit/transport/shm/testing.hpp"

namespace weft::shm {
namespace {

struct Ends : Completion {
  unsigned count = 0;
  Result<void> outcome;
  Ends() {
    done = [](Completion& self, Result<void> how) noexcept {
      auto& ends = static_cast<Ends&>(self);
      ++ends.count;
      ends.outcome = how;
    };
  }
};

std::unique_ptr<ShmEndpoint> open_one(std::size_t* received = nullptr) {
  auto endpoint = ShmEndpoint::open();
  if (!endpoint) {
    ADD_FAILURE() << endpoint.error().what;
    return nullptr;
  }
  static std::size_t ignored;
  (*endpoint)->on_message(
      [](void* self, std::uint16_t, const Message&) noexcept { ++*static_cast<std::size_t*>(self); },
      received == nullptr ? &ignored : received);
  return std::move(*endpoint);
}

void turn(std::initializer_list<Endpoint*> endpoints, int rounds = 200) {
  for (int i = 0; i < rounds; ++i)
    for (auto* endpoint : endpoints) endpoint->progress();
}

Nonce nonce_of(const Endpoint& endpoint) {
  PackedAddress packed;
  std::memcpy(&packed, endpoint.address().bytes.data(), sizeof packed);
  return packed.nonce;
}

TEST(ShmEndpoint, has_no_providers) {
  const auto endpoint = ShmTransport().open({"fast"});
  ASSERT_FALSE(endpoint);
  EXPECT_EQ(endpoint.error().code, Errc::not_found);
}

TEST(ShmEndpoint, a_sender_that_sleeps_for_room_is_woken) {
  testing::Watchdog watchdog;
  std::size_t received = 0;
  const auto a = open_one(), b = open_one(&received);
  const auto peer = a->reach(b->address());
  ASSERT_TRUE(peer);
  const std::vector<std::byte> bytes(60'000);
  for (int round = 0; round < 50; ++round) {
    std::deque<Ends> sends;
    std::size_t sent = 0;
    for (Result<void> more; more;) {
      more = a->send(**peer, 1, {{}, bytes}, sends.emplace_back());
      sent += more.has_value();
      if (!more) {
        ASSERT_EQ(more.error().code, Errc::again);
      }
    }
    ASSERT_GT(sent, 0u);
    a->progress();
    ASSERT_TRUE(a->arm()) << "nothing is open, and there is no room";
    pollfd waits{*a->wait_fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&waits, 1, 0), 0);
    received = 0;
    turn({b.get()}, 100);
    ASSERT_EQ(received, sent);
    ASSERT_EQ(::poll(&waits, 1, 1000), 1) << "round " << round;
    EXPECT_GT(a->progress(), 0u) << "room is an event";
    while (a->progress() != 0) {
    }
    ASSERT_TRUE(a->arm());
    ASSERT_EQ(::poll(&waits, 1, 0), 0) << "and it is told once";
    a->progress();
  }
}

TEST(ShmEndpoint, processes_that_connect_together_are_let_in_by_few) {
  testing::Watchdog watchdog;
  const auto endpoint = open_one();
  constexpr std::size_t count = 3 * ShmEndpoint::most_accepts;
  std::vector<Fd> others;
  for (std::size_t i = 0; i < count; ++i) {
    auto other = base::connect_to(socket_name(nonce_of(*endpoint)), base::Blocking::no);
    ASSERT_TRUE(other);
    others.push_back(std::move(*other));
  }
  std::size_t accepted = 0;
  while (accepted < count) {
    const auto more = endpoint->progress();
    EXPECT_LE(more, std::size_t{ShmEndpoint::most_accepts}) << "the rest is the next call's";
    accepted += more;
  }
  EXPECT_EQ(accepted, count);
}

TEST(ShmEndpoint, room_that_came_before_the_sleep_is_seen) {
  std::size_t received = 0;
  const auto a = open_one(), b = open_one(&received);
  const auto peer = a->reach(b->address());
  ASSERT_TRUE(peer);
  const std::vector<std::byte> bytes(60'000);
  std::deque<Ends> sends;
  while (a->send(**peer, 1, {{}, bytes}, sends.emplace_back())) {
  }
  a->progress();
  turn({b.get()}, 100);
  const auto armed = a->arm();
  ASSERT_FALSE(armed);
  EXPECT_EQ(armed.error().code, Errc::again);
  EXPECT_GT(a->progress(), 0u);
  EXPECT_TRUE(a->arm());
}

TEST(ShmEndpoint, what_is_started_after_arming_wakes) {
  std::size_t received = 0;
  const auto a = open_one(), b = open_one(&received);
  const auto peer = a->reach(b->address());
  ASSERT_TRUE(peer);
  pollfd waits{*a->wait_fd(), POLLIN, 0};
  for (int round = 0; round < 3; ++round) {
    Ends ends;
    ASSERT_TRUE(a->arm());
    ASSERT_EQ(::poll(&waits, 1, 0), 0);
    ASSERT_TRUE(a->send(**peer, 1, {{}, {}}, ends));
    ASSERT_EQ(::poll(&waits, 1, 0), 1);
    EXPECT_EQ(a->progress(), 1u);
    EXPECT_EQ(ends.count, 1u);
  }
  // `again` after arming: the room that comes wakes.
  const std::vector<std::byte> bytes(60'000);
  std::deque<Ends> sends;
  while (a->send(**peer, 1, {{}, bytes}, sends.emplace_back())) {
  }
  a->progress();
  while (a->progress() != 0) {
  }
  turn({b.get()}, 100);
  while (a->progress() != 0) {
  }
  while (a->send(**peer, 1, {{}, bytes}, sends.emplace_back())) {
  }
  while (a->progress() != 0) {
  }
  ASSERT_TRUE(a->arm());
  ASSERT_FALSE(a->send(**peer, 1, {{}, bytes}, sends.emplace_back()));
  ASSERT_EQ(::poll(&waits, 1, 0), 0);
  turn({b.get()}, 100);
  EXPECT_EQ(::poll(&waits, 1, 1000), 1);
}

// A process that connects and sends nothing, or garbage, or a descriptor that is not a ring, is disconnected;
// others go on.
TEST(ShmEndpoint, strangers_do_no_harm) {
  testing::Watchdog watchdog;
  std::size_t received = 0;
  const auto a = open_one(), b = open_one(&received);
  const auto name = socket_name(nonce_of(*b));
  const auto silent = base::connect_to(name, base::Blocking::no);
  ASSERT_TRUE(silent);
  testing::Random random;
  for (int kind = 0; kind < 8; ++kind) {
    const auto socket = base::connect_to(name, base::Blocking::no);
    ASSERT_TRUE(socket);
    RingOffer offer;
    auto ring = Memory::create(kind == 1 ? ring_bytes / 2 : ring_bytes, Memory::Writers::several);
    ASSERT_TRUE(ring);
    Fd unsealed(::memfd_create("unsealed", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(unsealed.get(), ring_bytes), 0);
    if (kind == 2) offer.layout ^= 1;
    if (kind == 3) offer.capacity *= 2;
    auto bytes = std::as_bytes(std::span(&offer, 1));
    if (kind == 4) bytes = bytes.first(7);
    if (kind == 5) {  // no descriptor
      ASSERT_EQ(::send(socket->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(bytes.size()));
    } else {
      const int fd = kind == 0 ? unsealed.get() : kind == 6 ? STDIN_FILENO : ring->fd();
      ASSERT_TRUE(send_descriptor(*socket, bytes, fd));
    }
    if (kind == 7)  // a ring of noise
      for (std::size_t i = 0; i < ring_bytes; i += 8) {
        const auto noise = random.any();
        std::memcpy(ring->base() + i, &noise, 8);
      }
    turn({b.get()});
    EXPECT_FALSE(take_nudges(*socket)) << "kind " << kind << " was not let go";
  }
  const auto peer = a->reach(b->address());
  ASSERT_TRUE(peer);
  Ends ends;
  ASSERT_TRUE(a->send(**peer, 1, {{}, {}}, ends));
  turn({a.get(), b.get()});
  EXPECT_EQ(ends.count, 1u);
  EXPECT_TRUE(ends.outcome);
  EXPECT_EQ(received, 1u);
}

/// A peer that connects while there are too few descriptors is heard later, and the endpoint sleeps
/// meanwhile.
void expect_sleep_until_there_are_descriptors(rlim_t left) {
  testing::Watchdog watchdog;
  const auto child = testing::start_child([left] {
    std::size_t received = 0;
    const auto a = open_one(), b = open_one(&received);
    if (!a || !b) return false;
    const auto peer = a->reach(b->address());
    Ends ends;
    if (!peer || !a->send(**peer, 1, {{}, {}}, ends)) return false;
    turn({a.get()});
    rlimit few{};
    ::getrlimit(RLIMIT_NOFILE, &few);
    const int lowest = ::dup(STDIN_FILENO);
    ::close(lowest);
    const rlimit fewer{static_cast<rlim_t>(lowest) + left, few.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &fewer) != 0) return false;
    turn({b.get()});
    pollfd ready{*b->wait_fd(), POLLIN, 0};
    const bool sleeps = b->arm() && ::poll(&ready, 1, 0) == 0;
    const bool wakes = ::poll(&ready, 1, -1) == 1;  // after a pause it looks again
    if (received != 0 || ::setrlimit(RLIMIT_NOFILE, &few) != 0) return false;
    while (received == 0) turn({a.get(), b.get()}, 1);
    return sleeps && wakes;
  });
  EXPECT_TRUE(testing::ended_well(testing::reap(child)));
}

TEST(ShmEndpoint, waits_for_descriptors_asleep) {
  expect_sleep_until_there_are_descriptors(0);
}

/// For the connection there is a descriptor, for the ring that comes with it there is none.
TEST(ShmEndpoint, waits_for_the_second_descriptor_asleep) {
  expect_sleep_until_there_are_descriptors(1);
}

TEST(ShmEndpoint, a_key_fits_only_its_endpoint) {
  const auto a = open_one(), b = open_one(), c = open_one();
  std::vector<std::byte> memory(100);
  const auto region = b->expose(memory);
  const auto to_c = a->reach(c->address());
  ASSERT_TRUE(region && to_c);
  const auto key = a->import_key(**to_c, (*region)->packed_key());
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, Errc::corrupt);
}

// A slot that is used again makes a new key; the old one fits nothing.
TEST(ShmEndpoint, a_key_outlives_its_region_to_no_avail) {
  const auto a = open_one(), b = open_one();
  std::vector<std::byte> memory(100, std::byte{1}), target(100);
  const auto local = a->expose(target);
  const auto peer = a->reach(b->address());
  ASSERT_TRUE(local && peer);
  auto first = b->expose(memory);
  const auto old_key = a->import_key(**peer, (*first)->packed_key());
  first->reset();
  const auto second = b->expose(memory);
  const auto new_key = a->import_key(**peer, (*second)->packed_key());
  ASSERT_TRUE(old_key && new_key);
  Ends old_ends, new_ends;
  ASSERT_TRUE(a->get({**old_key, 0}, {**local, 0, 100}, old_ends));
  ASSERT_TRUE(a->get({**new_key, 0}, {**local, 0, 100}, new_ends));
  EXPECT_EQ(old_ends.count + new_ends.count, 0u) << "done() ran inside get()";
  a->progress();
  ASSERT_EQ(old_ends.count, 1u);
  ASSERT_FALSE(old_ends.outcome);
  EXPECT_EQ(old_ends.outcome.error().code, Errc::invalid);
  ASSERT_EQ(new_ends.count, 1u);
  EXPECT_TRUE(new_ends.outcome);
  EXPECT_EQ(target, memory);
}

// EFAULT is the reader's error, and the owner's none.
TEST(ShmEndpoint, memory_that_is_not_there_is_the_readers_error) {
  const auto a = open_one(), b = open_one();
  void* at = ::mmap(nullptr, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  const auto region = b->expose({static_cast<std::byte*>(at), 2 * page_bytes});
  std::vector<std::byte> target(2 * page_bytes);
  const auto local = a->expose(target);
  const auto peer = a->reach(b->address());
  ASSERT_TRUE(region && local && peer);
  const auto key = a->import_key(**peer, (*region)->packed_key());
  ASSERT_TRUE(key);
  ASSERT_EQ(::munmap(static_cast<std::byte*>(at) + page_bytes, page_bytes), 0);
  for (const std::size_t offset : {std::size_t{0}, page_bytes}) {
    Ends ends;
    ASSERT_TRUE(a->get({**key, offset}, {**local, 0, 2 * page_bytes - offset}, ends));
    a->progress();
    ASSERT_EQ(ends.count, 1u);
    ASSERT_FALSE(ends.outcome) << offset;
    EXPECT_EQ(ends.outcome.error().code, Errc::os);
    EXPECT_EQ(ends.outcome.error().sys, EFAULT);
  }
  Ends ends;
  ASSERT_TRUE(a->get({**key, 0}, {**local, 0, page_bytes}, ends));
  a->progress();
  EXPECT_TRUE(ends.count == 1 && ends.outcome);
  ::munmap(at, page_bytes);
}

// V2: a reader of a region that is being destroyed gets an error or the bytes of the region, never those
// stored later.
TEST(ShmEndpoint, a_read_that_meets_the_regions_end_is_an_error) {
  testing::Watchdog watchdog;
  std::vector<RegionEpoch> epochs(SharedPages::regions);
  RegionTable table(epochs.data());
  std::vector<std::byte> memory(64 << 10), target(64 << 10);
  std::mutex mutex;
  PackedKey shown;
  std::atomic<bool> stop{false};
  std::thread owner([&] {
    while (!stop) {
      std::fill(memory.begin(), memory.end(), std::byte{1});
      const auto entry = table.allocate();
      {
        const std::lock_guard lock(mutex);
        shown.slot = entry->slot;
        shown.epoch = entry->epoch;
        shown.base = reinterpret_cast<std::uintptr_t>(memory.data());
        shown.length = memory.size();
      }
      std::this_thread::yield();
      table.retire(entry->slot);
      std::fill(memory.begin(), memory.end(), std::byte{2});
    }
  });
  const auto right = [](std::byte b) { return b == std::byte{1}; };
  unsigned read = 0, gone = 0, wrong = 0;
  while (read < testing::rounds(2'000) || gone == 0) {
    PackedKey key;
    {
      const std::lock_guard lock(mutex);
      key = shown;
    }
    if (key.length == 0) continue;
    const auto got = read_region(::getpid(), epochs.data(), key, 0, target);
    wrong += got && !std::all_of(target.begin(), target.end(), right);
    ++(got ? read : gone);
    if (!got) std::this_thread::yield();
  }
  stop = true;
  owner.join();
  EXPECT_EQ(wrong, 0u) << "of " << read;
}

TEST(ShmEndpoint, no_ring_is_left_behind) {
  const auto rings = [] {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
      count += line.find("memfd:weft-shared") != std::string::npos;
    return count;
  };
  const auto b = open_one();
  const int before = rings();
  for (int round = 0; round < 20; ++round) {
    const auto a = open_one();
    const auto peer = a->reach(b->address());
    ASSERT_TRUE(peer);
    Ends ends;
    ASSERT_TRUE(a->send(**peer, 1, {{}, {}}, ends));
    turn({a.get(), b.get()});
    EXPECT_GT(rings(), before);
  }
  turn({b.get()});
  EXPECT_EQ(rings(), before);
}

TEST(ShmEndpoint, no_descriptor_is_left_behind) {
  const auto count = [] {
    int open = 0;
    for (int fd = 0; fd < 1000; ++fd) open += ::fcntl(fd, F_GETFD) >= 0;
    return open;
  };
  const int before = count();
  for (int round = 0; round < 20; ++round) {
    const auto a = open_one(), b = open_one();
    const auto there = a->reach(b->address()), back = b->reach(a->address());
    ASSERT_TRUE(there && back);
    Ends one, two;
    ASSERT_TRUE(a->send(**there, 1, {{}, {}}, one) && b->send(**back, 1, {{}, {}}, two));
    turn({a.get(), b.get()});
    EXPECT_TRUE(one.count == 1 && two.count == 1);
  }
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace weft::shm
