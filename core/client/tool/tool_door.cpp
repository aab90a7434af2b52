// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/tool/tool_door.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>

#include "base/local_socket.hpp"
#include "core/data/names/status.hpp"

namespace weft::client {
namespace {

using link::MessageType;

/// 0: none.
void limit_reading(int socket, std::chrono::seconds limit) {
  const timeval value{static_cast<time_t>(limit.count()), 0};
  (void)::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
}

bool may_be_asked(int socket, Chosen chosen) {
  const auto peer = base::peer_credentials(socket);
  return peer && (peer->uid == ::getuid() || (::getuid() == 0 && chosen == Chosen::by_name));
}

Greeting refused_with(pmix_status_t status) {
  Greeting out;
  out.status = status;
  return out;
}

pmix_status_t status_of_refusal(Bytes payload) {
  const auto refused = link::decode<link::Refused>(payload);
  const bool is_failure = refused && refused->status < 0 && refused->status != PMIX_OPERATION_SUCCEEDED;
  return is_failure ? refused->status : PMIX_ERR_NOT_SUPPORTED;
}

Greeting greet(const std::string& at, Chosen chosen, const link::HelloTool& hello,
               std::chrono::seconds limit) {
  auto socket = link::connect_to(at);
  // Whatever else the kernel says of the name of a server that has just ended.
  if (!socket) return refused_with(PMIX_ERR_UNREACH);
  if (!may_be_asked(socket->get(), chosen)) return refused_with(PMIX_ERR_NO_PERMISSIONS);
  limit_reading(socket->get(), limit);
  const auto sent = link::send_frame(socket->get(), MessageType::hello_tool, 0, link::encode(hello));
  const auto answer = sent ? link::receive_frame(socket->get()) : fail(sent.error());
  if (!answer && answer.error().code == Errc::os && answer.error().sys == EAGAIN)
    return refused_with(PMIX_ERR_TIMEOUT);
  // A server that has not heard of tools hangs up.
  if (!answer) return refused_with(PMIX_ERR_NOT_SUPPORTED);
  if (answer->type == MessageType::refused) return refused_with(status_of_refusal(answer->payload));
  const auto welcome = link::decode<link::Welcome>(answer->payload);
  const bool is_named = welcome && (hello.only_looks != 0 || welcome->tool.nspace[0] != '\0');
  if (answer->type != MessageType::welcome || !is_named) return refused_with(PMIX_ERR_NOT_SUPPORTED);
  limit_reading(socket->get(), std::chrono::seconds(0));
  return {PMIX_SUCCESS, std::move(*socket), link::make_proc(welcome->server_nspace, welcome->server_rank),
          welcome->tool, welcome->is_system != 0};
}

}  // namespace

Greeting look_at(const std::string& socket, Chosen chosen) {
  link::HelloTool hello;
  hello.only_looks = 1;
  auto out = greet(socket, chosen, hello, look_limit);
  out.socket.reset();
  return out;
}

Greeting enter(const std::string& socket, Chosen chosen, const pmix_proc_t& self, const std::string& version,
               std::chrono::seconds limit) {
  link::HelloTool hello;
  hello.nspace = link::nspace_of(self);
  hello.rank = self.rank;
  hello.version = version;
  return greet(socket, chosen, hello, limit);
}

}  // namespace weft::client
