// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/dispatch.hpp"

#include "base/log_format.hpp"
#include "core/data/names/status.hpp"
#include "core/data/types/array.hpp"
#include "core/data/types/opaque.hpp"
#include "core/server/connections/message_rules.hpp"
#include "core/server/events/event_wire.hpp"
#include "core/server/jobs/localities.hpp"

namespace weft::server {
namespace {

using link::MessageType;

struct Sender {
  const ConnectionRef& connection;
  std::uint64_t tag;
};

/// A Get without a key, of a client that cannot read the segment itself.
void send_everything(Rooms& rooms, const Sender& from, const pmix_proc_t& proc) {
  auto* job = rooms.jobs.find(link::nspace_of(proc));
  if (job != nullptr) make_localities(*job);
  const store::Caller caller{link::nspace_of(from.connection->proc) == link::nspace_of(proc),
                             from.connection->proc.rank};
  const auto all =
      job != nullptr ? store::lookup_all_encoded(job->view(), proc.rank, caller) : fail(Errc::not_found);
  const auto status = all ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
  from.connection->send(MessageType::value, from.tag,
                        link::encode_got(status, all ? *all : store::Encoded()));
}

/// PMIX_GROUP_NAMES of a process.
void send_group_names(Rooms& rooms, const Sender& from, const pmix_proc_t& proc) {
  rooms.memberships.names_of(
      proc, [weak = std::weak_ptr(from.connection), tag = from.tag](const std::vector<std::string>& names) {
        const auto open = weak.lock();
        if (!open) return;
        std::vector<const char*> texts;
        for (const auto& name : names) texts.push_back(name.c_str());
        auto value = texts.empty() ? fail(Errc::not_found)
                                   : data::value_of_array(PMIX_STRING, texts.data(), texts.size());
        const auto status = value ? PMIX_SUCCESS : data::to_status(value.error());
        open->send(MessageType::value, tag,
                   link::encode(link::GotValue{status, value ? std::move(*value) : data::Value()}));
      });
}

void handle(Rooms& rooms, const Sender& from, link::Get message) {
  if (message.key.empty()) return send_everything(rooms, from, message.proc);
  const bool is_of_process = message.proc.rank <= PMIX_RANK_VALID;
  if (message.key == PMIX_GROUP_NAMES && is_of_process) return send_group_names(rooms, from, message.proc);
  const auto& self = from.connection->proc;
  const store::Caller caller{link::nspace_of(self) == link::nspace_of(message.proc), self.rank};
  rooms.gets.get({.proc = message.proc,
                  .key = std::move(message.key),
                  .directives = std::move(message.directives),
                  .caller = caller,
                  .requester = from.connection.get()},
                 [weak = std::weak_ptr(from.connection), tag = from.tag](pmix_status_t status,
                                                                         const store::Encoded& value) {
                   if (const auto open = weak.lock())
                     open->send(MessageType::value, tag, link::encode_got(status, value));
                 });
}

void handle(Rooms& rooms, const Sender& from, link::Store message) {
  rooms.clients.commit(from.connection, from.tag, message);
}

void handle(Rooms& rooms, const Sender& from, link::Fence message) {
  rooms.fences.enter(from.connection, from.tag, std::move(message));
}

void handle(Rooms& rooms, const Sender& from, link::Withdraw message) {
  if (rooms.group_boards.owns(message.board))
    return rooms.group_boards.withdraw(from.connection->proc, message.board, message.generation);
  rooms.fences.withdraw(*from.connection, message);
}

void handle(Rooms& rooms, const Sender& from, link::FenceDirectives message) {
  rooms.fences.take_directives(*from.connection, std::move(message));
}

void handle(Rooms& rooms, const Sender& from, link::TurnedAway message) {
  rooms.fences.turned_away(*from.connection, message);
}

void handle(Rooms& rooms, const Sender& from, link::Abort message) {
  const auto& proc = from.connection->proc;
  rooms.host.abort(proc, from.connection->job->object_of(proc.rank), message.status,
                   std::move(message.message), std::move(message.procs),
                   [connection = from.connection, tag = from.tag](pmix_status_t status) {
                     connection->reply(tag, status);
                   });
}

void handle(Rooms& rooms, const Sender& from, link::Subscribe message) {
  const auto added = rooms.events.subscribe(*from.connection, message.codes);
  if (!added) return from.connection->reply(from.tag, PMIX_ERR_OUT_OF_RESOURCE);
  // The host may have to be asked for these events.
  rooms.services.watch_events({from.connection, from.tag}, *added);
}

void handle(Rooms& rooms, const Sender& from, link::Unsubscribe message) {
  const bool all = message.codes.empty();
  rooms.services.unwatch_events(rooms.events.unsubscribe(*from.connection, {std::move(message.codes), all}));
}

void handle(Rooms& rooms, const Sender& from, events::Event event) {
  const auto* group = event.code == PMIX_GROUP_CONSTRUCT_ABORT ? event.infos.find(PMIX_GROUP_ID) : nullptr;
  if (group != nullptr && group->value.type == PMIX_STRING && group->value.data.string != nullptr)
    rooms.invitations.abort(from.connection->proc, group->value.data.string);
  rooms.events.relay(from.connection, from.tag, std::move(event));
}

void handle(Rooms& rooms, const Sender& from, link::Log message) {
  rooms.host.log(from.connection->proc, std::move(message.records), std::move(message.directives),
                 [connection = from.connection, tag = from.tag](pmix_status_t status) {
                   connection->reply(tag, status);
                 });
}

void handle(Rooms& rooms, const Sender& from, link::Query message) {
  rooms.queries.query(from.connection, from.tag, std::move(message));
}

/// What the host is asked for.
template <class Message>
auto handle(Rooms& rooms, const Sender& from, Message message)
    -> decltype(rooms.services.serve({from.connection, from.tag}, std::move(message))) {
  rooms.services.serve({from.connection, from.tag}, std::move(message));
}

/// A malformed message is answered; the connection stays.
template <class Message>
void handle_decoded(Rooms& rooms, const Sender& from, Result<Message> message) {
  if (!message) return from.connection->reply(from.tag, PMIX_ERR_BAD_PARAM);
  handle(rooms, from, std::move(*message));
}

template <class Message>
Result<Message> decoded(const link::Frame& frame) {
  const data::OpaqueIgnored ignored;
  return link::decode<Message>(frame.payload);
}

template <class Message>
void decode_and_handle(Rooms& rooms, const Sender& from, const link::Frame& frame) {
  handle_decoded(rooms, from, decoded<Message>(frame));
}

bool may_send(const ClientConnection& from, MessageType type) {
  using Senders = MessageRule::Senders;
  const auto senders = rule_of(type).senders;
  return senders == Senders::all || (!from.is_tool && senders != Senders::nobody);
}

std::size_t room_of(const ClientConnection& from) {
  const auto processes = from.job == nullptr ? 0 : from.job->view().ranks();
  return OpenRequests::most_bytes + OpenRequests::bytes_for_process * processes;
}

/// Counts it among the client's open requests. False: the client was answered, or hung up on.
bool may_open(const Sender& sender, const link::Frame& frame, const MessageRule& rule) {
  using Outcome = OpenRequests::Outcome;
  auto& from = *sender.connection;
  const auto bytes = frame.payload.size() / rule.counted;
  const auto outcome = OpenRequests::is_silent(frame.tag)
                           ? Outcome::repeated
                           : from.requests.take(sender.tag, bytes, room_of(from));
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

/// The sender of what it may not send hears so, and is not hung up on.
bool is_answered(MessageType type) {
  return rule_of(type).senders == MessageRule::Senders::members_tools_refused;
}

}  // namespace

void dispatch(Rooms& rooms, const ConnectionRef& from, const link::Frame& frame) {
  const auto rule = rule_of(frame.type);
  const bool is_silent = from->is_known && rule.may_wait && frame.tag == 0;
  const Sender sender{from, is_silent ? from->requests.silent_tag() : frame.tag};
  if (!from->is_known) {
    if (frame.type == MessageType::hello_tool) return rooms.tool_entry.handshake(from, frame);
    if (frame.type == MessageType::hello) return rooms.clients.handshake(from, frame);
    return from->close();
  }
  if (from->leaving && frame.type != MessageType::job_control) return;
  if (!may_send(*from, frame.type))
    return is_answered(frame.type) ? from->reply(frame.tag, PMIX_ERR_NOT_SUPPORTED) : from->close();
  if (rule.may_wait && !may_open(sender, frame, rule)) return;
  switch (frame.type) {
    case MessageType::get:
      return decode_and_handle<link::Get>(rooms, sender, frame);
    case MessageType::nudge:
      return;  // that it woke the loop is all
    case MessageType::store:
      return decode_and_handle<link::Store>(rooms, sender, frame);
    case MessageType::fence:
      return decode_and_handle<link::Fence>(rooms, sender, frame);
    case MessageType::withdraw:
      return decode_and_handle<link::Withdraw>(rooms, sender, frame);
    case MessageType::fence_directives:
      return decode_and_handle<link::FenceDirectives>(rooms, sender, frame);
    case MessageType::turned_away:
      return decode_and_handle<link::TurnedAway>(rooms, sender, frame);
    case MessageType::abort:
      return decode_and_handle<link::Abort>(rooms, sender, frame);
    case MessageType::finalize:
      return rooms.clients.finalize(from, frame.tag);
    case MessageType::subscribe:
      return decode_and_handle<link::Subscribe>(rooms, sender, frame);
    case MessageType::unsubscribe:
      return decode_and_handle<link::Unsubscribe>(rooms, sender, frame);
    case MessageType::notify:
      return handle_decoded(rooms, sender, decoded_event(frame.payload));
    case MessageType::log:
      return decode_and_handle<link::Log>(rooms, sender, frame);
    case MessageType::query:
      return decode_and_handle<link::Query>(rooms, sender, frame);
    case MessageType::publish:
      return decode_and_handle<link::Publish>(rooms, sender, frame);
    case MessageType::lookup:
      return decode_and_handle<link::Lookup>(rooms, sender, frame);
    case MessageType::unpublish:
      return decode_and_handle<link::Unpublish>(rooms, sender, frame);
    case MessageType::spawn:
      return decode_and_handle<link::Spawn>(rooms, sender, frame);
    case MessageType::connect:
      return decode_and_handle<link::Connect>(rooms, sender, frame);
    case MessageType::disconnect:
      return decode_and_handle<link::Disconnect>(rooms, sender, frame);
    case MessageType::group_construct:
      return decode_and_handle<link::GroupConstruct>(rooms, sender, frame);
    case MessageType::group_destruct:
      return decode_and_handle<link::GroupDestruct>(rooms, sender, frame);
    case MessageType::group_invite:
      return decode_and_handle<link::GroupInvite>(rooms, sender, frame);
    case MessageType::group_join:
      return decode_and_handle<link::GroupJoin>(rooms, sender, frame);
    case MessageType::group_leave:
      return decode_and_handle<link::GroupLeave>(rooms, sender, frame);
    case MessageType::group_fence:
      return decode_and_handle<link::GroupFence>(rooms, sender, frame);
    case MessageType::group_verdict:
      return decode_and_handle<link::GroupVerdict>(rooms, sender, frame);
    case MessageType::allocate:
      return decode_and_handle<link::Allocate>(rooms, sender, frame);
    case MessageType::job_control:
      return decode_and_handle<link::JobControl>(rooms, sender, frame);
    case MessageType::monitor:
      return decode_and_handle<link::Monitor>(rooms, sender, frame);
    case MessageType::get_credential:
      return decode_and_handle<link::GetCredential>(rooms, sender, frame);
    case MessageType::validate_credential:
      return decode_and_handle<link::ValidateCredential>(rooms, sender, frame);
    case MessageType::pull_output:
      return decode_and_handle<link::PullOutput>(rooms, sender, frame);
    case MessageType::stop_output:
      return decode_and_handle<link::StopOutput>(rooms, sender, frame);
    case MessageType::push_input:
      return decode_and_handle<link::PushInput>(rooms, sender, frame);
    case MessageType::fabric:
      return decode_and_handle<link::Fabric>(rooms, sender, frame);
    default:
      return from->close();  // not reached: what has no rule may not be sent
  }
}

}  // namespace weft::server
