// SPDX-License-Identifier: BSD-3-Clause
#include "bench/weftbench/process.hpp"

#include <filesystem>
#include <fstream>
#include <string_view>

namespace weft::bench {
namespace {

std::string proc_file(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

/// Sum of the numbers after the given names in a file of "Name:   number unit" lines; nullopt: none of them
/// there.
std::optional<double> sum_of(const std::string& path, std::initializer_list<std::string_view> names) {
  std::ifstream file(path);
  std::optional<double> sum;
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = line;
    for (const std::string_view name : names) {
      if (text.substr(0, name.size()) != name || text.substr(name.size(), 1) != ":") continue;
      sum = sum.value_or(0) + std::stod(line.substr(name.size() + 1));
    }
  }
  return sum;
}

}  // namespace

std::optional<Footprint> footprint(pid_t pid) {
  const auto rss = sum_of(proc_file(pid, "status"), {"VmRSS"});
  const auto threads = sum_of(proc_file(pid, "status"), {"Threads"});
  const auto alone = sum_of(proc_file(pid, "smaps_rollup"), {"Private_Dirty"});
  if (!rss || !alone || !threads) return std::nullopt;
  return Footprint{*rss, *alone, *threads};
}

std::optional<double> open_descriptors(pid_t pid) {
  std::error_code error;
  double count = 0;
  std::filesystem::directory_iterator each(proc_file(pid, "fd"), error);
  if (error) return std::nullopt;
  for (; each != std::filesystem::directory_iterator(); each.increment(error)) count += 1;
  return count;
}

bool maps_library(const std::string& part) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto slash = line.rfind('/');
    if (slash != std::string::npos && line.find(part, slash) != std::string::npos) return true;
  }
  return false;
}

}  // namespace weft::bench
