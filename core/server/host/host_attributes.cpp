// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/host_attributes.hpp"

#include <algorithm>
#include <set>

#include "core/data/names/call_attributes.hpp"
#include "core/data/types/array.hpp"

namespace weft::server {

HostAttributes::HostAttributes(const pmix_server_module_t* module) {
  if (module == nullptr) return;
  for (const auto& function : module_functions())
    if (function.call[0] != '\0' && function.is_offered(*module)) offered_.emplace_back(function.call);
}

pmix_status_t HostAttributes::add(const std::string& function, std::vector<std::string> attributes) {
  const auto* const of = module_function(function);
  if (of == nullptr || of->call[0] == '\0') return PMIX_ERR_BAD_PARAM;
  const bool is_valid = std::all_of(attributes.begin(), attributes.end(), [](const std::string& attribute) {
    return !attribute.empty() && attribute.size() <= PMIX_MAX_KEYLEN;
  });
  if (!is_valid) return PMIX_ERR_BAD_PARAM;
  const std::lock_guard lock(mutex_);
  const bool is_new = attributes_.emplace(function, std::move(attributes)).second;
  return is_new ? PMIX_SUCCESS : PMIX_ERR_REPEAT_ATTR_REGISTRATION;
}

Result<data::Value> HostAttributes::value() const {
  std::map<std::string, std::set<std::string>> by_call;
  for (const auto& call : offered_) by_call[call];
  const std::lock_guard lock(mutex_);
  for (const auto& [function, attributes] : attributes_)
    by_call[module_function(function)->call].insert(attributes.begin(), attributes.end());
  data::Infos out;
  for (const auto& [call, attributes] : by_call) {
    std::vector<pmix_regattr_t> descriptions;
    for (const auto& attribute : attributes) descriptions.push_back(data::description_of(attribute.c_str()));
    auto value = descriptions.empty()
                     ? data::Value::of(true)
                     : data::value_of_array(PMIX_REGATTR, descriptions.data(), descriptions.size());
    if (!value) return value;
    out.add(call, std::move(*value));
  }
  return data::value_of_array(PMIX_INFO, out.data(), out.size());
}

std::string HostAttributes::list_of(const std::string& function) const {
  const std::lock_guard lock(mutex_);
  const auto found = attributes_.find(function);
  std::string out;
  if (found != attributes_.end())
    for (const auto& attribute : found->second) out += (out.empty() ? "" : ",") + attribute;
  return out;
}

}  // namespace weft::server
