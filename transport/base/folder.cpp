// SPDX-License-Identifier: BSD-3-Clause
#include "transport/base/folder.hpp"

#include <dirent.h>

#include <algorithm>
#include <memory>

namespace weft::transport {

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), &::closedir);
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr)
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace weft::transport
