// SPDX-License-Identifier: BSD-3-Clause
// Requests of the PMIx Standard, chapter "Publish/Lookup Operations": the host's where it offers them, else
// served by published/.
#include <memory>

#include "core/data/types/array.hpp"
#include "core/server/host/held_call.hpp"
#include "core/server/requests/chapters.hpp"
#include "core/server/requests/replies.hpp"

namespace weft::server {
namespace {

/// A call with keys, as C has them: with a NULL at the end; NULL for none.
template <class Message>
struct KeyedCall {
  KeyedCall(const pmix_proc_t& from, Message asked) : requester(from), message(std::move(asked)) {
    for (auto& key : message.keys) pointers.push_back(key.data());
    if (!pointers.empty()) pointers.push_back(nullptr);
  }
  char** keys() { return pointers.empty() ? nullptr : pointers.data(); }

  const pmix_proc_t requester;
  Message message;
  std::vector<char*> pointers;
};

/// The pmix_lookup_cbfunc_t.
void on_looked_up(pmix_status_t status, pmix_pdata_t* found, std::size_t count, void* pointer) {
  finish_value(pointer, status, data::value_of_array(PMIX_PDATA, found, found != nullptr ? count : 0));
}

/// All of publish, lookup and unpublish are the host's, or none.
bool does_publish(const Host& host) {
  return host.offers(&pmix_server_module_t::publish);
}

void on_publish(const RequestRooms& rooms, const Requester& from, link::Publish message) {
  if (!does_publish(rooms.host)) return rooms.published.publish(from, message);
  from.add_user(message.infos);
  const auto held = hold(from.proc(), std::move(message));
  rooms.host.ask<OpUpcall>(&pmix_server_module_t::publish, "publish", ending(held, replying(from)),
                           [&](auto publish, void* open) {
                             const auto& infos = held->message.infos;
                             return publish(&held->requester, infos.data(), infos.size(), on_op_done, open);
                           });
}

void on_lookup(const RequestRooms& rooms, const Requester& from, link::Lookup message) {
  if (message.keys.empty()) return from.answer({PMIX_ERR_BAD_PARAM, {}, {}});
  if (!does_publish(rooms.host)) return rooms.published.look_up(from, message);
  from.add_user(message.directives);
  const auto held = std::make_shared<KeyedCall<link::Lookup>>(from.proc(), std::move(message));
  rooms.host.ask<ValueUpcall>(
      &pmix_server_module_t::lookup, "lookup", ending(held, giving(from)), [&](auto lookup, void* open) {
        const auto& infos = held->message.directives;
        return lookup(&held->requester, held->keys(), infos.data(), infos.size(), on_looked_up, open);
      });
}

void on_unpublish(const RequestRooms& rooms, const Requester& from, link::Unpublish message) {
  if (!does_publish(rooms.host)) return rooms.published.unpublish(from, message);
  from.add_user(message.directives);
  const auto held = std::make_shared<KeyedCall<link::Unpublish>>(from.proc(), std::move(message));
  rooms.host.ask<OpUpcall>(&pmix_server_module_t::unpublish, "unpublish", ending(held, replying(from)),
                           [&](auto unpublish, void* open) {
                             const auto& infos = held->message.directives;
                             return unpublish(&held->requester, held->keys(), infos.data(), infos.size(),
                                              on_op_done, open);
                           });
}

/// Of another run, whose servers check what its processes ask; its names are never a host's matter.
void on_guest_request(const RequestRooms& rooms, const Requester& from, link::GuestRequest message) {
  if (does_publish(rooms.host)) return from.reply(PMIX_ERR_NOT_SUPPORTED);
  rooms.published.guests().serve(
      from, message, [&](const std::string& nspace) { return rooms.jobs.find(nspace) != nullptr; });
}

}  // namespace

std::span<const Request> publish_requests() noexcept {
  using link::MessageType;
  static constexpr Request requests[] = {
      {MessageType::publish, Senders::all, Reply::later, for_host, decoded<on_publish>},
      {MessageType::lookup, Senders::all, Reply::later, 1, decoded<on_lookup>},
      {MessageType::unpublish, Senders::all, Reply::later, 1, decoded<on_unpublish>},
      // Those of a whole run: they are counted there.
      {MessageType::guest_request, Senders::all, Reply::none, 1, decoded<on_guest_request>},
  };
  return requests;
}

}  // namespace weft::server
