// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/requests/requests.hpp"

#include <array>
#include <utility>

#include "base/log_format.hpp"
#include "core/server/requests/chapters.hpp"

namespace weft::server {
namespace {

/// By the number of the message's type.
using Table = std::array<const Request*, 64>;

Table all_requests() noexcept {
  Table table{};
  for (const auto& chapter :
       {data_access_requests(), publish_requests(), process_requests(), job_requests(), event_requests(),
        group_requests(), fabric_requests(), security_requests(), standard_io_requests()})
    for (const auto& request : chapter) table.at(static_cast<std::size_t>(request.type)) = &request;
  return table;
}

bool may_send(const ClientConnection& from, const Request& request) {
  return request.senders == Senders::all || !from.is_tool;
}

std::size_t room_of(const ClientConnection& from) {
  const auto processes = from.job == nullptr ? 0 : from.job->view().ranks();
  return OpenRequests::most_bytes + OpenRequests::bytes_for_process * processes;
}

/// Counts the request among the open ones of its client. False: the client was answered, or hung up on.
bool may_open(const Requester& sender, const link::Frame& frame, const Request& request) {
  using Outcome = OpenRequests::Outcome;
  auto& from = *sender.connection;
  const auto bytes = frame.payload.size() / request.counted;
  const auto outcome = OpenRequests::is_silent(frame.tag)
                           ? Outcome::repeated
                           : from.requests.take(frame.type, sender.tag, bytes, room_of(from));
  if (outcome == Outcome::taken) return true;
  if (outcome == Outcome::repeated) return from.close(), false;
  if (!std::exchange(from.was_told_of_limit, true))
    base::warn(
        base::LogPart::clients,
        "rank {} of {} (pid {}) has {} requests of {} bytes open: more are refused until some have ended",
        from.proc.rank, link::nspace_of(from.proc), from.pid, from.requests.count(), from.requests.bytes());
  from.reply(sender.tag, PMIX_ERR_OUT_OF_RESOURCE);
  return false;
}

}  // namespace

const Request* request_of(link::MessageType type) noexcept {
  static const Table table = all_requests();
  const auto number = static_cast<std::size_t>(type);
  return number < table.size() ? table[number] : nullptr;
}

void Requests::handshake(const ConnectionRef& from, const link::Frame& frame) const {
  if (frame.type == link::MessageType::hello_tool) return rooms_.tool_entry.handshake(from, frame);
  if (frame.type == link::MessageType::hello) return rooms_.clients.handshake(from, frame);
  from->close();
}

void Requests::dispatch(const ConnectionRef& from, const link::Frame& frame) const {
  if (!from->is_known) return handshake(from, frame);
  if (from->leaving && frame.type != link::MessageType::job_control) return;
  const auto* const request = request_of(frame.type);
  if (request == nullptr) return from->close();
  if (!may_send(*from, *request))
    return request->senders == Senders::members_tools_refused ? from->reply(frame.tag, PMIX_ERR_NOT_SUPPORTED)
                                                              : from->close();
  const bool is_open = request->reply == Reply::later;
  const Requester sender{from, is_open && frame.tag == 0 ? from->requests.silent_tag() : frame.tag};
  if (is_open && !may_open(sender, frame, *request)) return;
  request->take(rooms_, sender, frame.payload);
}

}  // namespace weft::server
