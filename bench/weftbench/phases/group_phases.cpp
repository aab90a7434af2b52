// SPDX-License-Identifier: BSD-3-Clause
// Groups: constructed and ended by the whole job, by two ranks, many at once. Beside them two full fences of
// the same processes, in the same run, which is what a group is measured against.
#include <unistd.h>

#include <array>
#include <atomic>

#include "bench/weftbench/phases/rounds.hpp"

namespace weft::bench {
namespace {

constexpr unsigned at_once = 16;

void construct(const char* name, const std::vector<pmix_proc_t>& members, const pmix_info_t* infos = nullptr,
               std::size_t count = 0) {
  expect_success(PMIx_Group_construct(name, members.data(), members.size(), infos, count, nullptr, nullptr),
                 "PMIx_Group_construct");
}

void destruct(const char* name) {
  expect_success(PMIx_Group_destruct(name, nullptr, 0), "PMIx_Group_destruct");
}

/// How many callbacks have come; PMIx calls them on a thread of its own.
class Count {
 public:
  static void on_made(pmix_status_t status, pmix_info_t*, std::size_t, void* self,
                      pmix_release_cbfunc_t release, void* held) {
    if (release != nullptr) release(held);
    on_ended(status, self);
  }
  static void on_ended(pmix_status_t status, void* self) {
    auto& count = *static_cast<Count*>(self);
    if (status != PMIX_SUCCESS) count.failed_.store(status, std::memory_order_relaxed);
    count.ended_.fetch_add(1, std::memory_order_release);
    count.ended_.notify_one();
  }
  void wait_for(unsigned wanted) {
    for (auto seen = ended_.load(std::memory_order_acquire); seen != wanted;
         seen = ended_.load(std::memory_order_acquire))
      ended_.wait(seen);
    expect_success(failed_.load(std::memory_order_relaxed), "a group of many at once");
  }

 private:
  std::atomic<unsigned> ended_{0};
  std::atomic<pmix_status_t> failed_{PMIX_SUCCESS};
};

void make_many(const std::vector<pmix_proc_t>& members) {
  std::array<std::string, at_once> names;
  for (unsigned i = 0; i < at_once; ++i) names[i] = "weftbench." + std::to_string(i);
  Count made, ended;
  for (const auto& name : names)
    expect_success(PMIx_Group_construct_nb(name.c_str(), members.data(), members.size(), nullptr, 0,
                                           Count::on_made, &made),
                   "PMIx_Group_construct_nb");
  made.wait_for(at_once);
  for (const auto& name : names)
    expect_success(PMIx_Group_destruct_nb(name.c_str(), nullptr, 0, Count::on_ended, &ended),
                   "PMIx_Group_destruct_nb");
  ended.wait_for(at_once);
}

/// A thousand groups at once: what the first and the last hundred cost, and what the server keeps for each
/// member of each.
void measure_alive(const Context& c, const std::vector<pmix_proc_t>& all) {
  constexpr unsigned count = 1000, some = 100;
  const auto name_of = [](unsigned i) { return "weftbench.alive." + std::to_string(i); };
  const pid_t server = c.options.server_pid != 0 ? c.options.server_pid : getppid();
  const auto before = footprint(server);
  std::vector<double> times;
  for (unsigned i = 0; i < count; ++i) times.push_back(time_of([&] { construct(name_of(i).c_str(), all); }));
  const auto after = footprint(server);
  c.print(make_record("group_alive_first", c.job.size(), 0,
                      Sample{{times.begin(), times.begin() + some}, {}, 1}));
  c.print(make_record("group_alive_last", c.job.size(), 0, Sample{{times.end() - some, times.end()}, {}, 1}));
  if (before && after)
    c.print(make_record("group_alive_server_memory", c.job.size(), "B",
                        {1024 * (after->private_kib - before->private_kib) / count / c.job.size()}));
  for (unsigned i = 0; i < count; ++i) destruct(name_of(i).c_str());
}

}  // namespace

void group_phase(const Context& c) {
  const std::vector<pmix_proc_t> all{c.job.proc(PMIX_RANK_WILDCARD)};
  const auto first = PMIx_Group_construct("weftbench", all.data(), all.size(), nullptr, 0, nullptr, nullptr);
  if (first == PMIX_ERR_NOT_SUPPORTED) return c.skip("group", "this library or its host has no groups");
  expect_success(first, "PMIx_Group_construct");
  destruct("weftbench");
  const auto with_context = flag_info(PMIX_GROUP_ASSIGN_CONTEXT_ID);
  measure_rounds(c, "group_two_fences", [&] {
    c.job.full_fence();
    c.job.full_fence();
  });
  measure_rounds(c, "group_all", [&] {
    construct("weftbench", all);
    destruct("weftbench");
  });
  measure_rounds(c, "group_all_context", [&] {
    construct("weftbench", all, &with_context, 1);
    destruct("weftbench");
  });
  measure_rounds(c, "group_16_at_once", [&] { make_many(all); });
  measure_alive(c, all);
  if (c.job.size() < 2) return;
  const std::vector<pmix_proc_t> pair{c.job.proc(0), c.job.proc(1)};
  measure_part(c, "group_pair", 2, c.job.rank() < 2, [&] {
    construct("weftbench.pair", pair);
    destruct("weftbench.pair");
  });
}

void connect_phase(const Context& c) {
  const auto all = c.job.proc(PMIX_RANK_WILDCARD);
  const auto first = PMIx_Connect(&all, 1, nullptr, 0);
  if (first == PMIX_ERR_NOT_SUPPORTED) return c.skip("connect", "this library or its host connects nothing");
  expect_success(first, "PMIx_Connect");
  expect_success(PMIx_Disconnect(&all, 1, nullptr, 0), "PMIx_Disconnect");
  measure_rounds(c, "connect", [&] {
    expect_success(PMIx_Connect(&all, 1, nullptr, 0), "PMIx_Connect");
    expect_success(PMIx_Disconnect(&all, 1, nullptr, 0), "PMIx_Disconnect");
  });
}

}  // namespace weft::bench
