// SPDX-License-Identifier: BSD-3-Clause
#include "transport/registry/order.hpp"

#include <algorithm>
#include <string_view>

#include "transport/base/folder.hpp"

namespace weft::transport {
namespace {

bool has_entry(const std::string& folder, std::string_view prefix) {
  const auto names = names_in(folder);
  return std::any_of(names.begin(), names.end(), [&](const auto& name) { return name.starts_with(prefix); });
}

}  // namespace

std::vector<std::string> preferred_on_one_host() {
  return {"shm", "tcp"};
}

std::vector<std::string> preferred_here(const std::string& sysfs) {
  const auto verbs = sysfs + "/class/infiniband";
  const std::string ucx = "ucx:^tcp";  // which would listen for strangers (decision 0011)
  if (has_entry(sysfs + "/class/cxi", "") || has_entry(verbs, "efa") || has_entry(verbs, "hfi1"))
    return {"ofi", ucx, "tcp"};
  if (has_entry(verbs, "")) return {ucx, "ofi", "tcp"};
  return {"tcp"};
}

}  // namespace weft::transport
