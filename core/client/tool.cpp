// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/tool.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>

#include "base/host_name.hpp"
#include "base/local_socket.hpp"
#include "core/data/status.hpp"
#include "core/store/lookup.hpp"

namespace weft::client {
namespace {

using link::MessageType;

// A server that is not stopped replies to hello_tool at once.
constexpr timeval handshake_limit{2, 0};

void limit_reading(int socket, timeval limit) {
  (void)::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

std::string own_name() {
  return "tool." + base::host_name() + "." + std::to_string(::getpid());
}

/// True if the process that listens there is this user's, by the kernel's word; for root also another's that was named.
bool may_be_asked(int socket, bool is_named) {
  const auto peer = base::peer_credentials(socket);
  return peer && (peer->uid == ::getuid() || (::getuid() == 0 && is_named));
}

Error error_of(pmix_status_t refusal) {
  if (refusal == PMIX_ERR_NO_PERMISSIONS) return {Errc::denied, 0, "of another user"};
  if (refusal == PMIX_ERR_OUT_OF_RESOURCE) return {Errc::no_space, 0, "the server has no descriptor left"};
  return {Errc::not_supported, 0, "another release"};
}

}  // namespace

void query_through(Connection& connection, const link::Query& query, Tool::Answered done) {
  connection.request(
      MessageType::query, link::encode(query), [done = std::move(done)](Result<link::Frame> frame) {
        if (!frame) return done(data::to_status(frame.error()), {});
        auto answer = link::decode<link::QueryAnswer>(frame->payload);
        const bool is_good = frame->type == MessageType::results && answer;
        is_good ? done(answer->status, std::move(answer->results)) : done(PMIX_ERR_COMM_FAILURE, {});
      });
}

Tool::Tool(const pmix_proc_t& self) : self_(self), connection_(std::make_unique<Connection>(shm::Fd())) {
  if (self_.nspace[0] == '\0') self_ = link::make_proc(own_name(), 0);
}

Tool::~Tool() {
  connection_->stop();
}

Result<Tool::Server> Tool::shake_hands(const link::ServerSocket& at, bool is_named) {
  auto socket = link::connect_to(at.name);
  if (!socket) return fail(socket.error());
  if (!may_be_asked(socket->get(), is_named)) return fail(Errc::denied, "of another user");
  limit_reading(socket->get(), handshake_limit);
  const auto sent =
      link::send_frame(socket->get(), MessageType::hello_tool, 0, link::encode(link::HelloTool{}));
  const auto answer = sent ? link::receive_frame(socket->get()) : fail(sent.error());
  if (!answer && answer.error().code == Errc::os && answer.error().sys == EAGAIN)
    return fail(Errc::timeout, "it does not answer");
  // A server that has not heard of tools hangs up.
  if (!answer) return fail(Errc::not_supported, "another release");
  if (answer->type == MessageType::refused) {
    const auto refused = link::decode<link::Refused>(answer->payload);
    return fail(error_of(refused ? refused->status : PMIX_ERR_NOT_SUPPORTED));
  }
  const auto welcome = link::decode<link::Welcome>(answer->payload);
  if (answer->type != MessageType::welcome || !welcome) return fail(Errc::not_supported, "another release");
  limit_reading(socket->get(), {});
  return Server{std::move(*socket), link::make_proc(welcome->server_nspace, welcome->server_rank), at.pid};
}

/// All that let us in. Errors: of the last one that did not, if none does; unreachable: there is none.
Result<std::vector<Tool::Server>> Tool::reachable(std::optional<pid_t> pid) {
  const auto sockets = link::servers_here();
  if (!sockets) return fail(Errc::unreachable, sockets.error().what, sockets.error().sys);
  std::vector<Server> out;
  Error why{Errc::unreachable, 0, "no such server"};
  for (const auto& socket : *sockets) {
    if (pid && socket.pid != *pid) continue;
    if (auto server = shake_hands(socket, pid.has_value()))
      out.push_back(std::move(*server));
    else if (server.error().code != Errc::unreachable &&
             server.error().code != Errc::os)  // it ended just now
      why = server.error();
  }
  if (out.empty()) return fail(why);
  return out;
}

Tool::Started Tool::start(const Wish& wish) {
  std::unique_ptr<Tool> tool(new Tool(wish.self));
  if (!wish.connects) return {std::move(tool), PMIX_SUCCESS};
  auto servers = reachable(wish.server);
  const auto status = !servers              ? data::to_status(servers.error())
                      : servers->size() > 1 ? PMIX_ERR_BAD_PARAM
                                            : PMIX_SUCCESS;
  if (status == PMIX_SUCCESS)
    tool->connection_ = std::make_unique<Connection>(std::move(servers->front().socket));
  else if (!wish.is_optional)
    return {nullptr, status};
  return {std::move(tool), PMIX_SUCCESS};
}

void Tool::query_later(link::Query query, Answered done) {
  const bool asks_for_servers = query.items.size() == 1 && query.items[0].keys.size() == 1 &&
                                query.items[0].keys[0] == PMIX_QUERY_AVAIL_SERVERS;
  if (!asks_for_servers) return query_through(*connection_, query, std::move(done));
  run_later([done = std::move(done)] {
    const auto servers = reachable(std::nullopt);
    if (!servers && servers.error().code != Errc::unreachable)
      return done(data::to_status(servers.error()), {});
    data::Infos list, out;
    for (std::size_t i = 0; servers && i < servers->size(); ++i) {
      data::Infos one;
      one.add(PMIX_SERVER_NSPACE, data::Value::of(link::nspace_of((*servers)[i].name)));
      one.add(PMIX_SERVER_RANK, data::Value::of_rank((*servers)[i].name.rank));
      one.add(PMIX_SERVER_PIDINFO, data::Value::of_pid((*servers)[i].pid));
      auto value = store::array_of(one);
      if (!value) return done(PMIX_ERR_NOMEM, {});
      list.add(PMIX_SERVER_INFO_ARRAY, std::move(*value));
    }
    auto value = store::array_of(list);
    if (!value) return done(PMIX_ERR_NOMEM, {});
    out.add(PMIX_QUERY_AVAIL_SERVERS, std::move(*value));
    done(PMIX_SUCCESS, std::move(out));
  });
}

}  // namespace weft::client
