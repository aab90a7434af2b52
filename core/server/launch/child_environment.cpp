// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/launch/child_environment.hpp"

#include <algorithm>

#include "core/link/messages.hpp"
#include "core/store/segment/job_view.hpp"

namespace weft::server {
namespace {

bool is_for_one(const Envar& envar) noexcept {
  return envar.application.has_value();
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

Result<store::JobView> ChildEnvironment::job_of(const pmix_proc_t& proc) const {
  const auto at = store::find_job(jobs_, link::nspace_of(proc));
  return at ? store::JobView::open(jobs_, *at) : fail(Errc::not_found);
}

std::optional<std::uint32_t> ChildEnvironment::application_of(const pmix_proc_t& proc) const {
  const auto job = job_of(proc);
  const auto* rank = job ? job->rank(proc.rank) : nullptr;
  return rank != nullptr ? std::optional(rank->appnum) : std::nullopt;
}

pmix_status_t ChildEnvironment::change(const Envars& envars, const pmix_proc_t& proc, char*** env) const {
  std::optional<std::uint32_t> application;
  if (std::any_of(envars.begin(), envars.end(), is_for_one)) {
    application = application_of(proc);
    if (!application) return PMIX_ERR_NOT_FOUND;
  }
  for (const auto& each : envars)
    if ((!is_for_one(each) || each.application == application) && !apply(each, env)) return PMIX_ERR_NOMEM;
  return PMIX_SUCCESS;
}

pmix_status_t ChildEnvironment::set_up(const pmix_proc_t& proc, char*** env) const {
  const auto nspace = link::nspace_of(proc);
  const auto changed = by_namespace_.read([&](const ByNamespace& all) {
    const auto found = all.find(nspace);
    return found == all.end() ? PMIX_SUCCESS : change(found->second, proc, env);
  });
  if (changed != PMIX_SUCCESS) return changed;
  // A child of a job that is not registered yet gets its memory from the server.
  const auto job = job_of(proc);
  const auto segment =
      job ? link::segment_place(server_, server_fd_, job->header().clients_fd) : std::string();
  // Last: nothing that a launcher says of the environment makes a process another one.
  const Envars own{
      {EnvarChange::set, link::env_nspace, std::string(nspace)},
      {EnvarChange::set, link::env_rank, std::to_string(proc.rank)},
      {EnvarChange::set, link::env_server, socket_},
      {socket_file_.empty() ? EnvarChange::unset : EnvarChange::set, link::env_server_file, socket_file_},
      {EnvarChange::set, link::env_server_uid, std::to_string(user_)},
      {segment.empty() ? EnvarChange::unset : EnvarChange::set, link::env_segment, segment},
      {EnvarChange::set, link::env_token, tokens_.token_of(proc).hex()}};
  return change(own, proc, env);
}

}  // namespace weft::server
