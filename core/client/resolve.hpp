// SPDX-License-Identifier: BSD-3-Clause
// Which ranks run where, for a process that cannot look into a segment: the server's lists, as text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/value.hpp"

namespace weft::client {

/// A Get about a process, by message.
using Getter = std::function<pmix_status_t(const pmix_proc_t& proc, std::string_view key,
                                           const data::Infos& directives, data::Value& found)>;
/// node empty: the server's.
pmix_status_t resolve_peers_by(const Getter& get, std::string_view node, std::string_view nspace,
                               std::vector<pmix_proc_t>& out);
pmix_status_t resolve_nodes_by(const Getter& get, std::string_view nspace, std::string& out);

}  // namespace weft::client
