// SPDX-License-Identifier: BSD-3-Clause
#include "core/topology/local.hpp"

#include <atomic>
#include <mutex>
#include <utility>

namespace weft::topology {
namespace {

// A process runs on one node, and callers compare and keep the pointer: so there is one topology, for ever.
struct Local {
  std::atomic<void*> topology{nullptr};
  std::mutex loading;  // guards the members below
  const void* processors = nullptr;
  std::function<std::string()> xml_source;
};
Local& local() {
  static Local* const one = new Local;  // never destroyed: other threads may use it while the process exits
  return *one;
}

Result<void*> load(const Module& module, const std::function<std::string()>& xml_source) {
  const std::string xml = xml_source ? xml_source() : std::string();
  if (!xml.empty()) {
    // The XML may come from a server with another hwloc; then this process discovers the topology itself.
    if (auto topology = module.load_topology(xml.c_str(), Origin::this_node)) return topology;
  }
  return module.load_topology(nullptr, Origin::this_node);
}

/// cpuset_of: makes the processors with the module.
template <class CpusetOf>
Result<std::string> locality_with(const CpusetOf& cpuset_of) {
  const auto processors = local_processors();
  if (!processors) return fail(processors.error());
  const Module& module = **load_module();
  const Result<void*> cpuset = cpuset_of(module);
  if (!cpuset) return fail(cpuset.error());
  const auto text = module.locality(*processors, *cpuset);
  module.destroy_cpuset(*cpuset);
  if (!text) return fail(text.error());
  return std::string(source_name) + ":" + *text;
}

}  // namespace

void set_local_xml_source(std::function<std::string()> source) {
  const std::lock_guard lock(local().loading);
  local().xml_source = std::move(source);
}

Result<void*> local_topology() {
  Local& here = local();
  if (void* const known = here.topology.load(std::memory_order_acquire)) return known;  // T1 <- T0
  const auto module = load_module();
  if (!module) return fail(module.error());
  const std::lock_guard lock(here.loading);
  if (void* const known = here.topology.load(std::memory_order_relaxed)) return known;
  auto topology = load(**module, here.xml_source);
  if (topology) here.topology.store(*topology, std::memory_order_release);  // T0 -> T1: it is complete
  return topology;
}

Result<const void*> local_processors() {
  Local& here = local();
  if (const void* const known = here.topology.load(std::memory_order_acquire)) return known;  // T1 <- T0
  const auto module = load_module();
  if (!module) return fail(module.error());
  const std::lock_guard lock(here.loading);
  if (here.processors != nullptr) return here.processors;
  const auto processors = (*module)->load_processors();
  if (!processors) return fail(processors.error());
  return here.processors = *processors;
}

Result<std::string> locality_of(std::string_view cpuset) {
  const auto list = without_source(cpuset);
  if (!list) return fail(list.error());
  return locality_with([&](const Module& module) { return module.parse_cpuset(*list); });
}

Result<std::string> own_locality() {
  return locality_with([](const Module& module) { return module.current_cpuset(false); });
}

bool is_local(const void* topology) noexcept {
  return topology != nullptr && topology == local().topology.load(std::memory_order_acquire);
}

}  // namespace weft::topology
