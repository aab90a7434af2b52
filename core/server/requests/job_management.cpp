// SPDX-License-Identifier: BSD-3-Clause
// Requests of the PMIx Standard, chapters "Query Operations" and "Job Management and Reporting". Queries are
// answered here, and by the host what is unknown here; all else but clean-up is the host's.
#include <algorithm>

#include "core/server/host/held_call.hpp"
#include "core/server/requests/chapters.hpp"
#include "core/server/requests/replies.hpp"

namespace weft::server {
namespace {

void on_query(const RequestRooms& rooms, const Requester& from, link::Query message) {
  rooms.queries.query(from.connection, from.tag, std::move(message));
}

/// For want of a host: what would serve it, for people.
void refuse_allocation(const Requester& from) {
  data::Infos reason;
  reason.add(
      PMIX_EVENT_TEXT_MESSAGE,
      data::Value::of("the host of this server has no scheduler to ask; a resource manager has one whose "
                      "own daemons are the PMIx servers"));
  from.answer({PMIX_ERR_NOT_SUPPORTED, {}, std::move(reason)});
}

void on_allocate(const RequestRooms& rooms, const Requester& from, link::Allocate message) {
  if (!rooms.host.offers(&pmix_server_module_t::allocate)) return refuse_allocation(from);
  from.add_user(message.infos);
  const auto held = hold(from.proc(), std::move(message));
  rooms.host.ask<InfoUpcall>(&pmix_server_module_t::allocate, "allocate", ending(held, answering(from)),
                             [&](auto allocate, void* open) {
                               const auto& [directive, infos] = held->message;
                               return allocate(&held->requester, directive, infos.data(), infos.size(),
                                               on_infos, open);
                             });
}

void control_by_host(const RequestRooms& rooms, const Requester& from, link::JobControl message) {
  from.add_user(message.directives);
  const auto held = hold(from.proc(), std::move(message));
  rooms.host.ask<InfoUpcall>(&pmix_server_module_t::job_control, "job_control", ending(held, answering(from)),
                             [&](auto control, void* open) {
                               const auto& [targets, infos] = held->message;
                               return control(&held->requester, targets.empty() ? nullptr : targets.data(),
                                              targets.size(), infos.data(), infos.size(), on_infos, open);
                             });
}

/// Clean-up is the server's own work; all else is the host's. Where there is both and no host for the rest,
/// nothing is done.
void on_job_control(const RequestRooms& rooms, const Requester& from, link::JobControl message) {
  const auto& infos = message.directives;
  const bool has_others = std::any_of(infos.data(), infos.data() + infos.size(), [](const pmix_info_t& info) {
    return !CleanupOrder::has(data::key_of(info));
  });
  if (has_others && !rooms.host.offers(&pmix_server_module_t::job_control))
    return from.answer({PMIX_ERR_NOT_SUPPORTED, {}, {}});
  const auto status = rooms.clients.order_cleanup(*from.connection, message);
  if (status != PMIX_SUCCESS || !has_others || from.connection->leaving) return from.answer({status, {}, {}});
  control_by_host(rooms, from, std::move(message));
}

void on_monitor(const RequestRooms& rooms, const Requester& from, link::Monitor message) {
  if (!rooms.host.offers(&pmix_server_module_t::monitor)) return rooms.monitors.monitor(from, message);
  if (message.monitor.size() != 1) return from.answer({PMIX_ERR_BAD_PARAM, {}, {}});
  from.add_user(message.directives);
  const auto held = hold(from.proc(), std::move(message));
  rooms.host.ask<InfoUpcall>(&pmix_server_module_t::monitor, "monitor", ending(held, answering(from)),
                             [&](auto monitor, void* open) {
                               const auto& [monitored, code, infos] = held->message;
                               return monitor(&held->requester, monitored.data(), code, infos.data(),
                                              infos.size(), on_infos, open);
                             });
}

void on_log(const RequestRooms& rooms, const Requester& from, link::Log message) {
  if (!rooms.host.offers(&pmix_server_module_t::log)) return rooms.records.log(from, message);
  const auto held = hold(from.proc(), std::move(message));
  rooms.host.ask<OpUpcall>(
      &pmix_server_module_t::log, "log", ending(held, replying(from)),
      [&](auto log, void* open) -> pmix_status_t {
        const auto& [records, directives] = held->message;
        log(&held->requester, records.data(), records.size(), directives.data(), directives.size(),
            on_op_done, open);
        return PMIX_SUCCESS;  // the upcall has no status: the callback is its only answer
      });
}

}  // namespace

std::span<const Request> job_requests() noexcept {
  using link::MessageType;
  static constexpr Request requests[] = {
      {MessageType::query, Senders::all, Reply::later, 1, decoded<on_query>},
      {MessageType::allocate, Senders::all, Reply::later, 1, decoded<on_allocate>},
      {MessageType::job_control, Senders::all, Reply::later, for_host, decoded<on_job_control>},
      {MessageType::monitor, Senders::all, Reply::later, 1, decoded<on_monitor>},
      {MessageType::log, Senders::all, Reply::later, for_host, decoded<on_log>},
  };
  return requests;
}

}  // namespace weft::server
