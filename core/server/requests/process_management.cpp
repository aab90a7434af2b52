// SPDX-License-Identifier: BSD-3-Clause
// Requests of the PMIx Standard, chapter "Process Management", and the end of a client. Spawn and abort are
// the host's. Connect and disconnect gather their processes first; Operations asks the host then.
#include <algorithm>
#include <memory>

#include "core/data/types/array.hpp"
#include "core/server/host/held_call.hpp"
#include "core/server/requests/chapters.hpp"
#include "core/server/requests/replies.hpp"

namespace weft::server {
namespace {

/// The pmix_spawn_cbfunc_t.
void on_spawned(pmix_status_t status, char* nspace, void* pointer) {
  finish_value(pointer, status, data::Value::of(std::string_view(nspace != nullptr ? nspace : "")));
}

void on_finalize(const RequestRooms& rooms, const Requester& from, Bytes) {
  rooms.clients.finalize(from.connection, from.tag);
}

void on_abort(const RequestRooms& rooms, const Requester& from, link::Abort message) {
  const auto held = hold(from.proc(), std::move(message));
  void* const object = from.connection->job->object_of(from.proc().rank);
  rooms.host.ask<OpUpcall>(
      &pmix_server_module_t::abort, "abort", ending(held, replying(from)), [&](auto abort, void* open) {
        auto& [status, text, procs] = held->message;
        return abort(&held->requester, object, status, text.c_str(), procs.empty() ? nullptr : procs.data(),
                     procs.size(), on_op_done, open);
      });
}

void on_spawn(const RequestRooms& rooms, const Requester& from, link::Spawn message) {
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
  const auto held = hold(from.proc(), std::move(message));
  rooms.host.ask<ValueUpcall>(
      &pmix_server_module_t::spawn, "spawn", ending(held, giving(from)), [&](auto spawn, void* open) {
        const auto all = data::elements_of<pmix_app_t>(held->message.apps.get(), PMIX_APP);
        const auto& job = held->message.job;
        return spawn(&held->requester, job.data(), job.size(), all.data(), all.size(), on_spawned, open);
      });
}

void on_connect(const RequestRooms& rooms, const Requester& from, link::Connect message) {
  rooms.group_table.settle();  // the request comes after what its process has made at boards
  rooms.gatherings.enter(from, {OperationName::Kind::connect}, std::move(message.procs),
                         std::move(message.directives));
}

void on_disconnect(const RequestRooms& rooms, const Requester& from, link::Disconnect message) {
  rooms.group_table.settle();
  rooms.gatherings.enter(from, {OperationName::Kind::disconnect}, std::move(message.procs),
                         std::move(message.directives));
}

}  // namespace

std::span<const Request> process_requests() noexcept {
  using link::MessageType;
  static constexpr Request requests[] = {
      {MessageType::finalize, Senders::members, Reply::none, 1, on_finalize},
      {MessageType::abort, Senders::members, Reply::later, 1, decoded<on_abort>},
      {MessageType::spawn, Senders::all, Reply::later, for_host, decoded<on_spawn>},
      {MessageType::connect, Senders::members_tools_refused, Reply::later, 1, decoded<on_connect>},
      {MessageType::disconnect, Senders::members_tools_refused, Reply::later, 1, decoded<on_disconnect>},
  };
  return requests;
}

}  // namespace weft::server
