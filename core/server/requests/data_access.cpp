// SPDX-License-Identifier: BSD-3-Clause
// Requests of the PMIx Standard, chapter "Synchronization and Data Access Operations". The host is not asked
// here: rooms ask it, where it brings cards or does fences.
#include "core/data/names/status.hpp"
#include "core/data/types/array.hpp"
#include "core/server/jobs/localities.hpp"
#include "core/server/requests/chapters.hpp"

namespace weft::server {
namespace {

/// A Get without a key, of a client that cannot read the segment itself.
void send_everything(const RequestRooms& rooms, const Requester& from, const pmix_proc_t& proc) {
  auto* job = rooms.jobs.find(link::nspace_of(proc));
  if (job != nullptr) make_localities(*job);
  const store::Caller caller{link::nspace_of(from.proc()) == link::nspace_of(proc), from.proc().rank};
  const auto all =
      job != nullptr ? store::lookup_all_encoded(job->view(), proc.rank, caller) : fail(Errc::not_found);
  const auto status = all ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
  from.connection->send(link::MessageType::value, from.tag,
                        link::encode_got(status, all ? *all : store::Encoded()));
}

/// PMIX_GROUP_NAMES of a process.
void send_group_names(const RequestRooms& rooms, const Requester& from, const pmix_proc_t& proc) {
  rooms.memberships.names_of(
      proc, [weak = std::weak_ptr(from.connection), tag = from.tag](const std::vector<std::string>& names) {
        const auto open = weak.lock();
        if (!open) return;
        std::vector<const char*> texts;
        for (const auto& name : names) texts.push_back(name.c_str());
        auto value = texts.empty() ? fail(Errc::not_found)
                                   : data::value_of_array(PMIX_STRING, texts.data(), texts.size());
        const auto status = value ? PMIX_SUCCESS : data::to_status(value.error());
        open->send(link::MessageType::value, tag,
                   link::encode(link::GotValue{status, value ? std::move(*value) : data::Value()}));
      });
}

void on_get(const RequestRooms& rooms, const Requester& from, link::Get message) {
  if (message.key.empty()) return send_everything(rooms, from, message.proc);
  const bool is_of_process = message.proc.rank <= PMIX_RANK_VALID;
  if (message.key == PMIX_GROUP_NAMES && is_of_process) return send_group_names(rooms, from, message.proc);
  const auto& self = from.proc();
  const store::Caller caller{link::nspace_of(self) == link::nspace_of(message.proc), self.rank};
  rooms.gets.get({.proc = message.proc,
                  .key = std::move(message.key),
                  .directives = std::move(message.directives),
                  .caller = caller,
                  .requester = from.connection.get()},
                 [weak = std::weak_ptr(from.connection), tag = from.tag](pmix_status_t status,
                                                                         const store::Encoded& value) {
                   if (const auto open = weak.lock())
                     open->send(link::MessageType::value, tag, link::encode_got(status, value));
                 });
}

void on_store(const RequestRooms& rooms, const Requester& from, link::Store message) {
  rooms.clients.commit(from.connection, from.tag, message);
}

/// That it woke the loop is all.
void on_nudge(const RequestRooms&, const Requester&, Bytes) {}

void on_fence(const RequestRooms& rooms, const Requester& from, link::Fence message) {
  rooms.fences.enter(from.connection, from.tag, std::move(message));
}

void on_withdraw(const RequestRooms& rooms, const Requester& from, link::Withdraw message) {
  if (rooms.group_boards.owns(message.board))
    return rooms.group_boards.withdraw(from.proc(), message.board, message.generation);
  rooms.fences.withdraw(*from.connection, message);
}

void on_fence_directives(const RequestRooms& rooms, const Requester& from, link::FenceDirectives message) {
  rooms.fences.take_directives(*from.connection, std::move(message));
}

void on_turned_away(const RequestRooms& rooms, const Requester& from, link::TurnedAway message) {
  rooms.fences.turned_away(*from.connection, message);
}

}  // namespace

std::span<const Request> data_access_requests() noexcept {
  using link::MessageType;
  static constexpr Request requests[] = {
      {MessageType::get, Senders::all, Reply::later, 1, decoded<on_get>},
      {MessageType::store, Senders::members, Reply::none, 1, decoded<on_store>},
      {MessageType::nudge, Senders::members, Reply::none, 1, on_nudge},
      {MessageType::fence, Senders::members, Reply::later, 1, decoded<on_fence>},
      {MessageType::withdraw, Senders::members, Reply::none, 1, decoded<on_withdraw>},
      {MessageType::fence_directives, Senders::members, Reply::none, 1, decoded<on_fence_directives>},
      {MessageType::turned_away, Senders::members, Reply::none, 1, decoded<on_turned_away>},
  };
  return requests;
}

}  // namespace weft::server
