// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Publish, PMIx_Lookup and PMIx_Unpublish as the programs of tests call them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/multiproc/harness/values.hpp"

namespace weft::test {

Infos in_range(pmix_data_range_t range);
Infos in_range_of(const std::vector<pmix_proc_t>& procs);
Infos that_persists(pmix_persistence_t persistence, pmix_data_range_t range = PMIX_RANGE_SESSION);
/// PMIX_WAIT, for `seconds` at most; 0: without a limit.
Infos waiting(int seconds = 0, int keys = 0);

pmix_status_t publish(std::string_view key, std::uint64_t value, Infos infos = {});
pmix_status_t publish_bytes(std::string_view key, const std::string& value, Infos infos = {});
pmix_status_t unpublish(std::string_view key, const Infos& infos = {});
pmix_status_t unpublish_all(const Infos& infos = {});

struct Sought {
  pmix_status_t status = PMIX_ERROR;
  std::uint64_t value = 0;
  std::string bytes;
  pmix_proc_t by{};
};
Sought look_up(std::string_view key, const Infos& infos = {});
/// As PMIx_Lookup, with the keys; types of what was not found are PMIX_UNDEF.
pmix_status_t look_up(const std::vector<std::string>& keys, std::vector<pmix_data_type_t>& types,
                      const Infos& infos = {});

/// A lookup that is under way.
class Lookup {
 public:
  explicit Lookup(std::string_view key, const Infos& infos);
  Sought wait();
  bool over() const { return waiter_.over(); }

 private:
  static void on_found(pmix_status_t status, pmix_pdata_t* data, std::size_t count, void* self);
  Waiter waiter_;
  Sought found_;
};

}  // namespace weft::test
