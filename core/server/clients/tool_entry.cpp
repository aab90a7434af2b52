// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/clients/tool_entry.hpp"

#include <unistd.h>

#include "core/server/clients/refusal.hpp"

namespace weft::server {

using link::MessageType;

/// A process that may read this process's memory anyway may connect: its user's, and root's. The kernel says
/// whose it is.
std::string ToolEntry::objection(const link::HelloTool& hello, const ClientConnection& connection,
                                 pmix_status_t& status) const {
  status = PMIX_ERR_NO_PERMISSIONS;
  if (connection.uid != ::getuid() && connection.uid != 0)
    return "user " + std::to_string(connection.uid) + " may not look at jobs of user " +
           std::to_string(::getuid());
  status = PMIX_ERR_NOT_SUPPORTED;
  if (!support_.admits) return "the resource manager takes no tools";
  status = PMIX_ERR_BAD_PARAM;
  if (hello.nspace.size() > PMIX_MAX_NSLEN || hello.nspace.find('\0') != std::string::npos ||
      hello.rank > PMIX_RANK_VALID)
    return "its name is none";
  status = PMIX_ERR_EXISTS;
  if (!hello.nspace.empty() && !is_free(link::make_proc(hello.nspace, hello.rank), connection))
    return "rank " + std::to_string(hello.rank) + " of " + hello.nspace + " is another process's name here";
  return {};
}

void ToolEntry::handshake(const ConnectionRef& connection, const link::Frame& frame) {
  if (refuse_other_version(connection, frame)) return;
  const auto hello = link::decode<link::HelloTool>(frame.payload);
  if (!hello) return refuse(connection, PMIX_ERR_BAD_PARAM, "malformed hello");
  pmix_status_t status = PMIX_SUCCESS;
  if (auto why = objection(*hello, *connection, status); !why.empty())
    return refuse(connection, status, std::move(why));
  if (hello->only_looks != 0) return answer_look(connection);
  (void)take_name(connection, hello->nspace.empty() ? new_name(*connection)
                                                    : link::make_proc(hello->nspace, hello->rank));
  connection->is_known = connection->is_tool = true;
  tools_.add(connection);
  (void)connection->watch_process();  // without pidfd the closing socket says the same
  host_.offers(&pmix_server_module_t::tool_connected) ? ask_host(connection, *hello) : welcome(connection);
}

/// Asks the host whether the tool is let in, with the user and group that the kernel reports, as the Standard
/// has it. A tool shows no credential but its socket.
void ToolEntry::ask_host(const ConnectionRef& connection, const link::HelloTool& hello) {
  data::Infos infos;
  infos.add(PMIX_USERID, data::Value::of(static_cast<std::uint32_t>(connection->uid)));
  infos.add(PMIX_GRPID, data::Value::of(static_cast<std::uint32_t>(connection->gid)));
  if (!hello.nspace.empty()) {
    infos.add(PMIX_TOOL_NSPACE, data::Value::of(hello.nspace));
    infos.add(PMIX_TOOL_RANK, data::Value::of(std::uint32_t{hello.rank}));
  }
  if (!hello.version.empty()) infos.add(PMIX_VERSION_INFO, data::Value::of(hello.version));
  host_.tool_connected(std::move(infos), [this, connection](pmix_status_t status, const pmix_proc_t& name) {
    on_decision(connection, status, name);
  });
}

/// The host may name a tool as it likes, but no two alike.
void ToolEntry::on_decision(const ConnectionRef& connection, pmix_status_t status, const pmix_proc_t& name) {
  if (!tools_.has(connection)) return;  // it ended while the host decided
  if (status != PMIX_SUCCESS) return refuse(connection, status, "the resource manager does not accept it");
  const bool is_rank = name.rank <= PMIX_RANK_VALID;
  if (name.nspace[0] != '\0' &&
      !take_name(connection, link::make_proc(link::nspace_of(name), is_rank ? name.rank : 0)))
    return refuse(connection, PMIX_ERR_EXISTS, "the resource manager gave it another tool's name");
  welcome(connection);
}

link::Welcome ToolEntry::own_name() const {
  return {.local = store::none,
          .server_nspace = server_.nspace,
          .server_rank = server_.rank,
          .is_system = support_.is_system};
}

void ToolEntry::answer_look(const ConnectionRef& connection) const {
  connection->send(MessageType::welcome, 0, link::encode(own_name()));
  connection->close();
}

/// No name of a job, of this server, or of the tool of another process. A process that connects again keeps
/// its name.
bool ToolEntry::is_free(const pmix_proc_t& name, const ClientConnection& wanted_by) const {
  const auto nspace = link::nspace_of(name);
  if (nspace == link::nspace_of(server_) || jobs_.find(nspace) != nullptr) return false;
  const auto holder = tools_.find(name);
  return holder == nullptr || (holder->pid != 0 && holder->pid == wanted_by.pid);
}

/// By host and pid; a process that is a tool twice, and processes of different pid namespaces, get a number
/// more.
pmix_proc_t ToolEntry::new_name(const ClientConnection& connection) const {
  const auto stem = "tool." + host_name_ + "." + std::to_string(connection.pid);
  auto name = link::make_proc(stem, 0);
  for (int next = 2; tools_.find(name) != nullptr || jobs_.find(link::nspace_of(name)) != nullptr; ++next)
    name = link::make_proc(stem + "." + std::to_string(next), 0);
  return name;
}

/// A former connection of the same process under that name ends: the end of its socket is still on its way.
/// False: it is another process's.
bool ToolEntry::take_name(const ConnectionRef& connection, const pmix_proc_t& name) {
  const auto former = tools_.find(name);
  if (former != nullptr && former != connection) {
    if (former->pid == 0 || former->pid != connection->pid) return false;
    former->close();
  }
  connection->proc = name;
  return true;
}

void ToolEntry::welcome(const ConnectionRef& connection) const {
  auto message = own_name();
  message.tool = connection->proc;
  connection->send(MessageType::welcome, 0, link::encode(message));
  connection->admit();
}

}  // namespace weft::server
