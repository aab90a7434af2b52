// SPDX-License-Identifier: BSD-3-Clause
#include "core/topology/loader.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace weft::topology {
namespace {

constexpr std::string_view file_name = "topology.so";

void add_directory(std::vector<std::string>& files, std::string_view directory) {
  if (!directory.empty()) files.push_back(std::string(directory) + "/" + std::string(file_name));
}

// weft/ beside the library, by the name it was opened with and by the name of the file behind that link.
void add_own_directories(std::vector<std::string>& files) {
  Dl_info where{};
  if (::dladdr(reinterpret_cast<const void*>(&load_module), &where) == 0 || where.dli_fname == nullptr)
    return;
  const std::unique_ptr<char, decltype(&::free)> resolved(::realpath(where.dli_fname, nullptr), &::free);
  for (const char* name : {where.dli_fname, static_cast<const char*>(resolved.get())}) {
    if (name == nullptr) continue;
    const std::string_view path(name);
    const std::size_t slash = path.rfind('/');
    if (slash != std::string_view::npos) add_directory(files, std::string(path.substr(0, slash)) + "/weft");
  }
}

std::vector<std::string> candidates() {
  std::vector<std::string> files;
  if (const char* const listed = ::secure_getenv("WEFT_MODULE_PATH")) {
    std::string_view left(listed);
    while (!left.empty()) {
      const std::size_t colon = left.find(':');
      add_directory(files, left.substr(0, colon));
      left.remove_prefix(colon == std::string_view::npos ? left.size() : colon + 1);
    }
  }
  add_own_directories(files);
  return files;
}

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
  for (const auto& file : candidates()) {
    if (const Module* const module = open(file)) {
      loaded.store(module, std::memory_order_release);  // L0 -> L1: the table is complete
      return module;
    }
  }
  return fail(Errc::not_supported, "weft/topology.so was not found");
}

}  // namespace weft::topology
