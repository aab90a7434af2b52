// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/job/attribute_support.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "core/data/names/call_attributes.hpp"
#include "core/data/names/directive.hpp"
#include "core/data/types/array.hpp"
#include "core/data/types/memory.hpp"
#include "core/server/host/host_attributes.hpp"

namespace weft::abi {
namespace {

struct Level {
  const char *attributes, *functions;
  unsigned char role;  ///< 0: the host's, which no table of ours has
};
const std::array levels = {
    Level{PMIX_CLIENT_ATTRIBUTES, PMIX_CLIENT_FUNCTIONS, data::in_client},
    Level{PMIX_SERVER_ATTRIBUTES, PMIX_SERVER_FUNCTIONS, data::in_server},
    Level{PMIX_TOOL_ATTRIBUTES, PMIX_TOOL_FUNCTIONS, data::in_tool},
    Level{PMIX_HOST_ATTRIBUTES, PMIX_HOST_FUNCTIONS, 0},
};

/// The levels that the qualifiers name; without any, every level.
std::vector<Level> wanted_levels(const data::Infos& qualifiers) {
  std::vector<Level> out;
  bool is_any = false;
  for (const auto& level : levels) {
    if (data::is_set(qualifiers, level.attributes)) out.push_back(level);
    is_any =
        is_any || data::is_set(qualifiers, level.attributes) || data::is_set(qualifiers, level.functions);
  }
  if (!is_any) out.assign(levels.begin(), levels.end());
  return out;
}

/// The host's attributes, one info a call, out of the server's answer.
std::span<const pmix_info_t> calls_of(const pmix_value_t* host) {
  if (host == nullptr || host->type != PMIX_DATA_ARRAY || host->data.darray == nullptr) return {};
  const auto& array = *host->data.darray;
  if (array.type != PMIX_INFO || array.array == nullptr) return {};
  return {static_cast<const pmix_info_t*>(array.array), array.size};
}

/// The attributes of one function at every level.
struct Function {
  const data::CallAttributes* own = nullptr;  ///< null: none of this library's that has attributes
  const pmix_value_t* host = nullptr;         ///< null: the host takes no such call

  static Function of(std::string_view name, std::span<const pmix_info_t> host) {
    Function out{data::attributes_of(name), nullptr};
    if (name.ends_with("_nb")) name.remove_suffix(3);
    for (const auto& call : host)
      if (data::key_of(call) == name) out.host = &call.value;
    return out;
  }
  bool is_known() const { return own != nullptr || host != nullptr; }

  /// PMIX_UNDEF: there are none.
  Result<data::Value> attributes_at(const Level& level) const {
    if (level.role == 0 && host != nullptr && host->type == PMIX_DATA_ARRAY)
      return data::Value::copy_of(*host);
    if (own == nullptr || (own->roles & level.role) == 0 || own->size() == 0)
      return data::Value::adopt(data::empty_value());
    std::vector<pmix_regattr_t> all;
    for (std::size_t i = 0; i < own->size(); ++i) all.push_back(data::description_of(own->attributes[i]));
    return data::value_of_array(PMIX_REGATTR, all.data(), all.size());
  }

  Result<data::Value> attributes_at(const std::vector<Level>& wanted) const {
    data::Infos out;
    for (const auto& level : wanted) {
      auto value = attributes_at(level);
      if (!value) return value;
      out.add(level.attributes, std::move(*value));
    }
    return data::value_of_array(PMIX_INFO, out.data(), out.size());
  }
};

std::string functions_at(const Level& level, std::span<const pmix_info_t> host) {
  std::string out;
  const auto add = [&](std::string_view name) { out.append(out.empty() ? "" : ",").append(name); };
  for (const auto& call : data::calls_with_attributes())
    if ((call.roles & level.role) != 0) add(call.call);
  for (const auto& call : host)
    if (level.role == 0) add(data::key_of(call));
  return out;
}

}  // namespace

bool asks_for_attributes(const link::Query::Item& item) noexcept {
  return !item.keys.empty() && item.keys.front() == PMIX_QUERY_ATTRIBUTE_SUPPORT;
}

bool asks_for_host(const link::Query& query) noexcept {
  return std::any_of(query.items.begin(), query.items.end(), [](const link::Query::Item& item) {
    if (!asks_for_attributes(item)) return false;
    const auto wanted = wanted_levels(item.qualifiers);
    return data::is_set(item.qualifiers, PMIX_HOST_FUNCTIONS) ||
           std::any_of(wanted.begin(), wanted.end(), [](const Level& level) { return level.role == 0; });
  });
}

link::Query query_of_host() {
  link::Query out;
  out.items.emplace_back().keys.emplace_back(server::HostAttributes::query_key);
  return out;
}

const pmix_value_t* said_of_host(const data::Infos& answer) noexcept {
  const auto* const info = answer.find(server::HostAttributes::query_key);
  return info != nullptr ? &info->value : nullptr;
}

Result<bool> add_attributes(const link::Query::Item& item, const pmix_value_t* host, data::Infos& out) {
  const auto wanted = wanted_levels(item.qualifiers);
  const auto calls_of_host = calls_of(host);
  bool is_all = true;
  for (std::size_t i = 1; i < item.keys.size(); ++i) {
    const auto function = Function::of(item.keys[i], calls_of_host);
    is_all = is_all && function.is_known();
    if (!function.is_known()) continue;
    auto value = function.attributes_at(wanted);
    if (!value) return fail(value.error());
    out.add(item.keys[i], std::move(*value));
  }
  for (const auto& level : levels)
    if (data::is_set(item.qualifiers, level.functions))
      out.add(level.functions, data::Value::of(functions_at(level, calls_of_host)));
  return is_all;
}

}  // namespace weft::abi
