// SPDX-License-Identifier: BSD-3-Clause
#include "tools/channel/session.hpp"

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

[[noreturn]] void refuse(const char* step, pmix_status_t status) {
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

/// What the library needs until it has answered.
struct Sent {
  asio::io_context& loop;
  host::InfoList infos;
  std::function<void(bool)> done;

  static void answered(pmix_status_t status, void* self) {
    const std::unique_ptr<Sent> sent(static_cast<Sent*>(self));
    if (!sent->done) return;
    asio::post(sent->loop,
               [done = std::move(sent->done), reached = status == PMIX_SUCCESS] { done(reached); });
  }
  /// returned: what the call said. Anything but success means that its callback never comes.
  static void called(Sent* open, pmix_status_t returned) {
    if (returned != PMIX_SUCCESS)
      answered(returned == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : returned, open);
  }
};

}  // namespace

/// Called on the library's thread.
struct SessionUpcalls {
  static void received(std::size_t, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[],
                       std::size_t count, pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done,
                       void* cookie) {
    const auto complete = [done, cookie] {
      if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cookie);
    };
    Session* session = of(infos, count);
    const auto* message = find(infos, count, message_key, PMIX_BYTE_OBJECT);
    // Ranks can raise any event; only what a server of this session says is an order or a report.
    if (session == nullptr || message == nullptr || session->nspace_ != source->nspace) return complete();
    asio::post(session->loop_, [session, code, from = source->rank, bytes = bytes_of(message),
                                answer = session->answers_.open(complete)]() mutable {
      session->events_.received(from, subject_of(code), std::move(bytes), std::move(answer));
    });
  }

  static void lost(std::size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t infos[],
                   std::size_t count, pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t answer,
                   void* cookie) {
    Session* session = of(infos, count);
    if (session != nullptr && session->nspace_ == source->nspace) {
      auto why = text_of(find(infos, count, PMIX_EVENT_TEXT_MESSAGE, PMIX_STRING));
      asio::post(session->loop_, [session, node = source->rank, why = std::move(why)]() mutable {
        session->events_.lost(node, std::move(why));
      });
    }
    if (answer != nullptr) answer(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cookie);
  }

 private:
  static Session* of(const pmix_info_t* infos, std::size_t count) {
    const auto* object = find(infos, count, PMIX_EVENT_RETURN_OBJECT, PMIX_POINTER);
    return object == nullptr ? nullptr : static_cast<Session*>(object->value.data.ptr);
  }
};

Session::Session(asio::io_context& loop, const host::SessionIdentity& identity, Events events)
    : loop_(loop), nspace_(identity.nspace), events_(std::move(events)) {
  learn_contact();
  std::vector<pmix_status_t> codes;
  for (std::uint8_t i = 0; i < subject_count; ++i) codes.push_back(code_of(static_cast<Subject>(i)));
  listen(std::move(codes), &SessionUpcalls::received);
  listen({PMIX_EVENT_NODE_DOWN}, &SessionUpcalls::lost);
}

Session::~Session() {
  for (const auto handler : handlers_) PMIx_Deregister_event_handler(handler, nullptr, nullptr);
  // What waits in the loop is not run any more, and whoever has one may live longer than the library.
  answers_.give_all();
}

void Session::listen(std::vector<pmix_status_t> codes, pmix_notification_fn_t handler) {
  host::InfoList infos;
  infos.add_pointer(PMIX_EVENT_RETURN_OBJECT, this);
  const auto id = PMIx_Register_event_handler(codes.data(), codes.size(), infos.data(), infos.size(), handler,
                                              nullptr, nullptr);
  if (id < 0) refuse("PMIx_Register_event_handler", id);
  handlers_.push_back(static_cast<std::size_t>(id));
}

void Session::learn_contact() {
  std::promise<pmix_status_t> answered;
  struct Asked {
    Session* session;
    std::promise<pmix_status_t>* answered;
  } asked{this, &answered};
  const auto take = [](pmix_status_t status, pmix_info_t* infos, std::size_t count, void* self,
                       pmix_release_cbfunc_t release, void* held) {
    const auto& [session, promise] = *static_cast<Asked*>(self);
    session->contact_ = bytes_of(find(infos, count, contact_key, PMIX_BYTE_OBJECT));
    session->transport_ = text_of(find(infos, count, transport_key, PMIX_STRING));
    if (release != nullptr) release(held);
    promise->set_value(status);
  };
  auto status = PMIx_server_collect_inventory(nullptr, 0, take, &asked);
  if (status == PMIX_SUCCESS) status = answered.get_future().get();
  if (status == PMIX_SUCCESS && contact_.empty()) status = PMIX_ERR_UNREACH;
  if (status != PMIX_SUCCESS) refuse("PMIx_server_collect_inventory", status);
}

void Session::deliver(const std::vector<std::string>& contacts, std::function<void(bool)> done) {
  auto sent = std::make_unique<Sent>(Sent{loop_, {}, std::move(done)});
  for (const auto& contact : contacts) sent->infos.add_bytes(contact_key, contact);
  Sent* const open = sent.release();
  Sent::called(open, PMIx_server_deliver_inventory(open->infos.data(), open->infos.size(), nullptr, 0,
                                                   &Sent::answered, open));
}

void Session::send(const std::vector<std::uint32_t>& to, Subject subject, const std::string& bytes,
                   Done done) {
  if (to.empty()) {
    if (done) asio::post(loop_, [done = std::move(done)] { done(true); });
    return;
  }
  std::vector<pmix_proc_t> procs;
  for (const auto number : to) procs.push_back(server_of(nspace_, number));
  auto sent = std::make_unique<Sent>(Sent{loop_, {}, std::move(done)});
  sent->infos.add_procs(PMIX_EVENT_CUSTOM_RANGE, procs);
  sent->infos.add_bytes(message_key, bytes);
  Sent* const open = sent.release();
  Sent::called(open, PMIx_Notify_event(code_of(subject), nullptr, PMIX_RANGE_CUSTOM, open->infos.data(),
                                       open->infos.size(), &Sent::answered, open));
}

}  // namespace weft::channel
