// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/server.hpp"

#include <pmix_server.h>
#include <pmix_tool.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "tools/host/calls.hpp"
#include "tools/host/debug_events.hpp"
#include "tools/host/namespace.hpp"
#include "tools/host/requests/control_call.hpp"
#include "tools/host/requests/names_of.hpp"
#include "tools/host/requests/spawn_call.hpp"
#include "tools/host/requests/standard_io_call.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "weft/pmix_extensions.h"

namespace weft::host {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

/// The object that the upcalls work on, for the library passes them no context of ours. Set before the
/// library can make one: a tool may come before any job. Cleared after the library's end.
std::atomic<Server*> current{nullptr};

std::vector<Rank> named_ranks(const std::string& nspace, const pmix_proc_t procs[], std::size_t count) {
  std::vector<Rank> named;
  for (std::size_t i = 0; i < count; ++i) {
    if (procs[i].rank == PMIX_RANK_WILDCARD) return {};  // the whole job
    if (nspace == procs[i].nspace) named.push_back(Rank{procs[i].rank});
  }
  std::sort(named.begin(), named.end());
  return named;
}

/// The infos that each event of a job has. The library adds the time.
InfoList about_job(const std::string& nspace) {
  InfoList infos;
  infos.add_string(PMIX_NSPACE, nspace);
  infos.add_proc(PMIX_EVENT_AFFECTED_PROC, proc_of(nspace, Rank{PMIX_RANK_WILDCARD}));
  return infos;
}

/// Tells users of the attributes of one upcall (PMIX_QUERY_ATTRIBUTE_SUPPORT, PMIX_QUERY_SPAWN_SUPPORT).
void register_attributes(std::string upcall, std::vector<std::string> keys) {
  std::vector<char*> all;
  for (auto& key : keys) all.push_back(key.data());
  all.push_back(nullptr);
  require(PMIx_Register_attributes(upcall.data(), all.data()), "PMIx_Register_attributes");
}

}  // namespace

/// The upcalls run on the library's thread and only record what happened: the library must not wait for the
/// loop of the tool.
struct Upcalls {
  /// Calls see(namespace, rank) while that namespace lasts. False: there is no such rank.
  template <class See>
  static bool with(const pmix_proc_t& proc, See&& see) {
    Server* server = current.load(std::memory_order_acquire);
    if (server == nullptr) return false;
    const std::lock_guard lock(server->mutex_);
    const auto found = server->namespaces_.find(proc.nspace);
    if (found == server->namespaces_.end() || proc.rank >= found->second->size()) return false;
    see(*found->second, Rank{proc.rank});
    return true;
  }
  static pmix_status_t advance(const pmix_proc_t* proc, Namespace::Mark mark) {
    const bool is_known = with(*proc, [mark](Namespace& of, Rank rank) { of.advance(rank, mark); });
    return is_known ? PMIX_OPERATION_SUCCEEDED : PMIX_ERR_NOT_FOUND;
  }
  static pmix_status_t connected(const pmix_proc_t* proc, void*, pmix_info_t*, std::size_t, pmix_op_cbfunc_t,
                                 void*) {
    return advance(proc, Namespace::connected_mark);
  }
  static pmix_status_t finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
    return advance(proc, Namespace::finalized_mark);
  }
  static pmix_status_t abort(const pmix_proc_t* proc, void*, int status, const char* message,
                             pmix_proc_t procs[], std::size_t count, pmix_op_cbfunc_t, void*) {
    const bool is_known = with(*proc, [&](Namespace& of, Rank rank) {
      of.take_abort(rank, status, message, named_ranks(of.name(), procs, procs == nullptr ? 0 : count));
    });
    return is_known ? PMIX_OPERATION_SUCCEEDED : PMIX_ERR_NOT_FOUND;
  }

  static pmix_status_t job_control(const pmix_proc_t* from, const pmix_proc_t targets[], std::size_t count,
                                   const pmix_info_t directives[], std::size_t directives_count,
                                   pmix_info_cbfunc_t done, void* cookie) {
    const Server* server = current.load(std::memory_order_acquire);
    if (server == nullptr || !server->events_.control) return PMIX_ERR_NOT_SUPPORTED;
    job::ControlRequest request;
    const auto status = read_control_call(*from, targets, count, directives, directives_count, request);
    if (status != PMIX_SUCCESS) return status;
    server->events_.control(std::move(request), [done, cookie](const job::Result& result) {
      done(result.status, nullptr, 0, cookie, nullptr, nullptr);
    });
    return PMIX_SUCCESS;
  }

  /// For a call that is answered by nothing but how it has ended.
  template <class Request, class Ask>
  static pmix_status_t ask(const Ask& ask_host, Request request, pmix_op_cbfunc_t done, void* cookie) {
    if (!ask_host) return PMIX_ERR_NOT_SUPPORTED;
    ask_host(std::move(request), [done, cookie](const job::Result& result) { done(result.status, cookie); });
    return PMIX_SUCCESS;
  }
  static pmix_status_t pull(const pmix_proc_t procs[], std::size_t count, const pmix_info_t directives[],
                            std::size_t directives_count, pmix_iof_channel_t channels, pmix_op_cbfunc_t done,
                            void* cookie) {
    const Server* server = current.load(std::memory_order_acquire);
    job::PullRequest request;
    const auto status = read_pull_call({procs, count}, {directives, directives_count}, channels, request);
    if (server == nullptr || status != PMIX_SUCCESS)
      return server == nullptr ? PMIX_ERR_NOT_SUPPORTED : status;
    return ask(server->events_.pull, std::move(request), done, cookie);
  }
  static pmix_status_t push(const pmix_proc_t* from, const pmix_proc_t targets[], std::size_t count,
                            const pmix_info_t directives[], std::size_t directives_count,
                            const pmix_byte_object_t* bytes, pmix_op_cbfunc_t done, void* cookie) {
    const Server* server = current.load(std::memory_order_acquire);
    job::PushRequest request;
    const auto status =
        read_push_call(*from, {targets, count}, {directives, directives_count}, bytes, request);
    if (server == nullptr || status != PMIX_SUCCESS)
      return server == nullptr ? PMIX_ERR_NOT_SUPPORTED : status;
    return ask(server->events_.push, std::move(request), done, cookie);
  }

  static pmix_status_t connected(const pmix_proc_t procs[], std::size_t count, const pmix_info_t*,
                                 std::size_t, pmix_op_cbfunc_t, void*) {
    return tell_connected({procs, count}, true);
  }
  static pmix_status_t disconnected(const pmix_proc_t procs[], std::size_t count, const pmix_info_t*,
                                    std::size_t, pmix_op_cbfunc_t, void*) {
    return tell_connected({procs, count}, false);
  }
  static pmix_status_t tell_connected(std::span<const pmix_proc_t> procs, bool are_connected) {
    const Server* server = current.load(std::memory_order_acquire);
    std::set<std::string> nspaces;
    for (const auto& proc : procs) nspaces.emplace(proc.nspace);
    if (server == nullptr || !server->events_.connected || nspaces.size() < 2)
      return PMIX_OPERATION_SUCCEEDED;
    auto first = procs.front();
    if (first.rank == PMIX_RANK_WILDCARD) first.rank = 0;
    bool is_here = false;
    with(first, [&](Namespace& of, Rank rank) { is_here = of.serves(rank); });
    if (is_here) server->events_.connected({nspaces.begin(), nspaces.end()}, are_connected);
    return PMIX_OPERATION_SUCCEEDED;
  }

  static pmix_status_t spawn(const pmix_proc_t* parent, const pmix_info_t infos[], std::size_t count,
                             const pmix_app_t apps[], std::size_t programs, pmix_spawn_cbfunc_t done,
                             void* cookie) {
    const Server* server = current.load(std::memory_order_acquire);
    if (server == nullptr || !server->events_.spawn) return PMIX_ERR_NOT_SUPPORTED;
    job::SpawnRequest request;
    const auto status = read_spawn_call(*parent, infos, count, apps, programs, request);
    if (status != PMIX_SUCCESS) return status;
    server->events_.spawn(std::move(request), [done, cookie](const job::Result& result) {
      pmix_nspace_t name{};
      result.nspace.copy(name, PMIX_MAX_NSLEN);
      done(result.status, name, cookie);
    });
    return PMIX_SUCCESS;
  }

  /// Any rank can raise an event with this code. From a forged one nothing follows but that the end of a rank
  /// is waited for a moment longer.
  static void lost(std::size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t infos[], std::size_t count,
                   pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done, void* cookie) {
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_about =
          PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_AFFECTED_PROC) && infos[i].value.type == PMIX_PROC;
      const auto* proc = is_about ? infos[i].value.data.proc : nullptr;
      if (proc != nullptr) with(*proc, [](Namespace& of, Rank rank) { of.take_loss(rank); });
    }
    if (done != nullptr) done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cookie);
  }

  static void names_lost(std::size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t[], std::size_t,
                         pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done, void* cookie) {
    const Server* server = current.load(std::memory_order_acquire);
    const bool is_of_server =
        server != nullptr && source != nullptr && PMIX_CHECK_PROCID(source, &server->self_);
    if (is_of_server) server->events_.names_lost();
    if (done != nullptr) done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cookie);
  }

  /// A rank can say of itself alone that it has stopped: the library sets the source. Any process of the run
  /// may let ranks go on.
  static void debugged(std::size_t, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[],
                       std::size_t count, pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done,
                       void* cookie) {
    const std::span all(infos, count);
    if (code == PMIX_READY_FOR_DEBUG && source != nullptr)
      with(*source, [&](Namespace& of, Rank rank) { of.take_held(rank, breakpoint_in(all)); });
    if (code == PMIX_DEBUGGER_RELEASE) release(released_by(all));
    if (done != nullptr) done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cookie);
  }
  static void release(const std::vector<job::ControlRequest::Target>& targets) {
    Server* server = current.load(std::memory_order_acquire);
    if (server == nullptr) return;
    const std::lock_guard lock(server->mutex_);
    for (const auto& [name, of] : server->namespaces_) of->take_release(targets);
  }
};

Server::Server(const ServerIdentity& identity, Events events)
    : self_(proc_of(identity.nspace, Rank{identity.number})), events_(std::move(events)) {
  static pmix_server_module_t module{};  // the library may keep the address
  module.client_connected2 = &Upcalls::connected;
  module.client_finalized = &Upcalls::finalized;
  module.abort = &Upcalls::abort;
  module.spawn = &Upcalls::spawn;
  module.job_control = &Upcalls::job_control;
  module.iof_pull = &Upcalls::pull;
  module.push_stdin = &Upcalls::push;
  module.connect = &Upcalls::connected;
  module.disconnect = &Upcalls::disconnected;
  InfoList infos;
  infos.add_bool("weft.tells_ends", true);
  infos.add_bool("weft.hears_connects", true);
  infos.add_string(PMIX_SERVER_NSPACE, identity.nspace);
  infos.add_rank(PMIX_SERVER_RANK, Rank{identity.number});
  if (identity.servers > 1) {
    infos.add_u32(PMIX_NUM_NODES, identity.servers);
    if (identity.first_servers != 0) infos.add_u32("weft.first_nodes", identity.first_servers);
    if (identity.names_keeper) infos.add_u32("weft.names_keeper", *identity.names_keeper);
    infos.add_string(PMIX_HOSTNAME, identity.host);
    infos.add_secret("weft.key", identity.key);
    if (!identity.transport.empty()) infos.add_string("weft.transport", identity.transport);
    if (identity.is_on_one_host) infos.add_bool("weft.one_host", true);
    if (!identity.contact.empty()) infos.add_bytes("weft.contact", identity.contact);
  }
  current.store(this, std::memory_order_release);
  const auto status = PMIx_server_init(&module, infos.data(), infos.size());
  if (status != PMIX_SUCCESS) current.store(nullptr, std::memory_order_release);
  if (status == PMIX_ERR_UNREACH &&
      !identity.contact.empty())  // a daemon, told of a transport that this node does not have
    throw Stop(exit_status::no_transport,
               messages::server_failed("PMIx_server_init", PMIx_Error_string(status)));
  require(status, "PMIx_server_init");
  if (events_.spawn) register_attributes("spawn", spawn_attributes());
  if (events_.control) register_attributes("job_control", control_attributes());
}

Server::~Server() {
  PMIx_server_finalize();
  current.store(nullptr, std::memory_order_release);
  for (const auto& [name, of] : namespaces_) of->server_ended();
}

void Server::add(Namespace& of) {
  if (!std::exchange(watches_losses_, true)) watch_losses();
  if (of.stops_ && !std::exchange(watches_debuggers_, true)) watch_debuggers();
  const std::lock_guard lock(mutex_);
  if (!namespaces_.emplace(of.name(), &of).second)
    throw Stop(exit_status::own_failure, messages::damaged_order());
}

void Server::remove(const Namespace& of) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto known = namespaces_.find(of.name()); known != namespaces_.end()) namespaces_.erase(known);
}

void Server::share_names(const std::string& of) {
  if (events_.names_lost) {
    pmix_status_t code = WEFT_NAMES_LOST;
    const auto id = PMIx_Register_event_handler(&code, 1, nullptr, 0, &Upcalls::names_lost, nullptr, nullptr);
    require(id < 0 ? id : PMIX_SUCCESS, "PMIx_Register_event_handler");
  }
  const auto where = read_names_of(of);
  InfoList infos;
  infos.add_bool(WEFT_NAMES_OF, true);
  where.pid ? infos.add_pid(where.key, *where.pid) : infos.add_string(where.key, where.text);
  const auto status = PMIx_tool_attach_to_server(nullptr, nullptr, infos.data(), infos.size());
  if (status != PMIX_SUCCESS)
    throw Stop(exit_status::own_failure, messages::names_not_there(of, why_no_names(status)));
}

void Server::watch_losses() {
  pmix_status_t code = PMIX_ERR_PROC_ABORTED;
  const auto id = PMIx_Register_event_handler(&code, 1, nullptr, 0, &Upcalls::lost, nullptr, nullptr);
  require(id < 0 ? id : PMIX_SUCCESS, "PMIx_Register_event_handler");
}

void Server::watch_debuggers() {
  pmix_status_t codes[] = {PMIX_READY_FOR_DEBUG, PMIX_DEBUGGER_RELEASE};
  const auto id = PMIx_Register_event_handler(codes, 2, nullptr, 0, &Upcalls::debugged, nullptr, nullptr);
  require(id < 0 ? id : PMIX_SUCCESS, "PMIx_Register_event_handler");
}

void Server::announce_held(const std::string& nspace, const std::string& breakpoint) const {
  auto infos = ready_infos(nspace, breakpoint);
  raise_event(PMIX_READY_FOR_DEBUG, nullptr, PMIX_RANGE_SESSION, infos);
}

void Server::announce_job(pmix_status_t code, const std::string& nspace) const {
  auto infos = about_job(nspace);
  infos.add_bool(PMIX_EVENT_NON_DEFAULT,
                 true);  // for tools: ranks may end themselves for whatever their default handler hears
  raise_event(code, nullptr, PMIX_RANGE_LOCAL, infos);
}

void Server::announce_end_of_job(const std::string& nspace, const job::Ending& ending) const {
  auto infos = about_job(nspace);
  {
    const std::lock_guard lock(mutex_);
    // Ranks of other jobs may end themselves for whatever their default handler hears.
    if (namespaces_.size() > 1) infos.add_bool(PMIX_EVENT_NON_DEFAULT, true);
  }
  infos.add_status(PMIX_JOB_TERM_STATUS, ending.status);
  if (ending.failed) {
    infos.add_proc(PMIX_PROCID, proc_of(nspace, *ending.failed));
    infos.add_int(PMIX_EXIT_CODE, ending.exit_code);
  }
  raise_event(PMIX_EVENT_JOB_END, nullptr, PMIX_RANGE_LOCAL, infos);
}

void Server::forget_job(const std::string& nspace) const {
  PMIx_server_deregister_nspace(
      nspace.c_str(), [](pmix_status_t, void*) {}, nullptr);
}

void Server::tell_job(pmix_status_t code, const std::string& nspace, const job::ProcessName& process) const {
  auto infos = about_job(nspace);
  infos.add_procs(PMIX_EVENT_CUSTOM_RANGE, {proc_of(process.nspace, process.rank)});
  infos.add_bool(PMIX_EVENT_NON_DEFAULT, true);
  raise_event(code, nullptr, PMIX_RANGE_CUSTOM, infos);
}

}  // namespace weft::host
