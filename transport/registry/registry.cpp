// SPDX-License-Identifier: BSD-3-Clause
#include "transport/registry/registry.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>

#include "transport/base/folder.hpp"

namespace weft::transport {
namespace {

constexpr std::string_view prefix = "transport_", suffix = ".so";
constexpr const char* symbol = "weft_transport_module";

/// Characters allowed in the name of a module file: a name must not lead out of the folders.
bool is_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::vector<std::string> modules_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const std::string_view file : names_in(folder)) {
    if (file.size() <= prefix.size() + suffix.size() || file.substr(0, prefix.size()) != prefix ||
        file.substr(file.size() - suffix.size()) != suffix)
      continue;
    const auto name = file.substr(prefix.size(), file.size() - prefix.size() - suffix.size());
    if (is_name(name)) names.emplace_back(name);
  }
  return names;
}

/// Modules stay loaded for the life of the process: fabric libraries leave threads and exit handlers behind.
struct Loaded {
  std::unique_ptr<Transport> transport;
  std::string why_not;
};

Loaded load(const std::string& file) {
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return {nullptr, ::dlerror()};
  const auto* module = static_cast<const TransportModule*>(::dlsym(library, symbol));
  std::string why_not;
  if (module == nullptr) {
    why_not = file + " defines no " + symbol;
  } else if (module->version != TransportModule::current_version) {
    why_not = file + " was built for version " + std::to_string(module->version) + " of the contract, not " +
              std::to_string(TransportModule::current_version);
  } else if (auto transport =
                 std::unique_ptr<Transport>(module->make == nullptr ? nullptr : module->make())) {
    return {std::move(transport), {}};
  } else {
    why_not = file + " made no transport";
  }
  return {nullptr, why_not};
}

}  // namespace

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  const auto add_once = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const auto& one : built_in_) add_once(one.name);
  for (const auto& folder : folders_)
    for (const auto& name : modules_in(folder)) add_once(name);
  return names;
}

std::string Registry::describe_choices() const {
  std::string text;
  for (const auto& name : names()) text += (text.empty() ? "" : ", ") + name;
  std::string places;
  for (const auto& folder : folders_) places += (places.empty() ? "" : ":") + folder;
  return (text.empty() ? "none is" : "there are " + text) + " (modules are looked for in " +
         (places.empty() ? "no folder" : places) + ")";
}

Registry::OpenResult Registry::open_named(std::string_view name, std::string_view options,
                                          const Opening& with) const {
  OpenResult out{std::string(name), std::string(options), nullptr, nullptr, {}, {}};
  const auto asked = options.empty() ? out.name : out.name + ":" + out.options;
  if (!is_name(name)) {
    out.why_not = "'" + asked + "' is no name of a transport; " + describe_choices();
    return out;
  }
  const auto here =
      std::find_if(built_in_.begin(), built_in_.end(), [&](const BuiltIn& b) { return b.name == name; });
  if (here != built_in_.end()) out.transport = here->make();
  for (auto folder = folders_.begin(); !out.transport && folder != folders_.end(); ++folder) {
    const auto file = *folder + "/" + std::string(prefix) + out.name + std::string(suffix);
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) continue;
    auto loaded = load(file);
    if (!loaded.transport) out.why_not = "transport " + asked + " does not load: " + loaded.why_not;
    out.transport = std::move(loaded.transport);
  }
  if (!out.transport) {
    if (out.why_not.empty()) out.why_not = "there is no transport '" + asked + "'; " + describe_choices();
    return out;
  }
  auto endpoint =
      out.transport->open({.options = options, .key = with.key, .toward = with.toward, .nodes = with.nodes});
  if (endpoint) {
    out.endpoint = std::move(*endpoint);
    out.why_not.clear();
  } else {
    const auto& error = endpoint.error();
    out.why_not = "transport " + asked +
                  " does not open here: " + (*error.what != '\0' ? error.what : "no reason given");
  }
  return out;
}

Registry::OpenResult Registry::open(std::string_view asked, const std::vector<std::string>& preferred,
                                    const Opening& with) const {
  if (!asked.empty()) {
    const auto colon = asked.find(':');
    const auto options = colon == std::string_view::npos ? std::string_view() : asked.substr(colon + 1);
    return open_named(asked.substr(0, colon), options, with);
  }
  OpenResult last;
  std::string reasons;
  for (const auto& name : preferred) {
    last = open(name, {}, with);
    if (last.endpoint) {
      last.passed_over = std::move(reasons);
      return last;
    }
    reasons += (reasons.empty() ? "" : "; ") + last.why_not;
  }
  last.why_not = "no transport works here: " + (reasons.empty() ? describe_choices() : reasons);
  return last;
}

}  // namespace weft::transport
