// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/processors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/process/fd.hpp"

namespace weft::placement {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

/// Empty when the file is not there: /sys may be hidden in a container.
std::string small_file(const std::string& path) {
  const process::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::array<char, 4096> bytes;
  const auto length = ::read(file.get(), bytes.data(), bytes.size());
  return length > 0 ? std::string(bytes.data(), static_cast<std::size_t>(length)) : std::string();
}

std::vector<unsigned> allowed_threads() {
  // The raw call, since cpu_set_t ends at 1024 and the kernel's mask need not.
  std::array<unsigned long, 1024> mask{};
  const long bytes = ::syscall(SYS_sched_getaffinity, 0, sizeof mask, mask.data());
  std::vector<unsigned> threads;
  constexpr unsigned bits = 8 * sizeof(unsigned long);
  for (unsigned i = 0; bytes > 0 && i < static_cast<unsigned>(bytes) * 8; ++i) {
    if ((mask[i / bits] >> (i % bits) & 1) != 0) threads.push_back(i);
  }
  return threads;
}

std::uint32_t count_cores(const std::vector<unsigned>& threads) {
  const auto count = static_cast<std::uint32_t>(threads.size());
  if (small_file("/sys/devices/system/cpu/smt/active").compare(0, 1, "1") != 0) return count;
  std::vector<std::string> siblings;  // threads of one core name the same set
  siblings.reserve(threads.size());
  for (const unsigned thread : threads) {
    siblings.push_back(
        small_file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", thread)));
  }
  std::sort(siblings.begin(), siblings.end());
  return static_cast<std::uint32_t>(std::unique(siblings.begin(), siblings.end()) - siblings.begin());
}

std::uint32_t count_numa_nodes() {
  const std::string list = small_file("/sys/devices/system/node/online");  // "0" or "0-3,8"
  std::uint32_t count = 0;
  for (const char* at = list.c_str(); *at >= '0' && *at <= '9';) {
    char* end = nullptr;
    const unsigned long first = std::strtoul(at, &end, 10);
    const unsigned long last = *end == '-' ? std::strtoul(end + 1, &end, 10) : first;
    count += static_cast<std::uint32_t>(last - first + 1);
    at = *end == ',' ? end + 1 : end;
  }
  return std::max(1U, count);
}

}  // namespace

Processors count_processors(const std::vector<unsigned>& only) {
  auto threads = allowed_threads();
  if (!only.empty())
    std::erase_if(threads,
                  [&](unsigned thread) { return !std::binary_search(only.begin(), only.end(), thread); });
  if (threads.empty()) return {};
  return {static_cast<std::uint32_t>(threads.size()), std::max(1U, count_cores(threads)), count_numa_nodes()};
}

void check_allowed(const std::vector<unsigned>& processors, std::string_view host) {
  const auto allowed = allowed_threads();
  std::vector<unsigned> missing;
  std::set_difference(processors.begin(), processors.end(), allowed.begin(), allowed.end(),
                      std::back_inserter(missing));
  if (!missing.empty())
    throw Stop(exit_status::usage, messages::processors_not_there(missing, allowed, host));
}

}  // namespace weft::placement
