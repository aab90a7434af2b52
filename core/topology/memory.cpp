// SPDX-License-Identifier: BSD-3-Clause
#include "core/topology/memory.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "core/data/node_map.hpp"
#include "core/topology/loader.hpp"

namespace weft::topology {
namespace {

constexpr unsigned max_nodes = 1024;  // maximum of a Linux configuration

/// The first line of a small kernel file, without the newline; empty if there is none.
std::string read_line(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char text[4096];
  const ssize_t length = ::read(file, text, sizeof text);
  ::close(file);
  const std::string_view all(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  return std::string(all.substr(0, all.find('\n')));
}

}  // namespace

bool has_one_numa_node() noexcept {
  // "0", or a list such as "0-1" or "0,2".
  return read_line("/sys/devices/system/node/online").find_first_of("-,") == std::string::npos;
}

std::vector<unsigned> usable_numa_nodes() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (has_one_numa_node() || ::sched_getaffinity(0, sizeof mine, &mine) != 0) return {};
  std::vector<unsigned> nodes;
  for (unsigned node = 0; node < max_nodes; ++node) {
    const auto text = read_line("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    if (text.empty()) continue;
    const auto cpus = data::parse_proc_map(text);  // the same notation, "0-3,8"
    if (!cpus) continue;
    const auto& list = cpus->front();
    if (std::any_of(list.begin(), list.end(),
                    [&](auto cpu) { return cpu < CPU_SETSIZE && CPU_ISSET(cpu, &mine); }))
      nodes.push_back(node);
  }
  return nodes;
}

Result<void> interleave_memory(void* address, std::size_t length_bytes, std::span<const unsigned> nodes) {
  if (nodes.size() < 2 || has_one_numa_node()) return {};
  const auto module = load_module();
  if (!module) return fail(module.error());
  return (*module)->interleave(address, length_bytes, nodes);
}

}  // namespace weft::topology
