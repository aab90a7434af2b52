// SPDX-License-Identifier: BSD-3-Clause
#include "core/topology/loader.hpp"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include "transport/base/modules.hpp"

namespace weft::topology {
namespace {

constexpr const char* file_name = "/topology.so";

const Module* open(const std::string& file) {
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto entry = reinterpret_cast<ModuleEntry>(::dlsym(library, module_symbol));
  const Module* const module = entry == nullptr ? nullptr : entry();
  if (module != nullptr && module->version == module_version) return module;
  ::dlclose(library);
  return nullptr;
}

}  // namespace

Result<const Module*> load_module() {
  static std::atomic<const Module*> loaded{nullptr};  // a dlopen handle belongs to the process
  static std::mutex opening;
  if (const Module* const module = loaded.load(std::memory_order_acquire)) return module;  // L1 <- L0
  const std::lock_guard lock(opening);
  if (const Module* const module = loaded.load(std::memory_order_relaxed)) return module;
  for (const auto& folder : transport::module_folders()) {
    if (const Module* const module = open(folder + file_name)) {
      loaded.store(module, std::memory_order_release);  // L0 -> L1: the table is complete
      return module;
    }
  }
  return fail(Errc::not_supported, "weft/topology.so was not found");
}

}  // namespace weft::topology
