// SPDX-License-Identifier: BSD-3-Clause
#include "transport/registry/order.hpp"

#include <dirent.h>

#include <memory>
#include <string_view>

namespace weft::transport {
namespace {

bool has_entry(const std::string& folder, std::string_view prefix) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), &::closedir);
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr)
    if (entry->d_name[0] != '.' && std::string_view(entry->d_name).starts_with(prefix)) return true;
  return false;
}

}  // namespace

std::vector<std::string> preferred_here(const std::string& sysfs) {
  const auto verbs = sysfs + "/class/infiniband";
  if (has_entry(sysfs + "/class/cxi", "") || has_entry(verbs, "efa") || has_entry(verbs, "hfi1"))
    return {"ofi", "ucx"};
  return {"ucx", "ofi"};
}

}  // namespace weft::transport
