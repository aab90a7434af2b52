// SPDX-License-Identifier: BSD-3-Clause
// Collectives: fences without data, of parts of the job, and with data.
#include "bench/weftbench/phases.hpp"

namespace weft::bench {
namespace {

constexpr unsigned rounds_a_batch = 10;

/// All ranks: rounds of op() for about the budget. The number of rounds is rank 0's choice, since all must
/// agree.
template <class Op>
void measure_rounds(const Context& c, const std::string& bench, Op&& op) {
  constexpr unsigned warm_rounds = 30;
  for (unsigned i = 0; i < warm_rounds; ++i) op();
  const std::int64_t begin = now_ns();
  for (unsigned i = 0; i < warm_rounds; ++i) op();
  const std::int64_t a_batch = std::max<std::int64_t>((now_ns() - begin) * rounds_a_batch / warm_rounds, 1);
  const auto wish = std::clamp<std::int64_t>(c.budget().total_ns / a_batch, 20, 4000);
  const std::uint64_t batches = c.job.from_root(static_cast<std::uint64_t>(wish));
  op();  // so that nobody still sleeps from that when the first batch begins
  const Sample seen = measure_fixed(op, batches, rounds_a_batch);
  c.job.barrier();
  c.print(make_record(bench, c.job.size(), 0, seen));
}

/// What one rank saw in each repeat.
struct FullFenceTimes {
  std::vector<double> fence, read;
};

/// The card of `rank` in repeat `i`: bytes that a mix-up of ranks or repeats would show.
std::byte mark_of(unsigned rank, unsigned i) {
  return static_cast<std::byte>(rank * 31 + i * 7 + 1);
}

void read_all(const Job& job, const char* key, std::size_t bytes, unsigned i) {
  for (unsigned r = 0; r < job.size(); ++r) {
    const Fetched card = job.get(job.proc(r), key);
    const bool right = card->type == PMIX_BYTE_OBJECT && card->data.bo.size == bytes &&
                       static_cast<std::byte>(card->data.bo.bytes[0]) == mark_of(r, i) &&
                       static_cast<std::byte>(card->data.bo.bytes[bytes - 1]) == mark_of(r, i);
    if (!right) throw Failure("rank " + std::to_string(r) + "'s card came back wrong after the fence");
  }
}

/// Repeat 0 is the cold one: it opens whatever is opened once.
FullFenceTimes full_fences(const Context& c, std::size_t bytes) {
  FullFenceTimes out;
  for (unsigned i = 0; i <= c.options.repeats; ++i) {
    const std::string key = "weftbench.f" + std::to_string(bytes) + "." + std::to_string(i);
    c.job.put(key.c_str(), std::vector<std::byte>(bytes, mark_of(c.job.rank(), i)));
    c.job.commit();
    c.job.barrier();
    const std::int64_t begin = now_ns();
    c.job.full_fence();
    const std::int64_t middle = now_ns();
    read_all(c.job, key.c_str(), bytes, i);
    const std::int64_t end = now_ns();
    out.fence.push_back(static_cast<double>(middle - begin));
    out.read.push_back(static_cast<double>(end - middle));
  }
  return out;
}

/// Per repeat the slowest rank, since a job goes on when the last one does. of(rank, i) in ns.
template <class Of>
Record slowest_ranks(const Context& c, const char* bench, std::size_t bytes, Of&& of) {
  Sample slowest;
  std::vector<double> everybody;
  double first = 0;
  for (unsigned i = 0; i <= c.options.repeats; ++i) {
    double worst = 0;
    for (unsigned r = 0; r < c.job.size(); ++r) {
      worst = std::max(worst, of(r, i));
      if (i > 0) everybody.push_back(of(r, i));
    }
    if (i == 0) {
      first = worst;
    } else {
      slowest.means.push_back(worst);
    }
  }
  Record record = make_record(bench, c.job.size(), bytes, slowest);
  record.extra = {{"first_ns", first}, {"rank_median_ns", summarize(everybody).median}};
  return record;
}

}  // namespace

void barrier_phase(const Context& c) {
  measure_rounds(c, "barrier", [&] { c.job.barrier(); });
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

void full_fence_phase(const Context& c) {
  for (const unsigned bytes : c.options.card_bytes) {
    const FullFenceTimes mine = full_fences(c, bytes);
    const auto fence = c.job.gather(mine.fence), read = c.job.gather(mine.read);
    if (!c.job.is_root()) continue;
    c.print(slowest_ranks(c, "full_fence", bytes, [&](unsigned r, unsigned i) { return fence[r].at(i); }));
    c.print(slowest_ranks(c, "read_all", bytes, [&](unsigned r, unsigned i) { return read[r].at(i); }));
    c.print(slowest_ranks(c, "full_fence_read_all", bytes,
                          [&](unsigned r, unsigned i) { return fence[r].at(i) + read[r].at(i); }));
  }
}

}  // namespace weft::bench
