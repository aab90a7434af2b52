// SPDX-License-Identifier: BSD-3-Clause
// Collectives: fences without data, of parts of the job, and with data.
#include <time.h>

#include <atomic>

#include "bench/weftbench/phases/marked_cards.hpp"
#include "bench/weftbench/phases/rounds.hpp"

namespace weft::bench {
namespace {

void measure_set(const Context& c, const std::string& bench, const std::vector<pmix_proc_t>& members,
                 bool is_member) {
  measure_part(c, bench, static_cast<unsigned>(members.size()), is_member, [&] {
    expect_success(PMIx_Fence(members.data(), members.size(), nullptr, 0), "PMIx_Fence of a part of the job");
  });
}

/// A fence that is opened, and waited for later. The object outlives its last wait(), since the library's
/// thread may still be about to wake the waiting one.
class OpenFence {
 public:
  void open(const std::vector<pmix_proc_t>& members) {
    is_over_ = false;
    const auto on_end = [](pmix_status_t status, void* self) {
      auto& fence = *static_cast<OpenFence*>(self);
      fence.status_ = status;
      fence.is_over_ = true;
      fence.is_over_.notify_one();
    };
    expect_success(PMIx_Fence_nb(members.data(), members.size(), nullptr, 0, on_end, this), "PMIx_Fence_nb");
  }
  void wait() const {
    is_over_.wait(false);
    expect_success(status_, "PMIx_Fence_nb");
  }

 private:
  pmix_status_t status_ = PMIX_SUCCESS;
  std::atomic<bool> is_over_ = false;
};

/// Prints how many ranks leave a fence without data before the last one has entered it. If any do, that fence
/// is no barrier, and its time is not the time of one.
void print_early_leavers(const Context& c) {
  constexpr timespec delay{0, 100'000'000};
  const bool late = c.job.rank() + 1 == c.job.size();
  c.job.full_fence();
  if (late) nanosleep(&delay, nullptr);
  const std::int64_t begin = now_ns();
  c.job.barrier();
  const bool early = !late && now_ns() - begin < delay.tv_nsec / 2;
  c.print_per_rank("barrier_left_early", "count", early ? 1 : 0);
}

/// Consecutive full fences, with a new card each or with nothing new; ns as this rank sees them. After the
/// last one comes another: what follows it must be what follows each.
std::vector<double> consecutive_fences(const Context& c, unsigned count, MarkedCards* cards) {
  std::vector<double> out;
  for (unsigned i = 0; i < count; ++i) {
    if (cards != nullptr) cards->commit(i);
    c.job.barrier();
    const std::int64_t begin = now_ns();
    c.job.full_fence();
    out.push_back(static_cast<double>(now_ns() - begin));
  }
  if (cards != nullptr) cards->commit(count);
  c.job.barrier();
  c.job.full_fence();
  return out;
}

/// The first one, those after it, the last ones and the last one: of each fence the slowest rank.
void print_growth(const Context& c, const std::string& bench, std::size_t bytes,
                  const std::vector<double>& mine) {
  constexpr std::size_t some = 4;
  const std::vector<double> slowest = slowest_of(c.job.gather(mine));
  if (!c.job.is_root()) return;
  const auto print = [&](const char* which, std::size_t from, std::size_t count) {
    const auto begin = slowest.begin() + static_cast<std::ptrdiff_t>(from);
    c.print(make_record(bench + which, c.job.size(), bytes,
                        Sample{{begin, begin + static_cast<std::ptrdiff_t>(count)}, {}, 1}));
  };
  print("_first", 0, 1);
  print("_early", 1, some);
  print("_late", slowest.size() - some, some);
  print("_last", slowest.size() - 1, 1);
}

}  // namespace

void barrier_phase(const Context& c) {
  measure_rounds(c, "barrier", [&] { c.job.barrier(); });
  print_early_leavers(c);
}

void half_fence_phase(const Context& c) {
  if (c.job.size() < 4) return c.skip("half_fence", "needs 4 ranks");
  const unsigned half = c.job.size() / 2;
  const bool lower = c.job.rank() < half;
  std::vector<pmix_proc_t> members;
  for (unsigned r = lower ? 0 : half; r < (lower ? half : c.job.size()); ++r)
    members.push_back(c.job.proc(r));
  measure_rounds(c, "half_fence", [&] {
    expect_success(PMIx_Fence(members.data(), members.size(), nullptr, 0), "PMIx_Fence of half the job");
  });
}

void part_fence_phase(const Context& c) {
  if (c.job.size() < 2) return c.skip("part_fence", "needs 2 ranks");
  std::vector<pmix_proc_t> pair{c.job.proc(0), c.job.proc(1)}, even;
  for (unsigned r = 0; r < c.job.size(); r += 2) even.push_back(c.job.proc(r));
  measure_set(c, "pair_fence", pair, c.job.rank() < 2);
  measure_set(c, "even_fence", even, c.job.rank() % 2 == 0);
}

void full_fence_phase(const Context& c) {
  for (const unsigned bytes : c.options.card_bytes) {
    MarkedCards cards(c.job, "f", bytes);
    std::vector<double> lone, fence, read, both;
    for (unsigned i = 0; i <= c.options.repeats;
         ++i) {  // repeat 0 is the cold one: it opens what is opened once
      c.job.barrier();
      lone.push_back(time_of([&] { c.job.barrier(); }));
      cards.commit(i);
      c.job.barrier();
      const std::int64_t begin = now_ns();
      c.job.full_fence();
      const std::int64_t middle = now_ns();
      for (unsigned r = 0; r < c.job.size(); ++r) cards.read(r, i);
      const std::int64_t end = now_ns();
      fence.push_back(static_cast<double>(middle - begin));
      read.push_back(static_cast<double>(end - middle));
      both.push_back(static_cast<double>(end - begin));
    }
    c.print_slowest("lone_barrier", bytes, lone);
    c.print_slowest("full_fence", bytes, fence);
    c.print_slowest("read_all", bytes, read);
    c.print_slowest("full_fence_read_all", bytes, both);
  }
}

/// A full_fence_phase() in which no rank reads behind the fence: with more ranks than cores the first to
/// leave it read all cards before the last one gets a core, and what they read is in its time.
void lone_full_fence_phase(const Context& c) {
  for (const unsigned bytes : c.options.card_bytes) {
    MarkedCards cards(c.job, "l", bytes);
    std::vector<double> fence;
    for (unsigned i = 0; i <= c.options.repeats; ++i) {
      cards.commit(i);
      c.job.barrier();
      fence.push_back(time_of([&] { c.job.full_fence(); }));
      c.job.barrier();
    }
    c.print_slowest("lone_full_fence", bytes, fence);
  }
}

/// The cards stay where they are until they are asked for.
void sparse_fence_phase(const Context& c) {
  for (const unsigned bytes : c.options.card_bytes) {
    MarkedCards cards(c.job, "s", bytes);
    std::vector<double> fence;
    for (unsigned i = 0; i <= c.options.repeats; ++i) {
      cards.commit(i);
      c.job.barrier();
      fence.push_back(time_of([&] { c.job.barrier(); }));
    }
    cards.read((c.job.rank() + 1) % c.job.size(), c.options.repeats);
    c.print_slowest("sparse_fence", bytes, fence);
  }
}

/// Two fences that share a third of the ranks are open at once.
void overlapping_fences_phase(const Context& c) {
  const unsigned size = c.job.size(), third = size / 3;
  if (third == 0) return c.skip("overlapping_fences", "needs 3 ranks");
  std::vector<pmix_proc_t> lower, upper;
  for (unsigned r = 0; r < size - third; ++r) lower.push_back(c.job.proc(r));
  for (unsigned r = third; r < size; ++r) upper.push_back(c.job.proc(r));
  const bool in_lower = c.job.rank() < size - third, in_upper = c.job.rank() >= third;
  OpenFence first, second;
  measure_rounds(c, "overlapping_fences", [&] {
    if (in_lower) first.open(lower);
    if (in_upper) second.open(upper);
    if (in_lower) first.wait();
    if (in_upper) second.wait();
  });
}

void repeated_fence_phase(const Context& c) {
  constexpr unsigned count = 20;
  for (const unsigned bytes : c.options.card_bytes) {
    MarkedCards cards(c.job, "r", bytes);
    const std::vector<double> fresh = consecutive_fences(c, count, &cards);
    const std::vector<double> again = consecutive_fences(c, count, nullptr);
    for (unsigned r = 0; r < c.job.size(); ++r) cards.read(r, count - 1);
    print_growth(c, "repeated_fence_new", bytes, fresh);
    print_growth(c, "repeated_fence_same", bytes, again);
  }
}

}  // namespace weft::bench
