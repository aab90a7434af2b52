// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/child_environment.hpp"

#include "core/link/messages.hpp"

namespace weft::server {

void ChildEnvironment::add(std::string nspace, Variables variables) {
  by_namespace_.change([&](ByNamespace& all) { all[std::move(nspace)] = std::move(variables); });
}

void ChildEnvironment::forget(std::string_view nspace) {
  const bool has_any = by_namespace_.read([&](const ByNamespace& all) { return all.count(nspace) != 0; });
  if (!has_any) return;
  by_namespace_.change([&](ByNamespace& all) { all.erase(all.find(nspace)); });
}

pmix_status_t ChildEnvironment::set_up(const pmix_proc_t& proc, char*** env) const {
  const auto nspace = link::nspace_of(proc);
  Variables variables{{link::env_nspace, std::string(nspace)},
                      {link::env_rank, std::to_string(proc.rank)},
                      {link::env_server, socket_},
                      {link::env_server_uid, std::to_string(user_)},
                      {link::env_segment, segment_},
                      {link::env_token, tokens_.token_of(proc).hex()}};
  by_namespace_.read([&](const ByNamespace& all) {
    if (const auto found = all.find(nspace); found != all.end())
      variables.insert(variables.end(), found->second.begin(), found->second.end());
  });
  for (const auto& [name, value] : variables)
    if (!set_variable(env, name, value)) return PMIX_ERR_NOMEM;
  return PMIX_SUCCESS;
}

}  // namespace weft::server
