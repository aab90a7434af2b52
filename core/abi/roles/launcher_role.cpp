// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/roles/launcher_role.hpp"

#include "core/data/names/status.hpp"

namespace weft::abi {

pmix_status_t LauncherRole::get(const pmix_proc_t& proc, std::string_view key, const pmix_info_t* infos,
                                std::size_t ninfo, const store::GetDirectives& how, data::Value& found) {
  auto known = server_.host_data().look_up(proc, key, how);
  if (!known) return as_tool_.get(proc, key, infos, ninfo, how, found);
  found = std::move(*known);
  return PMIX_SUCCESS;
}

pmix_status_t LauncherRole::get_later(const pmix_proc_t& proc, std::string key, data::Infos infos,
                                      Found done) {
  const auto how = store::GetDirectives::parse(infos.data(), infos.size());
  auto known = how ? server_.host_data().look_up(proc, key, *how) : fail(how.error());
  if (!known) return as_tool_.get_later(proc, std::move(key), std::move(infos), std::move(done));
  const auto shared = std::make_shared<data::Value>(std::move(*known));
  run_later([shared, done = std::move(done)] { done(PMIX_SUCCESS, std::move(*shared)); });
  return PMIX_SUCCESS;
}

pmix_status_t LauncherRole::resolve_peers(std::string_view node, std::string_view nspace,
                                          std::vector<pmix_proc_t>& out) {
  const auto status = as_server_.resolve_peers(node, nspace, out);
  return status == PMIX_SUCCESS ? status : as_tool_.resolve_peers(node, nspace, out);
}

pmix_status_t LauncherRole::resolve_nodes(std::string_view nspace, std::string& out) {
  const auto status = as_server_.resolve_nodes(nspace, out);
  return status == PMIX_SUCCESS ? status : as_tool_.resolve_nodes(nspace, out);
}

/// All events of its own clients pass through it.
void LauncherRole::subscribe(std::size_t handler, std::vector<pmix_status_t> codes, Done done) {
  if (has_server()) return as_tool_.subscribe(handler, std::move(codes), std::move(done));
  run_later([done = std::move(done)] { done(PMIX_SUCCESS); });
}

/// To its own clients and handlers, and to the server that it is connected to.
void LauncherRole::notify(events::Event event, Done done) {
  if (!has_server()) return as_server_.notify(std::move(event), std::move(done));
  events::stamp(event);
  auto copy = data::Infos::copy_of(event.infos.data(), event.infos.size());
  if (copy && event.range != PMIX_RANGE_PROC_LOCAL && event.range != PMIX_RANGE_RM)
    server_.tell_clients({event.code, event.source, event.range, std::move(*copy)});
  as_tool_.notify(std::move(event), std::move(done));
}

}  // namespace weft::abi
