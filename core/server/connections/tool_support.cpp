// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/connections/tool_support.hpp"

#include "core/data/types/value.hpp"

namespace weft::server {

Result<ToolSupport> ToolSupport::parse(const pmix_info_t* infos, std::size_t count) {
  ToolSupport out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto key = data::key_of(infos[i]);
    const auto& value = infos[i].value;
    const bool is_required = (infos[i].flags & PMIX_INFO_REQD) != 0;
    if (key == PMIX_SERVER_TOOL_SUPPORT)
      out.admits = data::is_true(value);
    else if (key == PMIX_SERVER_SYSTEM_SUPPORT)
      out.is_system = data::is_true(value);
    else if (key == PMIX_SERVER_REMOTE_CONNECTIONS && data::is_true(value) && is_required)
      return fail(Errc::not_supported, "a server is reached from its own machine only");
    if (key != PMIX_LAUNCHER_RENDEZVOUS_FILE) continue;
    if (value.type != PMIX_STRING || value.data.string == nullptr || *value.data.string == '\0')
      return fail(Errc::invalid, "rendezvous file");
    out.file = value.data.string;
  }
  return out;
}

}  // namespace weft::server
