// SPDX-License-Identifier: BSD-3-Clause
#include "core/topology/opaque_types.hpp"

#include <cstring>

#include "core/data/types/opaque.hpp"
#include "core/topology/local.hpp"

namespace weft::topology {
namespace {

// A handle without a source is from this module: no other code creates such handles.
const Module* module_for(const char* source) noexcept try {
  if (source != nullptr && !is_our_source(source)) return nullptr;
  const auto module = load_module();
  return module ? *module : nullptr;
} catch (...) {  // out of memory while the module was loaded
  return nullptr;
}

char* text_or_null(const Result<std::string>& text) noexcept {
  return text ? ::strdup(text->c_str()) : nullptr;
}

char* topology_to_text(const char* source, const void* handle) {
  const Module* const module = module_for(source);
  return module == nullptr ? nullptr : text_or_null(module->export_topology(handle));
}
void* topology_from_text(const char* source, const char* text) {
  const Module* const module = module_for(source);
  return module == nullptr ? nullptr : module->load_topology(text, Origin::elsewhere).value_or(nullptr);
}
void* copy_of_topology(const char* source, const void* handle) {
  // The node's own topology is shared: it is read-only, and end_topology() does not destroy it.
  if (is_local(handle)) return const_cast<void*>(handle);
  const Module* const module = module_for(source);
  return module == nullptr ? nullptr : module->copy_topology(handle).value_or(nullptr);
}
void end_topology(const char* source, void* handle) noexcept {
  if (is_local(handle)) return;
  if (const Module* const module = module_for(source)) module->destroy_topology(handle);
}
bool same_topology(const void* first, const void* second) noexcept try {
  const Module* const module = module_for(nullptr);
  if (module == nullptr) return false;
  const auto a = module->export_topology(first), b = module->export_topology(second);
  return a && b && *a == *b;
} catch (...) {  // out of memory
  return false;
}

char* describe_topology(const char* source, const void* handle) try {
  const Module* const module = module_for(source);
  return module == nullptr ? nullptr : ::strdup(module->describe_topology(handle).c_str());
} catch (...) {  // out of memory
  return nullptr;
}

char* cpuset_to_text(const char* source, const void* handle) {
  const Module* const module = module_for(source);
  return module == nullptr ? nullptr : text_or_null(module->format_cpuset(handle));
}
void* cpuset_from_text(const char* source, const char* text) {
  const Module* const module = module_for(source);
  return module == nullptr ? nullptr : module->parse_cpuset(text).value_or(nullptr);
}
void* copy_of_cpuset(const char* source, const void* handle) {
  const Module* const module = module_for(source);
  return module == nullptr ? nullptr : module->copy_cpuset(handle).value_or(nullptr);
}
void end_cpuset(const char* source, void* handle) noexcept {
  if (const Module* const module = module_for(source)) module->destroy_cpuset(handle);
}
bool same_cpuset(const void* first, const void* second) noexcept {
  const Module* const module = module_for(nullptr);
  return module != nullptr && module->equal_cpusets(first, second);
}

constexpr data::OpaqueOps topology_ops{topology_to_text, topology_from_text, copy_of_topology,
                                       end_topology,     same_topology,      describe_topology};
constexpr data::OpaqueOps cpuset_ops{cpuset_to_text, cpuset_from_text, copy_of_cpuset,
                                     end_cpuset,     same_cpuset,      cpuset_to_text};

}  // namespace

void install_opaque_types() noexcept {
  data::set_opaque_ops(data::Opaque::topology, &topology_ops);
  data::set_opaque_ops(data::Opaque::cpuset, &cpuset_ops);
}

}  // namespace weft::topology
