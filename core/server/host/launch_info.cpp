// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/launch_info.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/settings.hpp"

extern char** environ;

namespace weft::server {
namespace {

constexpr const char* launch_key = "weft.launch";
// What a user sets in the shell to steer a fabric has to reach every rank alike.
constexpr std::string_view prefixes[] = {"FI_", "UCX_", "WEFT_"};

bool travels(std::string_view name) {
  if (base::is_internal(name)) return false;  // each process's own
  for (const auto prefix : prefixes)
    if (name.substr(0, prefix.size()) == prefix) return true;
  return false;
}

bool set_envar(const pmix_info_t& info, Variables& out) {
  if (data::key_of(info) != PMIX_SET_ENVAR || info.value.type != PMIX_ENVAR) return false;
  const auto& envar = info.value.data.envar;
  if (envar.envar != nullptr && envar.value != nullptr) out.emplace_back(envar.envar, envar.value);
  return true;
}

}  // namespace

Result<data::Infos> make_launch_info(const pmix_info_t* infos, std::size_t count) {
  Variables variables;
  bool collect = count == 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto key = data::key_of(infos[i]);
    if ((key == PMIX_SETUP_APP_ENVARS || key == PMIX_SETUP_APP_ALL) && data::is_true(infos[i].value))
      collect = true;
    set_envar(infos[i], variables);
  }
  for (char** entry = environ; collect && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos && travels(text.substr(0, equals)))
      variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  data::Infos out;
  if (variables.empty()) return out;
  out.add(launch_key, data::Value::of_bytes(base::encode(variables)));
  return out;
}

Result<Variables> read_launch_info(const pmix_info_t* infos, std::size_t count) {
  Variables out;
  for (std::size_t i = 0; i < count; ++i) {
    if (set_envar(infos[i], out) || data::key_of(infos[i]) != launch_key) continue;
    if (infos[i].value.type != PMIX_BYTE_OBJECT) return fail(Errc::corrupt, "launch information");
    const auto& object = infos[i].value.data.bo;
    auto variables = base::decode<Variables>(as_bytes({object.bytes, object.size}));
    if (!variables) return fail(Errc::corrupt, "launch information");
    out.insert(out.end(), std::make_move_iterator(variables->begin()),
               std::make_move_iterator(variables->end()));
  }
  return out;
}

Result<void> set_variable(char*** env, const std::string& name, const std::string& value) {
  const std::string entry = name + "=" + value;
  char* copy = ::strdup(entry.c_str());
  if (copy == nullptr) return fail(Errc::no_memory);
  std::size_t count = 0;
  for (char** old = *env; old != nullptr && *old != nullptr; ++old, ++count) {
    if (std::strncmp(*old, entry.c_str(), name.size() + 1) != 0) continue;
    std::free(*old);
    *old = copy;
    return {};
  }
  auto** grown = static_cast<char**>(std::realloc(*env, (count + 2) * sizeof(char*)));
  if (grown == nullptr) {
    std::free(copy);
    return fail(Errc::no_memory);
  }
  grown[count] = copy;
  grown[count + 1] = nullptr;
  *env = grown;
  return {};
}

}  // namespace weft::server
