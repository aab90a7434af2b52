// SPDX-License-Identifier: BSD-3-Clause
// Which calls of users the host stands behind, and which of their attributes it supports: what its module
// offers, and what it has said by PMIx_Register_attributes.
//
// Threads   add(): any. value(): any.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/data/types/value.hpp"
#include "core/server/host/module_functions.hpp"

namespace weft::server {

class HostAttributes {
 public:
  /// Of a query for all of it, between libraries: an array of infos, by call; each is an array of
  /// pmix_regattr_t, or true where no attribute is known of a call that the host takes.
  static constexpr const char* query_key = "weft.host_attributes";

  /// module: may be null, for a host that offers nothing.
  explicit HostAttributes(const pmix_server_module_t* module);

  /// function: of the module. attributes: their names or keys. Errors: PMIX_ERR_BAD_PARAM (no such function;
  /// an attribute without a name, or longer than a key), PMIX_ERR_REPEAT_ATTR_REGISTRATION.
  pmix_status_t add(const std::string& function, std::vector<std::string> attributes);
  /// Errors: no_memory.
  Result<data::Value> value() const;
  /// What was added of that function, with commas between.
  std::string list_of(const std::string& function) const;

 private:
  std::vector<std::string> offered_;  ///< calls
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> attributes_;  ///< by function of the module
};

}  // namespace weft::server
