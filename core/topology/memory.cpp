// SPDX-License-Identifier: BSD-3-Clause
#include "core/topology/memory.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "core/data/node_map.hpp"
#include "core/topology/loader.hpp"

namespace weft::topology {
namespace {

constexpr unsigned max_nodes = 1024;  // what the kernel can be built for

}  // namespace

bool has_one_numa_node() noexcept {
  const int file = ::open("/sys/devices/system/node/online", O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  char text[64];
  const ssize_t length = ::read(file, text, sizeof text);
  ::close(file);
  // "0", or a list such as "0-1" or "0,2".
  return length <= 0 || std::string_view(text, static_cast<std::size_t>(length)).find_first_of("-,") ==
                            std::string_view::npos;
}

std::vector<unsigned> usable_numa_nodes() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (has_one_numa_node() || ::sched_getaffinity(0, sizeof mine, &mine) != 0) return {};
  std::vector<unsigned> nodes;
  for (unsigned node = 0; node < max_nodes; ++node) {
    std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    std::string text;
    if (!std::getline(file, text)) continue;
    const auto cpus = data::parse_proc_map(text);  // the same "0-3,8" spelling
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
