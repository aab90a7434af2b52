// SPDX-License-Identifier: BSD-3-Clause
// What the tests of shared structures have in common: memory of an exact size, memory that a fork shares,
// children that cannot outlive a hang, and random numbers that can be had again.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "transport/shm/segment.hpp"

namespace weft::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif

/// Rounds of a loop: a tenth where each access is checked.
constexpr unsigned rounds(unsigned n) {
  return sanitized ? n / 10 : n;
}

/// Seconds after which a test hangs; under a sanitizer, on a busy machine, it may just be slow.
constexpr unsigned patience(unsigned seconds) {
  return sanitized ? 4 * seconds : seconds;
}

/// So many rounds of processes or threads that wait for each other, or as many as some seconds are enough
/// for: on a machine that others keep busy a round may last as long as their turns do.
class Rounds {
 public:
  explicit Rounds(unsigned most) : most_(rounds(most)) {}
  /// Whether there is another one after so many. One in `every` looks at the clock.
  bool go_on(unsigned done, unsigned every = 64) const {
    return done < most_ && (done % every != 0 || std::chrono::steady_clock::now() < end_);
  }

 private:
  unsigned most_;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(5);
};

/// Zeroed heap memory at a cache line, with nothing behind its last byte: AddressSanitizer sees one byte too
/// far.
class ExactBlock {
 public:
  explicit ExactBlock(std::size_t bytes) : bytes_(bytes) {
    void* at = nullptr;
    if (::posix_memalign(&at, 64, bytes) != 0) std::abort();
    std::memset(at, 0, bytes);
    memory_.reset(static_cast<std::byte*>(at));
  }
  std::byte* get() const { return memory_.get(); }
  std::size_t size() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_;
};

/// Zeroed memory of a memfd, shared with every child.
class SharedBlock {
 public:
  explicit SharedBlock(std::size_t bytes) : memory_(make(shm::page_aligned(bytes))) {}
  std::byte* get() const { return memory_.base(); }
  int fd() const { return memory_.fd(); }

 private:
  static shm::Memory make(std::size_t bytes) {
    auto memory = shm::Memory::create(bytes, shm::Memory::Writers::several);
    if (!memory) std::abort();
    return std::move(*memory);
  }
  shm::Memory memory_;
};

/// A hang ends the process by SIGALRM instead of the whole run's patience.
class Watchdog {
 public:
  explicit Watchdog(unsigned seconds = 60) { ::alarm(patience(seconds)); }
  ~Watchdog() { ::alarm(0); }
};

/// Runs body() in a child, which has a watchdog of its own; exit status 0 if it returned true.
template <class Body>
pid_t start_child(Body&& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(patience(60));
  ::_exit(body() ? 0 : 1);  // nothing of the parent's is run a second time
}

/// Waits for the child's end; its wait status.
inline int reap(pid_t child) {
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

inline bool ended_well(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Random numbers of a test; the seed is printed, WEFT_TEST_SEED repeats it.
class Random {
 public:
  Random() : Random(choose()) {}
  explicit Random(std::uint64_t seed) : engine_(seed) {
    std::printf("WEFT_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    ::testing::Test::RecordProperty("seed", std::to_string(seed));
  }
  /// 0 .. n-1
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  std::uint64_t any() { return engine_(); }

 private:
  static std::uint64_t choose() {
    const char* given = std::getenv("WEFT_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  }
  std::mt19937_64 engine_;
};

/// Writes a few bytes of `memory` as a client that lost its mind would: single bits, extreme values, noise.
inline void damage(Random& random, std::byte* memory, std::size_t bytes) {
  const auto hits = 1 + random.below(4);
  for (std::uint64_t i = 0; i < hits; ++i) {
    const auto width = std::size_t{1} << random.below(4);
    if (bytes < width) continue;
    const auto at = random.below(bytes - width + 1) & ~(width - 1);
    std::uint64_t value = 0;
    std::memcpy(&value, memory + at, width);
    switch (random.below(5)) {
      case 0:
        value ^= std::uint64_t{1} << random.below(64);
        break;
      case 1:
        value = ~std::uint64_t{0} - random.below(3);
        break;
      case 2:
        value += 8 * (random.below(9) - 4);
        break;
      case 3:
        value = random.below(bytes + 64);
        break;
      default:
        value = random.any();
        break;
    }
    std::memcpy(memory + at, &value, width);
  }
}

}  // namespace weft::testing
