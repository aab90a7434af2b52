// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/child_environment.hpp"

#include "core/link/messages.hpp"

namespace weft::server {
namespace {

bool apply_all(const Envars& envars, char*** env) {
  for (const auto& each : envars)
    if (!apply(each, env)) return false;
  return true;
}

}  // namespace

void ChildEnvironment::add(std::string nspace, Envars envars) {
  by_namespace_.change([&](ByNamespace& all) { all[std::move(nspace)] = std::move(envars); });
}

void ChildEnvironment::forget(std::string_view nspace) {
  const bool has_any = by_namespace_.read([&](const ByNamespace& all) { return all.count(nspace) != 0; });
  if (!has_any) return;
  by_namespace_.change([&](ByNamespace& all) { all.erase(all.find(nspace)); });
}

pmix_status_t ChildEnvironment::set_up(const pmix_proc_t& proc, char*** env) const {
  const auto nspace = link::nspace_of(proc);
  bool is_done = by_namespace_.read([&](const ByNamespace& all) {
    const auto found = all.find(nspace);
    return found == all.end() || apply_all(found->second, env);
  });
  // Last: nothing that a launcher says of the environment makes a process another one.
  const Envars own{{EnvarChange::set, link::env_nspace, std::string(nspace)},
                   {EnvarChange::set, link::env_rank, std::to_string(proc.rank)},
                   {EnvarChange::set, link::env_server, socket_},
                   {EnvarChange::set, link::env_server_uid, std::to_string(user_)},
                   {EnvarChange::set, link::env_segment, segment_},
                   {EnvarChange::set, link::env_token, tokens_.token_of(proc).hex()}};
  is_done = is_done && apply_all(own, env);
  return is_done ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
}

}  // namespace weft::server
