// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/services/services.hpp"

#include <algorithm>

#include "core/data/types/array.hpp"

namespace weft::server {
namespace {

std::function<void(pmix_status_t)> replying(const Requester& from) {
  return [from](pmix_status_t status) { from.reply(status); };
}

std::function<void(pmix_status_t, data::Value)> giving(const Requester& from) {
  return [from](pmix_status_t status, data::Value value) { from.answer({status, std::move(value), {}}); };
}

/// A group's name stands wherever a namespace may.
bool is_group_name(const std::string& name) {
  return !name.empty() && name.size() <= PMIX_MAX_NSLEN && name.find('\0') == std::string::npos;
}

}  // namespace

std::function<void(pmix_status_t, data::Infos)> Services::answering(const Requester& from) {
  return [from](pmix_status_t status, data::Infos infos) { from.answer({status, {}, std::move(infos)}); };
}

void Services::serve(const Requester& from, link::Publish message) {
  from.add_user(message.infos);
  host_.publish(from.proc(), std::move(message), replying(from));
}

void Services::serve(const Requester& from, link::Lookup message) {
  if (message.keys.empty()) return from.answer({PMIX_ERR_BAD_PARAM, {}, {}});
  from.add_user(message.directives);
  host_.lookup(from.proc(), std::move(message), giving(from));
}

void Services::serve(const Requester& from, link::Unpublish message) {
  from.add_user(message.directives);
  host_.unpublish(from.proc(), std::move(message), replying(from));
}

void Services::serve(const Requester& from, link::Spawn message) {
  const auto apps = data::elements_of<pmix_app_t>(message.apps.get(), PMIX_APP);
  const bool is_good = !apps.empty() && std::all_of(apps.begin(), apps.end(), [](const pmix_app_t& app) {
    return app.cmd != nullptr || (app.argv != nullptr && app.argv[0] != nullptr);
  });
  if (!is_good) return from.answer({PMIX_ERR_BAD_PARAM, {}, {}});
  from.add_user(message.job);
  message.job.add(PMIX_SPAWNED, data::Value::of(true));
  message.job.add(PMIX_PARENT_ID, data::Value::of_proc(from.proc()));
  message.job.add(from.connection->is_tool ? PMIX_REQUESTOR_IS_TOOL : PMIX_REQUESTOR_IS_CLIENT,
                  data::Value::of(true));
  host_.spawn(from.proc(), std::move(message), giving(from));
}

void Services::serve(const Requester& from, link::Connect message) {
  groups().gatherings.enter(from, {OperationName::Kind::connect}, std::move(message.procs),
                            std::move(message.directives));
}

void Services::serve(const Requester& from, link::Disconnect message) {
  groups().gatherings.enter(from, {OperationName::Kind::disconnect}, std::move(message.procs),
                            std::move(message.directives));
}

void Services::serve(const Requester& from, link::GroupConstruct message) {
  if (!is_group_name(message.group)) return from.reply(PMIX_ERR_BAD_PARAM);
  if (Bootstraps::is_for(message) && !host_.does_groups())
    return groups().bootstraps.enter(from, std::move(message));
  groups().gatherings.enter(from, {OperationName::Kind::construct, std::move(message.group)},
                            std::move(message.procs), std::move(message.directives),
                            std::chrono::milliseconds(message.waited_ms));
}

void Services::serve(const Requester& from, link::GroupDestruct message) {
  if (!is_group_name(message.group)) return from.reply(PMIX_ERR_BAD_PARAM);
  groups().gatherings.enter_known(from, {OperationName::Kind::destruct, std::move(message.group)},
                                  std::move(message.directives),
                                  std::chrono::milliseconds(message.waited_ms));
}

void Services::serve(const Requester& from, link::GroupInvite message) {
  if (!is_group_name(message.group)) return from.reply(PMIX_ERR_BAD_PARAM);
  groups().invitations.invite(from, std::move(message));
}

void Services::serve(const Requester& from, const link::GroupJoin& message) {
  if (!is_group_name(message.group)) return from.reply(PMIX_ERR_BAD_PARAM);
  const bool is_invited = message.leader.nspace[0] != '\0';
  return is_invited ? groups().invited.join(from, message) : groups().memberships.join(from, message);
}

void Services::serve(const Requester& from, const link::GroupLeave& message) {
  groups().memberships.leave(from, message);
}

void Services::serve(const Requester& from, link::Allocate message) {
  from.add_user(message.infos);
  host_.allocate(from.proc(), std::move(message), answering(from));
}

/// Clean-up is the server's own work; all else is the host's. Where there is both and no host for the rest,
/// nothing is done.
void Services::serve(const Requester& from, link::JobControl message) {
  const auto& infos = message.directives;
  const bool has_others = std::any_of(infos.data(), infos.data() + infos.size(), [](const pmix_info_t& info) {
    return !CleanupOrder::has(data::key_of(info));
  });
  if (has_others && !host_.controls_jobs()) return from.answer({PMIX_ERR_NOT_SUPPORTED, {}, {}});
  const auto status = clients_.order_cleanup(*from.connection, message);
  if (status != PMIX_SUCCESS || !has_others || from.connection->leaving) return from.answer({status, {}, {}});
  from.add_user(message.directives);
  host_.job_control(from.proc(), std::move(message), answering(from));
}

void Services::serve(const Requester& from, link::Monitor message) {
  if (message.monitor.size() != 1) return from.answer({PMIX_ERR_BAD_PARAM, {}, {}});
  from.add_user(message.directives);
  host_.monitor(from.proc(), std::move(message), answering(from));
}

void Services::serve(const Requester& from, link::GetCredential message) {
  from.add_user(message.directives);
  host_.get_credential(from.proc(), std::move(message),
                       [from](pmix_status_t status, data::Value credential, data::Infos infos) {
                         from.answer({status, std::move(credential), std::move(infos)});
                       });
}

void Services::serve(const Requester& from, link::ValidateCredential message) {
  from.add_user(message.directives);
  host_.validate_credential(from.proc(), std::move(message), answering(from));
}

void Services::serve(const Requester& from, link::PushInput message) {
  from.add_user(message.directives);
  host_.push_input(from.proc(), std::move(message), replying(from));
}

void Services::serve(const Requester& from, link::Fabric message) {
  if (message.operation > PMIX_FABRIC_UPDATE_INFO) return from.answer({PMIX_ERR_BAD_PARAM, {}, {}});
  from.add_user(message.directives);
  host_.fabric(from.proc(), std::move(message), answering(from));
}

void Services::watch_events(const Requester& from, const EventWishes& added) {
  data::Infos infos;
  from.add_user(infos);
  watched_codes_.add(added, std::move(infos), replying(from));
}

}  // namespace weft::server
