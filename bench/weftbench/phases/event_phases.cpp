// SPDX-License-Identifier: BSD-3-Clause
// Events from rank 0 to all ranks of the job: how long one takes to each handler, and how many come through
// in a row. The clocks of all ranks have to be one machine's.
#include <atomic>
#include <string_view>

#include "bench/weftbench/phases/phases.hpp"

namespace weft::bench {
namespace {

constexpr pmix_status_t one_event = PMIX_EXTERNAL_ERR_BASE - 21, one_of_many = PMIX_EXTERNAL_ERR_BASE - 22;
constexpr const char* number_key = "weftbench.number";
constexpr const char* sent_key = "weftbench.sent";

/// The counts of the handlers, which run on a thread of the library.
struct Heard {
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::uint64_t> wrong{0};  ///< not the next in order: lost, or there twice
  std::atomic<std::int64_t> latency{0};
};
Heard heard;  // events carry no context that lasts

/// Not by a function of the library: others of the soname, which are measured too, lack it.
bool has_key(const pmix_info_t& info, std::string_view key) {
  return key == info.key;
}

void on_event(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t* infos, size_t ninfo, pmix_info_t*,
              size_t, pmix_event_notification_cbfunc_fn_t done, void* open) {
  const std::int64_t now = now_ns();
  std::uint64_t number = 0;
  std::int64_t sent = 0;
  for (size_t i = 0; i < ninfo; ++i) {
    if (has_key(infos[i], number_key)) number = infos[i].value.data.uint64;
    if (has_key(infos[i], sent_key)) sent = infos[i].value.data.int64;
  }
  heard.latency.store(now - sent, std::memory_order_relaxed);
  if (number != heard.count.load(std::memory_order_relaxed))
    heard.wrong.fetch_add(1, std::memory_order_relaxed);
  heard.count.fetch_add(1, std::memory_order_release);
  heard.count.notify_one();
  done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, open);
}

void wait_for(std::uint64_t wanted) {
  for (auto seen = heard.count.load(std::memory_order_acquire); seen < wanted;
       seen = heard.count.load(std::memory_order_acquire))
    heard.count.wait(seen, std::memory_order_acquire);
}

void raise(const Context& c, pmix_status_t code, std::uint64_t number) {
  std::int64_t sent = now_ns();
  pmix_info_t infos[] = {flag_info(PMIX_EVENT_NON_DEFAULT), flag_info(PMIX_EVENT_DO_NOT_CACHE), {}, {}};
  PMIX_INFO_LOAD(&infos[2], number_key, &number, PMIX_UINT64);
  PMIX_INFO_LOAD(&infos[3], sent_key, &sent, PMIX_INT64);
  const auto status = PMIx_Notify_event(code, &c.job.me(), PMIX_RANGE_NAMESPACE, infos, 4, nullptr, nullptr);
  expect_success(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status, "PMIx_Notify_event");
}

class Listener {
 public:
  explicit Listener(pmix_status_t code) {
    heard.count = 0;
    heard.wrong = 0;
    id_ = PMIx_Register_event_handler(&code, 1, nullptr, 0, on_event, nullptr, nullptr);
    if (id_ < 0) expect_success(id_, "PMIx_Register_event_handler");
  }
  ~Listener() { PMIx_Deregister_event_handler(static_cast<size_t>(id_), nullptr, nullptr); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  pmix_status_t id_;
};

}  // namespace

void event_phase(const Context& c) {
  {
    const Listener listener(one_event);
    std::vector<double> latency;
    for (std::uint64_t i = 0; i <= c.options.repeats; ++i) {
      c.job.barrier();
      if (c.job.is_root()) raise(c, one_event, i);
      wait_for(i + 1);
      latency.push_back(static_cast<double>(heard.latency.load(std::memory_order_relaxed)));
    }
    c.job.barrier();
    c.print_slowest("event", 0, latency);
  }
  const std::uint64_t many = c.options.events;
  const Listener listener(one_of_many);
  c.job.barrier();
  const std::int64_t begin = now_ns();
  if (c.job.is_root())
    for (std::uint64_t i = 0; i < many; ++i) raise(c, one_of_many, i);
  wait_for(many);
  const auto mine = static_cast<double>(now_ns() - begin) / static_cast<double>(many);
  c.job.barrier();  // an event that comes twice has come by now
  const auto extra = heard.count.load(std::memory_order_relaxed) - many;
  c.print_per_rank("event_in_a_row", "ns", mine);
  c.print_per_rank("event_lost_or_twice", "count",
                   static_cast<double>(extra + heard.wrong.load(std::memory_order_relaxed)));
}

}  // namespace weft::bench
