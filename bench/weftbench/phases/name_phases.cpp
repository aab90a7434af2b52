// SPDX-License-Identifier: BSD-3-Clause
// Published names of 1 KiB: publish and lookup by rank 0 while the others sleep; and from a publish of rank 0
// to the return of a lookup that rank 1 waits in. The clocks of both have to be one machine's.
#include <cstring>
#include <string>
#include <thread>

#include "bench/weftbench/phases/phases.hpp"

namespace weft::bench {
namespace {

constexpr std::size_t value_bytes = 1024;
constexpr unsigned in_a_batch = 20;

/// The value begins with the time at which it was made.
pmix_status_t publish(const std::string& key) {
  char bytes[value_bytes] = {};
  const std::int64_t now = now_ns();
  std::memcpy(bytes, &now, sizeof now);
  pmix_byte_object_t object{bytes, sizeof bytes};
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, key.c_str(), &object, PMIX_BYTE_OBJECT);
  const auto status = PMIx_Publish(&info, 1);
  PMIX_INFO_DESTRUCT(&info);
  return status;
}

/// Returns the time in the value.
std::int64_t look_up(const std::string& key, const pmix_info_t* infos, std::size_t count) {
  pmix_pdata_t data;
  PMIX_PDATA_CONSTRUCT(&data);
  PMIX_LOAD_KEY(data.key, key.c_str());
  expect_success(PMIx_Lookup(&data, 1, infos, count), "PMIx_Lookup");
  std::int64_t out = 0;
  std::memcpy(&out, data.value.data.bo.bytes, sizeof out);
  PMIX_PDATA_DESTRUCT(&data);
  return out;
}

/// The same at all ranks: what their host offers.
bool are_served() {
  pmix_pdata_t data;
  PMIX_PDATA_CONSTRUCT(&data);
  PMIX_LOAD_KEY(data.key, "weftbench.none");
  const auto status = PMIx_Lookup(&data, 1, nullptr, 0);
  PMIX_PDATA_DESTRUCT(&data);
  return status == PMIX_ERR_NOT_FOUND;
}

void alone(const Context& c) {
  Sample published, found;
  if (c.job.is_root()) {
    let_others_sleep();
    unsigned number = 0;
    const auto next = [&number] { return "weftbench.name." + std::to_string(number++); };
    published = measure_fixed([&] { expect_success(publish(next()), "PMIx_Publish"); }, c.options.repeats,
                              in_a_batch);
    found = measure_fixed([] { look_up("weftbench.name.0", nullptr, 0); }, c.options.repeats, in_a_batch);
    expect_success(PMIx_Unpublish(nullptr, nullptr, 0), "PMIx_Unpublish");
  }
  c.job.barrier();
  if (c.job.is_root()) c.reporter.print(make_record("publish", c.job.size(), value_bytes, published));
  if (c.job.is_root()) c.reporter.print(make_record("lookup", c.job.size(), value_bytes, found));
}

void waiting(const Context& c) {
  std::vector<double> times;
  for (unsigned i = 0; i < c.options.repeats; ++i) {
    const auto key = "weftbench.waited." + std::to_string(i);
    c.job.barrier();
    if (c.job.is_root()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // until the lookup waits
      expect_success(publish(key), "PMIx_Publish");
    } else if (c.job.rank() == 1) {
      int all = 0;
      pmix_info_t wait;
      PMIX_INFO_LOAD(&wait, PMIX_WAIT, &all, PMIX_INT);
      const auto published = look_up(key, &wait, 1);
      times.push_back(static_cast<double>(now_ns() - published));
    }
  }
  c.job.barrier();
  c.print_pooled("waiting_lookup", value_bytes, Sample{times, {}, 1});
}

}  // namespace

void name_phase(const Context& c) {
  if (c.job.size() < 2) return c.skip("publish", "it takes two ranks");
  if (!are_served()) return c.skip("publish", "this host keeps no names");
  alone(c);
  waiting(c);
}

}  // namespace weft::bench
