// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/attribute_support.hpp"

#include <algorithm>
#include <array>

#include "core/data/array.hpp"
#include "core/data/call_attributes.hpp"
#include "core/data/memory.hpp"
#include "core/data/names.hpp"

namespace weft::abi {
namespace {

struct Level {
  const char *attributes, *functions;
  unsigned char role;
};
// What a host understands it has no way to say yet (PMIx_Register_attributes).
const std::array levels = {
    Level{PMIX_CLIENT_ATTRIBUTES, PMIX_CLIENT_FUNCTIONS, data::in_client},
    Level{PMIX_SERVER_ATTRIBUTES, PMIX_SERVER_FUNCTIONS, data::in_server},
    Level{PMIX_TOOL_ATTRIBUTES, PMIX_TOOL_FUNCTIONS, data::in_tool},
    Level{PMIX_HOST_ATTRIBUTES, PMIX_HOST_FUNCTIONS, 0},
};

bool says(const data::Infos& infos, const char* key) {
  const auto* info = infos.find(key);
  return info != nullptr && data::is_true(info->value);
}

/// What the qualifiers name; without any, every level's attributes.
std::vector<Level> wanted_levels(const data::Infos& qualifiers) {
  std::vector<Level> out;
  bool is_any = false;
  for (const auto& level : levels) {
    if (says(qualifiers, level.attributes)) out.push_back(level);
    is_any = is_any || says(qualifiers, level.attributes) || says(qualifiers, level.functions);
  }
  if (!is_any) out.assign(levels.begin(), levels.end());
  return out;
}

pmix_regattr_t description_of(const char* attribute) {
  pmix_regattr_t out{};
  out.name = const_cast<char*>(data::attribute_name(attribute));
  if (out.name == nullptr) out.name = const_cast<char*>(attribute);  // this library's own
  std::copy_n(attribute, std::char_traits<char>::length(attribute), out.string);
  out.type = data::attribute_type(attribute);
  return out;
}

/// At one level; PMIX_UNDEF: there are none.
Result<data::Value> attributes_at(const Level& level, const data::CallAttributes& call) {
  if ((call.roles & level.role) == 0 || call.size() == 0) return data::Value::adopt(data::empty_value());
  std::vector<pmix_regattr_t> all;
  for (std::size_t i = 0; i < call.size(); ++i) all.push_back(description_of(call.attributes[i]));
  return data::value_of_array(PMIX_REGATTR, all.data(), all.size());
}

Result<data::Value> attributes_of_call(const std::vector<Level>& wanted, const data::CallAttributes& call) {
  data::Infos out;
  for (const auto& level : wanted) {
    auto value = attributes_at(level, call);
    if (!value) return value;
    out.add(level.attributes, std::move(*value));
  }
  return data::value_of_array(PMIX_INFO, out.data(), out.size());
}

std::string functions_at(const Level& level) {
  std::string out;
  for (const auto& call : data::calls_with_attributes())
    if ((call.roles & level.role) != 0) out.append(out.empty() ? "" : ",").append(call.call);
  return out;
}

}  // namespace

bool asks_for_attributes(const link::Query::Item& item) noexcept {
  return !item.keys.empty() && item.keys.front() == PMIX_QUERY_ATTRIBUTE_SUPPORT;
}

Result<bool> add_attributes(const link::Query::Item& item, data::Infos& out) {
  const auto wanted = wanted_levels(item.qualifiers);
  bool is_all = true;
  for (std::size_t i = 1; i < item.keys.size(); ++i) {
    const auto* call = data::attributes_of(item.keys[i]);
    is_all = is_all && call != nullptr;
    if (call == nullptr) continue;
    auto value = attributes_of_call(wanted, *call);
    if (!value) return fail(value.error());
    out.add(item.keys[i], std::move(*value));
  }
  for (const auto& level : levels)
    if (says(item.qualifiers, level.functions))
      out.add(level.functions, data::Value::of(functions_at(level)));
  return is_all;
}

}  // namespace weft::abi
