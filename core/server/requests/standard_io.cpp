// SPDX-License-Identifier: BSD-3-Clause
// Requests of the PMIx Standard, chapter "Tools and Debuggers", for the standard input and output of
// processes. The host brings the bytes; Outputs knows which clients want them.
#include "core/server/requests/chapters.hpp"
#include "core/server/requests/replies.hpp"

namespace weft::server {
namespace {

void on_pull_output(const RequestRooms& rooms, const Requester& from, link::PullOutput message) {
  if (message.procs.empty() || message.channels == 0) return from.reply(PMIX_ERR_BAD_PARAM);
  if ((message.channels & PMIX_FWD_STDIN_CHANNEL) != 0 && message.channels != PMIX_FWD_ALL_CHANNELS)
    return from.reply(PMIX_ERR_NOT_SUPPORTED);
  const auto cache = OutputCache::of(message.directives);
  if (!cache) return from.reply(PMIX_ERR_BAD_PARAM);
  auto& outputs = rooms.outputs;
  // Before the host answers: output may come first.
  if (!outputs.add({from.connection, message.handle, message.procs, message.channels,
                    std::make_shared<OutputQueue>(from.connection, *cache)}))
    return from.reply(PMIX_ERR_OUT_OF_RESOURCE);
  const auto handle = message.handle;
  outputs.ask_host(from, std::move(message), [&outputs, from, handle](pmix_status_t status) {
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
  rooms.outputs.ask_host(from, std::move(ended), replying(from));
}

void on_push_input(const RequestRooms& rooms, const Requester& from, link::PushInput message) {
  if (message.targets.empty()) return from.reply(PMIX_ERR_BAD_PARAM);
  rooms.outputs.push(from, std::move(message), replying(from));
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
