// SPDX-License-Identifier: BSD-3-Clause
// The functions of pmix_server_module_t: their names, and the call of a user that each is for.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "pmix_server.h"

namespace weft::server {

/// The texts lie inside the rows: nothing needs relocating when the library is loaded.
struct ModuleFunction {
  char name[24];
  char call[32];     ///< empty: it is for no call of a user
  std::size_t slot;  ///< where its pointer is in the module

  bool is_offered(const pmix_server_module_t& module) const noexcept;
};

std::span<const ModuleFunction> module_functions() noexcept;
/// Null: there is none of that name.
const ModuleFunction* module_function(std::string_view name) noexcept;

}  // namespace weft::server
