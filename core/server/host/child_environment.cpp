// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/child_environment.hpp"

#include "core/link/messages.hpp"

namespace weft::server {

void ChildEnvironment::add(std::string nspace, Variables variables) {
  const std::lock_guard lock(mutex_);
  by_namespace_[std::move(nspace)] = std::move(variables);
}

pmix_status_t ChildEnvironment::set_up(const pmix_proc_t& proc, char*** env) {
  const auto nspace = link::nspace_of(proc);
  Variables variables{{link::env_nspace, std::string(nspace)},
                      {link::env_rank, std::to_string(proc.rank)},
                      {link::env_server, socket_},
                      {link::env_server_uid, std::to_string(user_)},
                      {link::env_segment, segment_},
                      {link::env_token, tokens_.token_of(proc).hex()}};
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_namespace_.find(nspace); found != by_namespace_.end())
      variables.insert(variables.end(), found->second.begin(), found->second.end());
  }
  for (const auto& [name, value] : variables)
    if (!set_variable(env, name, value)) return PMIX_ERR_NOMEM;
  return PMIX_SUCCESS;
}

}  // namespace weft::server
