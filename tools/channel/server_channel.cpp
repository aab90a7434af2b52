// SPDX-License-Identifier: BSD-3-Clause
#include "tools/channel/server_channel.hpp"

#include <pmix.h>
#include <pmix_server.h>

#include <asio/post.hpp>
#include <cstring>
#include <future>
#include <memory>
#include <utility>

#include "tools/host/info_list.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::channel {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

constexpr const char* message_key = "weft.message";
constexpr const char* contact_key = "weft.contact";
constexpr const char* transport_key = "weft.transport";
constexpr const char* way_key = "weft.transport.way";
constexpr const char* server_key = "weft.server";

[[noreturn]] void stop(const char* step, pmix_status_t status) {
  throw Stop(exit_status::own_failure, messages::server_failed(step, PMIx_Error_string(status)));
}

pmix_proc_t server_of(const std::string& nspace, std::uint32_t number) {
  pmix_proc_t proc{};
  std::strncpy(proc.nspace, nspace.c_str(), PMIX_MAX_NSLEN);
  proc.rank = number;
  return proc;
}

const pmix_info_t* find(const pmix_info_t* infos, std::size_t count, const char* key, pmix_data_type_t type) {
  for (std::size_t i = 0; i < count; ++i) {
    if (std::strncmp(infos[i].key, key, PMIX_MAX_KEYLEN) == 0 && infos[i].value.type == type)
      return &infos[i];
  }
  return nullptr;
}

std::string bytes_of(const pmix_info_t* info) {
  if (info == nullptr || info->value.data.bo.bytes == nullptr) return {};
  return {info->value.data.bo.bytes, info->value.data.bo.size};
}

std::string text_of(const pmix_info_t* info) {
  return info == nullptr || info->value.data.string == nullptr ? std::string() : info->value.data.string;
}

/// A call into the library that has not completed: what the library reads until then, and what to do
/// afterwards.
struct OpenCall {
  asio::io_context& loop;
  host::InfoList infos;
  std::function<void(bool)> done;

  static void completed(pmix_status_t status, void* self) {
    const std::unique_ptr<OpenCall> call(static_cast<OpenCall*>(self));
    if (!call->done) return;
    asio::post(call->loop,
               [done = std::move(call->done), reached = status == PMIX_SUCCESS] { done(reached); });
  }
  /// returned: by the call itself. Anything but success means that its callback never comes.
  static void began(OpenCall* open, pmix_status_t returned) {
    if (returned != PMIX_SUCCESS)
      completed(returned == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : returned, open);
  }
};

}  // namespace

/// Called on the library's thread.
struct ServerChannelUpcalls {
  static void received(std::size_t, pmix_status_t code, const pmix_proc_t*, pmix_info_t infos[],
                       std::size_t count, pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done,
                       void* cookie) {
    const auto complete = [done, cookie](bool is_received) {
      const auto status = is_received ? PMIX_EVENT_ACTION_COMPLETE : PMIX_ERR_UNREACH;
      if (done != nullptr) done(status, nullptr, 0, nullptr, nullptr, cookie);
    };
    ServerChannel* channel = of(infos, count);
    const auto* message = find(infos, count, message_key, PMIX_BYTE_OBJECT);
    // A rank can raise any event, in any name; which server a message came from is the library's word.
    const auto* server = find(infos, count, server_key, PMIX_PROC_RANK);
    if (channel == nullptr || message == nullptr || server == nullptr) return complete(true);
    asio::post(channel->loop_, [channel, code, from = server->value.data.rank, bytes = bytes_of(message),
                                reply = channel->pending_replies_.add(complete)]() mutable {
      channel->events_.received(from, message_type_of(code), std::move(bytes), std::move(reply));
    });
  }

  static void lost(std::size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t infos[],
                   std::size_t count, pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done,
                   void* cookie) {
    ServerChannel* channel = of(infos, count);
    const auto* server = find(infos, count, server_key, PMIX_PROC_RANK);
    if (channel != nullptr && server != nullptr && server->value.data.rank == channel->number_) {
      auto why = text_of(find(infos, count, PMIX_EVENT_TEXT_MESSAGE, PMIX_STRING));
      asio::post(channel->loop_, [channel, node = source->rank, why = std::move(why)]() mutable {
        channel->events_.lost(node, std::move(why));
      });
    }
    if (done != nullptr) done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cookie);
  }

 private:
  static ServerChannel* of(const pmix_info_t* infos, std::size_t count) {
    const auto* object = find(infos, count, PMIX_EVENT_RETURN_OBJECT, PMIX_POINTER);
    return object == nullptr ? nullptr : static_cast<ServerChannel*>(object->value.data.ptr);
  }
};

ServerChannel::ServerChannel(asio::io_context& loop, const host::ServerIdentity& identity, Events events)
    : loop_(loop), nspace_(identity.nspace), number_(identity.number), events_(std::move(events)) {
  ask_contact();
  std::vector<pmix_status_t> codes;
  for (std::uint8_t i = 0; i < message_type_count; ++i)
    codes.push_back(event_code_of(static_cast<MessageType>(i)));
  listen(std::move(codes), &ServerChannelUpcalls::received);
  listen({PMIX_EVENT_NODE_DOWN}, &ServerChannelUpcalls::lost);
}

ServerChannel::~ServerChannel() {
  for (const auto handler : handlers_) PMIx_Deregister_event_handler(handler, nullptr, nullptr);
  // Handlers that are still queued in the loop will not run, and a Reply may outlive libpmix: their senders
  // hear now that nothing becomes of their messages.
  pending_replies_.refuse_all();
}

void ServerChannel::listen(std::vector<pmix_status_t> codes, pmix_notification_fn_t handler) {
  host::InfoList infos;
  infos.add_pointer(PMIX_EVENT_RETURN_OBJECT, this);
  const auto id = PMIx_Register_event_handler(codes.data(), codes.size(), infos.data(), infos.size(), handler,
                                              nullptr, nullptr);
  if (id < 0) stop("PMIx_Register_event_handler", id);
  handlers_.push_back(static_cast<std::size_t>(id));
}

void ServerChannel::ask_contact() {
  std::promise<pmix_status_t> replied;
  struct Asked {
    ServerChannel* channel;
    std::promise<pmix_status_t>* replied;
  } asked{this, &replied};
  const auto take = [](pmix_status_t status, pmix_info_t* infos, std::size_t count, void* self,
                       pmix_release_cbfunc_t release, void* held) {
    const auto& [channel, promise] = *static_cast<Asked*>(self);
    channel->contact_ = bytes_of(find(infos, count, contact_key, PMIX_BYTE_OBJECT));
    channel->transport_ = text_of(find(infos, count, transport_key, PMIX_STRING));
    channel->way_ = text_of(find(infos, count, way_key, PMIX_STRING));
    if (release != nullptr) release(held);
    promise->set_value(status);
  };
  auto status = PMIx_server_collect_inventory(nullptr, 0, take, &asked);
  if (status == PMIX_SUCCESS) status = replied.get_future().get();
  if (status == PMIX_SUCCESS && contact_.empty()) status = PMIX_ERR_UNREACH;
  if (status != PMIX_SUCCESS) stop("PMIx_server_collect_inventory", status);
}

void ServerChannel::add_contact(const std::string& contact, std::function<void(bool)> done) {
  auto call = std::make_unique<OpenCall>(OpenCall{loop_, {}, std::move(done)});
  call->infos.add_bytes(contact_key, contact);
  OpenCall* const open = call.release();
  OpenCall::began(open, PMIx_server_deliver_inventory(open->infos.data(), open->infos.size(), nullptr, 0,
                                                      &OpenCall::completed, open));
}

void ServerChannel::send(const std::vector<std::uint32_t>& to, MessageType type, const std::string& bytes,
                         Done done) {
  if (to.empty()) {
    if (done) asio::post(loop_, [done = std::move(done)] { done(true); });
    return;
  }
  std::vector<pmix_proc_t> procs;
  for (const auto number : to) procs.push_back(server_of(nspace_, number));
  auto call = std::make_unique<OpenCall>(OpenCall{loop_, {}, std::move(done)});
  call->infos.add_procs(PMIX_EVENT_CUSTOM_RANGE, procs);
  call->infos.add_bytes(message_key, bytes);
  OpenCall* const open = call.release();
  OpenCall::began(open, PMIx_Notify_event(event_code_of(type), nullptr, PMIX_RANGE_CUSTOM, open->infos.data(),
                                          open->infos.size(), &OpenCall::completed, open));
}

}  // namespace weft::channel
