// SPDX-License-Identifier: BSD-3-Clause
#include "transport/base/modules.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include <memory>
#include <string_view>

#include "base/settings.hpp"

namespace weft::transport {

std::vector<std::string> module_folders() {
  std::vector<std::string> folders;
  const auto listed = base::read(base::Variable::module_path).text;
  for (std::string_view left(listed); !left.empty();) {
    const std::size_t colon = left.find(':');
    if (colon != 0) folders.emplace_back(left.substr(0, colon));
    left.remove_prefix(colon == std::string_view::npos ? left.size() : colon + 1);
  }
  Dl_info where{};
  if (::dladdr(reinterpret_cast<const void*>(&module_folders), &where) == 0 || where.dli_fname == nullptr)
    return folders;
  const std::unique_ptr<char, decltype(&::free)> resolved(::realpath(where.dli_fname, nullptr), &::free);
  for (const char* name : {where.dli_fname, static_cast<const char*>(resolved.get())}) {
    if (name == nullptr) continue;
    const std::string_view path(name);
    const std::size_t slash = path.rfind('/');
    if (slash != std::string_view::npos) folders.push_back(std::string(path.substr(0, slash)) + "/weft");
  }
  return folders;
}

}  // namespace weft::transport
