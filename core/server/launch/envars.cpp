// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/launch/envars.hpp"

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

namespace weft::server {
namespace {

struct Attribute {
  const char* key;
  EnvarChange change;
};
constexpr Attribute envar_changes[] = {
    {PMIX_SET_ENVAR, EnvarChange::set},         {PMIX_ADD_ENVAR, EnvarChange::add},
    {PMIX_PREPEND_ENVAR, EnvarChange::prepend}, {PMIX_APPEND_ENVAR, EnvarChange::append},
    {PMIX_FIRST_ENVAR, EnvarChange::first},     {PMIX_UNSET_ENVAR, EnvarChange::unset},
};

std::optional<EnvarChange> change_of(std::string_view key) {
  for (const auto& attribute : envar_changes)
    if (key == attribute.key) return attribute.change;
  return std::nullopt;
}

/// Empty: the info is none.
Envar envar_of(EnvarChange change, const pmix_value_t& value) {
  Envar out{change, {}, {}};
  if (value.type == PMIX_STRING && change == EnvarChange::unset && value.data.string != nullptr)
    out.name = value.data.string;
  if (value.type == PMIX_ENVAR && value.data.envar.envar != nullptr) {
    out.name = value.data.envar.envar;
    if (value.data.envar.value != nullptr) out.value = value.data.envar.value;
    if (value.data.envar.separator != '\0') out.separator = value.data.envar.separator;
  }
  return out;
}

/// Appends the change that `info` stands for, if it does.
Result<void> read_change(const pmix_info_t& info, std::optional<std::uint32_t> application, Envars& out) {
  const auto change = change_of(data::key_of(info));
  if (!change) return {};
  auto envar = envar_of(*change, info.value);
  if (!is_valid(envar)) return fail(Errc::invalid, "PMIX_SET_ENVAR, or its like, names no variable");
  envar.application = application;
  out.push_back(std::move(envar));
  return {};
}

/// Empty: it is no array of infos.
std::span<const pmix_info_t> infos_of(const pmix_value_t& value) {
  const auto* array = value.type == PMIX_DATA_ARRAY ? value.data.darray : nullptr;
  if (array == nullptr || array->type != PMIX_INFO || array->array == nullptr) return {};
  return {static_cast<const pmix_info_t*>(array->array), array->size};
}

Result<void> read_application(const pmix_value_t& value, Envars& out) {
  const auto infos = infos_of(value);
  std::optional<std::uint32_t> application;
  for (const auto& info : infos) {
    if (data::key_of(info) != PMIX_APPNUM) continue;
    const auto number = data::as_unsigned(info.value);
    if (number && *number <= UINT32_MAX) application = static_cast<std::uint32_t>(*number);
  }
  const auto before = out.size();
  for (const auto& info : infos)
    if (auto read = read_change(info, application, out); !read) return read;
  if (out.size() != before && !application)
    return fail(Errc::invalid, "PMIX_APP_INFO_ARRAY has no PMIX_APPNUM");
  return {};
}

// ---- an environment

/// The entry of `name`; the place behind the last where there is none.
std::size_t find(char** env, const std::string& name) {
  std::size_t at = 0;
  for (; env != nullptr && env[at] != nullptr; ++at)
    if (std::strncmp(env[at], name.c_str(), name.size()) == 0 && env[at][name.size()] == '=') break;
  return at;
}

Result<void> put(char*** env, std::size_t at, const std::string& entry) {
  char* copy = ::strdup(entry.c_str());
  if (copy == nullptr) return fail(Errc::no_memory);
  if (*env != nullptr && (*env)[at] != nullptr) {
    std::free((*env)[at]);
    (*env)[at] = copy;
    return {};
  }
  auto** grown = static_cast<char**>(std::realloc(*env, (at + 2) * sizeof(char*)));
  if (grown == nullptr) {
    std::free(copy);
    return fail(Errc::no_memory);
  }
  grown[at] = copy;
  grown[at + 1] = nullptr;
  *env = grown;
  return {};
}

void take_out(char** env, std::size_t at) {
  if (env == nullptr || env[at] == nullptr) return;
  std::free(env[at]);
  for (; env[at] != nullptr; ++at) env[at] = env[at + 1];
}

/// The parts of `text` without those that are `part`.
std::string without(std::string_view text, char separator, std::string_view part) {
  std::string out;
  for (;;) {
    const auto end = text.find(separator);
    const auto each = text.substr(0, end);
    if (each != part) out += (out.empty() ? std::string() : std::string(1, separator)) + std::string(each);
    if (end == text.npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::string joined(const std::string& front, char separator, const std::string& back) {
  return front.empty() || back.empty() ? front + back : front + separator + back;
}

}  // namespace

bool is_valid(const Envar& envar) noexcept {
  const bool is_name = !envar.name.empty() && envar.name.find('=') == std::string::npos &&
                       envar.name.find('\0') == std::string::npos;
  return is_name && envar.change <= EnvarChange::unset && envar.value.find('\0') == std::string::npos;
}

Result<void> read_envars(const pmix_info_t* infos, std::size_t count, Envars& out) {
  Envars found;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_application = data::key_of(infos[i]) == PMIX_APP_INFO_ARRAY;
    const auto read =
        is_application ? read_application(infos[i].value, found) : read_change(infos[i], std::nullopt, found);
    if (!read) return read;
  }
  out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  return {};
}

Result<void> apply(const Envar& envar, char*** env) {
  const auto at = find(*env, envar.name);
  const char* const entry = *env != nullptr ? (*env)[at] : nullptr;
  const std::string old = entry != nullptr ? entry + envar.name.size() + 1 : "";
  const auto set = [&](const std::string& value) { return put(env, at, envar.name + "=" + value); };
  switch (envar.change) {
    case EnvarChange::set:
      return set(envar.value);
    case EnvarChange::add:
      return entry != nullptr ? Result<void>() : set(envar.value);
    case EnvarChange::prepend:
      return set(joined(envar.value, envar.separator, old));
    case EnvarChange::append:
      return set(joined(old, envar.separator, envar.value));
    case EnvarChange::first:
      return set(joined(envar.value, envar.separator, without(old, envar.separator, envar.value)));
    case EnvarChange::unset:
      take_out(*env, at);
      return {};
  }
  return {};
}

}  // namespace weft::server
