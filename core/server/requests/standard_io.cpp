// SPDX-License-Identifier: BSD-3-Clause
// Requests of the PMIx Standard, chapter "Tools and Debuggers", for the standard input and output of
// processes. The host brings the bytes; Outputs knows which clients want them.
#include <memory>

#include "core/server/host/held_call.hpp"
#include "core/server/requests/chapters.hpp"
#include "core/server/requests/replies.hpp"

namespace weft::server {
namespace {

void ask_for_output(Host& host, link::PullOutput message, Done done) {
  const auto held = hold({}, std::move(message));
  host.ask<OpUpcall>(
      &pmix_server_module_t::iof_pull, "iof_pull", ending(held, std::move(done)), [&](auto pull, void* open) {
        const auto& [handle, procs, channels, infos] = held->message;
        return pull(procs.data(), procs.size(), infos.data(), infos.size(), channels, on_op_done, open);
      });
}

void on_pull_output(const RequestRooms& rooms, const Requester& from, link::PullOutput message) {
  if (message.procs.empty() || message.channels == 0) return from.reply(PMIX_ERR_BAD_PARAM);
  auto& outputs = rooms.outputs;
  // Before the host answers: output may come first.
  if (!outputs.add({from.connection, message.handle, message.procs, message.channels}))
    return from.reply(PMIX_ERR_OUT_OF_RESOURCE);
  from.add_user(message.directives);
  const auto handle = message.handle;
  ask_for_output(rooms.host, std::move(message), [&outputs, from, handle](pmix_status_t status) {
    if (status != PMIX_SUCCESS) outputs.remove(from.connection, handle);
    from.reply(status);
  });
}

void on_stop_output(const RequestRooms& rooms, const Requester& from, link::StopOutput message) {
  auto pull = rooms.outputs.take(from.connection, message.handle);
  if (!pull) return from.reply(PMIX_ERR_NOT_FOUND);
  link::PullOutput ended{message.handle, std::move(pull->procs), pull->channels,
                         std::move(message.directives)};
  ended.directives.add(PMIX_IOF_STOP, data::Value::of(true));
  from.add_user(ended.directives);
  ask_for_output(rooms.host, std::move(ended), replying(from));
}

void on_push_input(const RequestRooms& rooms, const Requester& from, link::PushInput message) {
  from.add_user(message.directives);
  const auto held =
      std::make_shared<BytesCall<link::PushInput>>(from.proc(), std::move(message), &link::PushInput::bytes);
  rooms.host.ask<OpUpcall>(&pmix_server_module_t::push_stdin, "push_stdin", ending(held, replying(from)),
                           [&](auto push, void* open) {
                             const auto& targets = held->message.targets;
                             const auto& infos = held->message.directives;
                             return push(&held->requester, targets.data(), targets.size(), infos.data(),
                                         infos.size(), &held->object, on_op_done, open);
                           });
}

}  // namespace

std::span<const Request> standard_io_requests() noexcept {
  using link::MessageType;
  static constexpr Request requests[] = {
      {MessageType::pull_output, Senders::all, Reply::later, 1, decoded<on_pull_output>},
      {MessageType::stop_output, Senders::all, Reply::later, 1, decoded<on_stop_output>},
      {MessageType::push_input, Senders::all, Reply::later, for_host, decoded<on_push_input>},
  };
  return requests;
}

}  // namespace weft::server
