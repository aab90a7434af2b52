// SPDX-License-Identifier: BSD-3-Clause
// One kind of message of a client or tool: which processes may send it, how it counts while it is open, and
// the function that checks it, asks the host or a room, and sees to the reply. Each chapter of the Standard
// has its file with its requests (chapters.hpp).
#pragma once

#include <cstddef>

#include "core/data/types/opaque.hpp"
#include "core/server/clients/clients.hpp"
#include "core/server/clients/tool_entry.hpp"
#include "core/server/connections/requester.hpp"
#include "core/server/credentials/credentials.hpp"
#include "core/server/monitors/monitors.hpp"
#include "core/server/published/published.hpp"
#include "core/server/records/records.hpp"
#include "core/server/reports/queries.hpp"

namespace weft::server {

/// The rooms that requests come to.
struct RequestRooms {
  Host& host;
  Clients& clients;
  ToolEntry& tool_entry;
  Jobs& jobs;
  Gets& gets;
  Fences& fences;
  EventRelay& events;
  WatchedCodes& watched_codes;
  Outputs& outputs;
  Published& published;
  Credentials& credentials;
  Monitors& monitors;
  Records& records;
  Queries& queries;
  GroupBoards& group_boards;
  GroupTable& group_table;
  Gatherings& gatherings;
  Bootstraps& bootstraps;
  Questions& questions;
  Memberships& memberships;
  Invitations& invitations;
  Invited& invited;
};

/// Members have a job: a card, fences, a place in the segment, groups, an end that others wait for. A tool
/// has none of it.
enum class Senders {
  members,                ///< a tool that sends it is hung up on
  members_tools_refused,  ///< a tool's program may call the function, and hears PMIX_ERR_NOT_SUPPORTED
  all
};

enum class Reply {
  none,   ///< or at once
  later,  ///< until then the request counts among the sender's open ones (open_requests.hpp)
};

/// One byte in so many of a request counts among the open bytes. Most requests carry names and directives
/// alone. Some carry data of the program's own: 64 MiB of one client may be open for other processes, and 1
/// GiB for the host.
inline constexpr std::size_t for_processes = 64, for_host = 1024;

struct Request {
  link::MessageType type;
  Senders senders;
  Reply reply;
  std::size_t counted = 1;  ///< see for_processes
  void (*take)(const RequestRooms& rooms, const Requester& from, Bytes payload);
};

/// The reply to a malformed message; the connection stays.
inline void refuse_malformed(const Requester& from) {
  from.connection->reply(from.tag, PMIX_ERR_BAD_PARAM);
}

template <class Message>
Message message_of(void (*)(const RequestRooms&, const Requester&, Message));

/// Request::take of a function that takes the message.
template <auto take>
void decoded(const RequestRooms& rooms, const Requester& from, Bytes payload) {
  auto message = [&] {
    const data::OpaqueIgnored ignored;
    return link::decode<decltype(message_of(take))>(payload);
  }();
  if (!message) return refuse_malformed(from);
  take(rooms, from, std::move(*message));
}

}  // namespace weft::server
