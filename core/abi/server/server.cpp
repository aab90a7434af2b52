// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Server-specific interfaces".
//
// Completion: with a callback, PMIX_SUCCESS and the callback on the library's thread; with NULL, the call
// waits and PMIX_OPERATION_SUCCEEDED says that it is done.
#include "weft/pmix_extensions.h"

#include "base/log_format.hpp"
#include "core/abi/calls/guard.hpp"
#include "core/abi/calls/results.hpp"
#include "core/abi/roles/role.hpp"
#include "core/server/launch/launch_info.hpp"

using weft::abi::guarded_directives;
using weft::abi::guarded_status;
using weft::abi::roles;
using weft::abi::text_of;
using Done = weft::server::Server::Done;

namespace {

template <class Work>
pmix_status_t run(pmix_op_cbfunc_t cbfunc, void* cbdata, Work&& work) {
  auto* server = roles().server();
  if (server == nullptr) return PMIX_ERR_INIT;
  if (cbfunc != nullptr) {
    work(*server, [cbfunc, cbdata](pmix_status_t status) { cbfunc(status, cbdata); });
    return PMIX_SUCCESS;
  }
  const auto status = server->await([&](Done done) { work(*server, std::move(done)); });
  return status == PMIX_SUCCESS ? PMIX_OPERATION_SUCCEEDED : status;
}

void complain_of_pattern(const char* source, const std::string& pattern) {
  weft::base::warn(weft::base::LogPart::launch,
                   "{}: '{}' is no pattern for names of environment variables; `?` is any one character, `*` "
                   "at the end whatever "
                   "follows, and `;` stands between patterns",
                   source, pattern);
}

/// A name of a length that namespaces have; a longer one is not cut, which would make it another's.
bool is_nspace(const char* nspace) {
  const auto length = text_of(nspace, PMIX_MAX_NSLEN + 1).size();
  return length != 0 && length <= PMIX_MAX_NSLEN;
}

bool valid(const pmix_proc_t* proc) {
  return proc != nullptr && proc->nspace[0] != '\0';
}

}  // namespace

/// PMIx_server_init: makes this process the PMIx server of its node. Counted.
///   module  upcalls, 28 slots (the layout of 4.2); NULL: none. Copied.
///   info    PMIX_SERVER_NSPACE, PMIX_SERVER_RANK: its own name; PMIX_HOSTNAME; of a session of several nodes
///           also PMIX_NUM_NODES, weft.key, weft.transport, weft.contact (docs/design/nodes.md)
///           of tools: PMIX_SERVER_TOOL_SUPPORT (bool; false: none is let in), PMIX_SERVER_SYSTEM_SUPPORT
///           (bool: tools find it as the node's), PMIX_LAUNCHER_RENDEZVOUS_FILE (a file with its URI, which
///           goes with the server). PMIX_SERVER_REMOTE_CONNECTIONS cannot be done: where it is required,
///           PMIX_ERR_NOT_SUPPORTED
///           PMIX_EXTERNAL_PROGRESS (bool): core/abi/roles/progress.cpp
///   Errors: PMIX_ERR_BAD_PARAM, _OUT_OF_RESOURCE (no memfd, no descriptor), _NOMEM,
///           _UNREACH (no fabric to the other nodes; standard error says why)
/// A module with the upcall listener accepts clients and tools in the server's place, unless it refuses: it
/// is called once, by the thread that is in here, with a socket that does not block, and the end of the
/// server shuts that down.
/// Not yet: other attributes (ignored, refused where required)
pmix_status_t PMIx_server_init(pmix_server_module_t* module, pmix_info_t info[], size_t ninfo) {
  return guarded_directives(info, ninfo, [&]() -> pmix_status_t {
    const weft::abi::Roles::Changing changing(roles());
    if (roles().server_count == 0 && !roles().is_launcher()) {
      auto started = weft::server::Server::start(module, info, ninfo);
      if (!started) return weft::abi::to_status(started.error());
      roles().set_server(std::move(*started));
    }
    ++roles().server_count;
    return PMIX_SUCCESS;
  });
}

/// PMIx_server_finalize: clients that are still connected see their server go.
/// Calls that other threads are in end with PMIX_ERR_INIT, and so does what was asked for with a callback and
/// not done yet; it returns after them. An upcall of the host that does not return is waited for 5 s: then a
/// line on standard error names it, no other upcall begins, and the server's thread and memory stay.
pmix_status_t PMIx_server_finalize(void) {
  return guarded_status([]() -> pmix_status_t {
    const weft::abi::Roles::Changing changing(roles());
    if (roles().server_count == 0) return PMIX_ERR_INIT;
    if (--roles().server_count == 0 && !roles().is_launcher()) roles().set_server(nullptr);
    return PMIX_SUCCESS;
  });
}

/// PMIx_server_register_nspace: lays a job out in the node segment; its clients may come from then on.
///   nlocalprocs  local ranks; info as in the Standard's list of job-level information
///   Errors: PMIX_ERR_INIT, _BAD_PARAM (malformed or contradictory: a line on stderr says which attribute;
///   nothing is kept), _OUT_OF_RESOURCE (the segment is full)
pmix_status_t PMIx_server_register_nspace(const pmix_nspace_t nspace, int nlocalprocs, pmix_info_t info[],
                                          size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    if (nspace == nullptr || nlocalprocs < 0 || (info == nullptr && ninfo != 0)) return PMIX_ERR_BAD_PARAM;
    auto infos = weft::data::Infos::copy_of(info, ninfo);
    if (!infos) return PMIX_ERR_BAD_PARAM;
    return run(cbfunc, cbdata, [&](auto& server, Done done) {
      server.registrations().register_nspace(std::string(text_of(nspace, PMIX_MAX_NSLEN + 1)), nlocalprocs,
                                             std::move(*infos), std::move(done));
    });
  });
}

void PMIx_server_deregister_nspace(const pmix_nspace_t nspace, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  const auto status = guarded_status([&]() -> pmix_status_t {
    if (!is_nspace(nspace)) return PMIX_ERR_BAD_PARAM;
    return run(cbfunc, cbdata, [&](auto& server, Done done) {
      server.registrations().deregister_nspace(std::string(nspace), std::move(done));
    });
  });
  // The caller has no other way to hear of it, and waits for the callback.
  if (status != PMIX_SUCCESS && cbfunc != nullptr) cbfunc(status, cbdata);
}

/// PMIx_server_define_process_set: a name for processes, which programs can ask about (PMIX_QUERY_NUM_PSETS,
/// _PSET_NAMES, _PSET_MEMBERSHIP). Local clients hear PMIX_PROCESS_SET_DEFINE with PMIX_PSET_NAME and
/// PMIX_PSET_MEMBERS. The set ends with the namespaces of its members.
///   members [nmembers]  a job by PMIX_RANK_WILDCARD or rank by rank; pset: at most PMIX_MAX_NSLEN
///                       characters, no comma
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _EXISTS (a set or a namespace of that name), _NOT_FOUND (a member
///   that is not registered here)
///   A host defines a set at each of its servers. Source: PMIx Standard, chapter "Process Sets and Groups".
/// Not yet: PMIX_PSET_NAMES of a process from this call; the host registers that key with its namespace.
pmix_status_t PMIx_server_define_process_set(const pmix_proc_t* members, size_t nmembers, const char* pset) {
  return guarded_status([&]() -> pmix_status_t {
    if (members == nullptr || nmembers == 0 || pset == nullptr) return PMIX_ERR_BAD_PARAM;
    const auto status = run(nullptr, nullptr, [&](auto& server, Done done) {
      server.registrations().define_process_set(std::string(text_of(pset, PMIX_MAX_NSLEN + 1)),
                                                {members, members + nmembers}, std::move(done));
    });
    return status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
  });
}

/// PMIx_server_delete_process_set: local clients hear PMIX_PROCESS_SET_DELETE. Errors: PMIX_ERR_INIT,
/// _BAD_PARAM, _NOT_FOUND.
pmix_status_t PMIx_server_delete_process_set(char* pset) {
  return guarded_status([&]() -> pmix_status_t {
    if (pset == nullptr) return PMIX_ERR_BAD_PARAM;
    const auto status = run(nullptr, nullptr, [&](auto& server, Done done) {
      server.registrations().delete_process_set(std::string(text_of(pset, PMIX_MAX_NSLEN + 1)),
                                                std::move(done));
    });
    return status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
  });
}

/// PMIx_server_register_client: a local process that will come; may precede the registration of its
/// namespace.
///   server_object  handed back in the upcalls about this client
pmix_status_t PMIx_server_register_client(const pmix_proc_t* proc, uid_t uid, gid_t gid, void* server_object,
                                          pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    if (!valid(proc)) return PMIX_ERR_BAD_PARAM;
    return run(cbfunc, cbdata, [&](auto& server, Done done) {
      server.registrations().register_client(*proc, {uid, gid, server_object}, std::move(done));
    });
  });
}

void PMIx_server_deregister_client(const pmix_proc_t* proc, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  const auto status = guarded_status([&]() -> pmix_status_t {
    if (!valid(proc)) return PMIX_ERR_BAD_PARAM;
    return run(cbfunc, cbdata, [&](auto& server, Done done) {
      server.registrations().deregister_client(*proc, std::move(done));
    });
  });
  if (status != PMIX_SUCCESS && cbfunc != nullptr) cbfunc(status, cbdata);
}

/// PMIx_server_setup_fork: adds to an environment what a child needs to find this server. Takes no lock and
/// waits for nothing: a host may call it before the client or its namespace is registered, and in a child
/// that it has forked.
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _NOMEM, _NOT_FOUND (launch information changes the environment of one
///   application, and the namespace is not registered: `env` is unchanged)
pmix_status_t PMIx_server_setup_fork(const pmix_proc_t* proc, char*** env) {
  return guarded_status([&]() -> pmix_status_t {
    const auto* children = roles().children();
    if (children == nullptr) return PMIX_ERR_INIT;
    if (!valid(proc) || env == nullptr) return PMIX_ERR_BAD_PARAM;
    return children->set_up(*proc, env);
  });
}

/// PMIx_server_dmodex_request: the card of a local rank, for another node; waits for its first commit.
pmix_status_t PMIx_server_dmodex_request(const pmix_proc_t* proc, pmix_dmodex_response_fn_t cbfunc,
                                         void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    auto* server = roles().server();
    if (server == nullptr) return PMIX_ERR_INIT;
    if (!valid(proc) || cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
    server->host_data().card(*proc, [cbfunc, cbdata](pmix_status_t status, weft::server::Server::Blob blob) {
      cbfunc(status, blob.empty() ? nullptr : reinterpret_cast<char*>(blob.data()), blob.size(), cbdata);
    });
    return PMIX_SUCCESS;
  });
}

/// PMIx_Forward_envars: variables of this process that are to travel with a job, in the launch information
/// that PMIx_server_setup_application makes for it. Calls for a namespace add up. Source: RFC 0029.
///   pattern     names with semicolons between; `?` is any one character, `*` at the end of a name whatever
///               follows
///   directives  WEFT_FORWARD_EXCLUDE (string): patterns of names that this call leaves out
///   Errors: PMIX_ERR_INIT, PMIX_ERR_BAD_PARAM (no namespace; a pattern that is none, which standard error
///   names: nothing is registered)
pmix_status_t PMIx_Forward_envars(const char nspace[], const char* pattern, pmix_info_t directives[],
                                  size_t ndirs) {
  return guarded_directives(directives, ndirs, [&]() -> pmix_status_t {
    auto* server = roles().server();
    if (server == nullptr) return PMIX_ERR_INIT;
    if (!is_nspace(nspace) || pattern == nullptr) return PMIX_ERR_BAD_PARAM;
    std::string_view excluded;
    for (size_t i = 0; i < ndirs; ++i) {
      if (weft::data::key_of(directives[i]) != WEFT_FORWARD_EXCLUDE) continue;
      const auto& value = directives[i].value;
      if (value.type != PMIX_STRING || value.data.string == nullptr || value.data.string[0] == '\0')
        return PMIX_ERR_BAD_PARAM;
      excluded = value.data.string;
    }
    std::string bad;
    const auto done = server->launch().information().forward(std::string(nspace), pattern, excluded, bad);
    if (done) return PMIX_SUCCESS;
    complain_of_pattern("PMIx_Forward_envars", bad);
    return PMIX_ERR_BAD_PARAM;
  });
}

/// PMIx_server_setup_application: the launcher collects what each node's children need to know. Source:
/// RFC 0029.
///   info  PMIX_SETUP_APP_ENVARS, PMIX_SETUP_APP_ALL: the variables that tune fabrics, and Weft (also without
///         directives); PMIX_SET_ENVAR and its like, in their order, in a PMIX_APP_INFO_ARRAY with
///         PMIX_APPNUM for the processes of that application only; PMIX_PARENT_ID: what all of that namespace
///         were given comes first. Besides, what PMIx_Forward_envars and, unless PMIX_SETUP_APP_ENVARS is
///         false, the user's PMIX_MCA_forward_envars name.
///         PMIX_SETUP_APP_NONENVARS, PMIX_SETUP_APP_ALL with PMIX_NODE_MAP (and PMIX_PROC_MAP): a key, and
///         where the servers of the nodes with ranks find each other, unless this host has fence_nb. This
///         process lives until all nodes have it (launch.md). Of a server in a cluster that its host made
///         (weft.key), with or without maps: the contacts of all servers that it knows
///   Errors: PMIX_ERR_INIT, PMIX_ERR_BAD_PARAM (a directive, a map or a pattern of the user's that makes no
///   sense); to cbfunc PMIX_ERR_UNREACH (no fabric can be opened)
/// Not yet: PMIX_ALLOC_FABRIC and its like (ignored).
pmix_status_t PMIx_server_setup_application(const pmix_nspace_t nspace, pmix_info_t info[], size_t ninfo,
                                            pmix_setup_application_cbfunc_t cbfunc, void* cbdata) {
  return guarded_directives(info, ninfo, [&]() -> pmix_status_t {
    auto* server = roles().server();
    if (server == nullptr) return PMIX_ERR_INIT;
    if (!is_nspace(nspace) || cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
    const std::string name(nspace);
    std::string bad;
    auto envars = server->launch().information().gather(name, info, ninfo, bad);
    if (!bad.empty())
      complain_of_pattern("PMIX_MCA_forward_envars, or forward_envars in ~/.pmix/mca-params.conf", bad);
    if (!envars) return weft::abi::to_status(envars.error());
    auto fabric = weft::server::FabricPlan::wanted_by(info, ninfo);
    if (!fabric) return weft::abi::to_status(fabric.error());
    const bool wants_servers = weft::server::FabricPlan::is_wanted(info, ninfo);
    server->launch().setup_application(name, std::move(*envars), std::move(*fabric), wants_servers,
                                       [cbfunc, cbdata](pmix_status_t status, weft::data::Infos made) {
                                         // The array lives until the host says that it has read it.
                                         auto* held = new weft::data::Infos(std::move(made));
                                         const auto release = [](pmix_status_t, void* infos) {
                                           delete static_cast<weft::data::Infos*>(infos);
                                         };
                                         cbfunc(status, held->data(), held->size(), cbdata, release, held);
                                       });
    return PMIX_SUCCESS;
  });
}

/// PMIx_server_setup_local_support: a node takes the launch information in, before it forks children of
/// `nspace`.
///   info  what PMIx_server_setup_application gave, PMIX_SET_ENVAR and its like; PMIX_NODEID: this node's
///         place in the node map, else found by its name; PMIX_TIMEOUT (seconds, 30): how long to wait for
///         the servers of the other nodes
///   Errors: PMIX_ERR_INIT, PMIX_ERR_BAD_PARAM (cut, changed, of another version or of another namespace:
///   standard error says which; processes have connected already), PMIX_ERR_NOT_SUPPORTED (the server is in
///   another cluster), PMIX_ERR_TIMEOUT, PMIX_ERR_UNREACH (a server of the job's is lost, or cannot be
///   reached). After an error no variable of `info` reaches a child
///   Cost: with a fabric, a round trip to the launcher, and the wait for the last node
pmix_status_t PMIx_server_setup_local_support(const pmix_nspace_t nspace, pmix_info_t info[], size_t ninfo,
                                              pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    if (!is_nspace(nspace) || (info == nullptr && ninfo != 0)) return PMIX_ERR_BAD_PARAM;
    auto infos = weft::data::Infos::copy_of(info, ninfo);
    if (!infos) return PMIX_ERR_BAD_PARAM;
    return run(cbfunc, cbdata, [&](auto& server, Done done) {
      server.launch().setup_local_support(std::string(nspace), std::move(*infos), std::move(done));
    });
  });
}

/// PMIx_server_collect_inventory: what servers on other nodes have to know of this one; the host carries it
/// there.
///   answer  "weft.contact" (byte object), "weft.transport" and "weft.transport.way" (strings); nothing where
///           there is one node
/// Source: PMIx Standard, chapter "Server-specific interfaces"; docs/design/nodes.md. Not yet: directives
/// (ignored).
pmix_status_t PMIx_server_collect_inventory(pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc,
                                            void* cbdata) {
  return guarded_directives(directives, ndirs, [&]() -> pmix_status_t {
    auto* server = roles().server();
    if (server == nullptr) return PMIX_ERR_INIT;
    if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
    server->launch().collect_inventory([cbfunc, cbdata](pmix_status_t status, weft::data::Infos infos) {
      weft::abi::lend(status, std::move(infos), cbfunc, cbdata);
    });
    return PMIX_SUCCESS;
  });
}

/// PMIx_server_deliver_inventory: takes in what other servers' collect_inventory said, of any number of them.
///   Errors: PMIX_ERR_BAD_PARAM (not made by this release, or no node of this session), _NOT_SUPPORTED (there
///   is one node)
/// Other infos are ignored. Source: PMIx Standard, chapter "Server-specific interfaces"; docs/design/nodes.md
pmix_status_t PMIx_server_deliver_inventory(pmix_info_t info[], size_t ninfo, pmix_info_t directives[],
                                            size_t ndirs, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_directives(directives, ndirs, [&]() -> pmix_status_t {
    if (info == nullptr && ninfo != 0) return PMIX_ERR_BAD_PARAM;
    auto infos = weft::data::Infos::copy_of(info, ninfo);
    if (!infos) return PMIX_ERR_BAD_PARAM;
    return run(cbfunc, cbdata, [&](auto& server, Done done) {
      server.launch().deliver_inventory(std::move(*infos), std::move(done));
    });
  });
}

/// PMIx_server_IOF_deliver: hands bytes that a process has written to the clients of this server that pull
/// its output.
///   bytes   none: the stream has ended; infos may say so, too (PMIX_IOF_COMPLETE)
///   info    for the clients; "weft.puller" and "weft.pull", as the upcall iof_pull had them: for that pull
///           alone
///   cbfunc  called when the bytes are in the socket or the cache (PMIX_IOF_CACHE_SIZE) of each client; a
///           client that does not read delays that, so a host knows how much is on its way. NULL: the call
///           waits for no client; one that does not read loses what lies above 64 MiB, with a line in the
///           log.
///   Errors: PMIX_ERR_INIT, _BAD_PARAM. Source: PMIx Standard, chapter "Server-specific interfaces".
pmix_status_t PMIx_server_IOF_deliver(const pmix_proc_t* source, pmix_iof_channel_t channel,
                                      const pmix_byte_object_t* bytes, const pmix_info_t info[], size_t ninfo,
                                      pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    if (!valid(source) || bytes == nullptr || (bytes->bytes == nullptr && bytes->size != 0) ||
        (info == nullptr && ninfo != 0))
      return PMIX_ERR_BAD_PARAM;
    auto infos = weft::data::Infos::copy_of(info, ninfo);
    if (!infos) return PMIX_ERR_BAD_PARAM;
    const auto all = weft::as_bytes({bytes->bytes, bytes->size});
    return run(cbfunc, cbdata, [&](auto& server, Done done) {
      server.deliver_output(
          {*source, channel, {all.begin(), all.end()}, std::move(*infos), cbfunc != nullptr},
          std::move(done));
    });
  });
}

/// PMIx_Register_attributes: which attributes this host supports for one of its upcalls. Users are told of
/// them by PMIX_QUERY_ATTRIBUTE_SUPPORT, as PMIX_HOST_ATTRIBUTES of the call that the upcall is for
/// (core/server/host/module_functions.cpp).
///   function  the upcall's name in pmix_server_module_t: "spawn", "job_control"; the module need not offer
///             it
///   attrs     ends with NULL: names ("PMIX_TIMEOUT") or keys ("pmix.timeout"); others are the host's own.
///             NULL: none
///   Errors: PMIX_ERR_INIT, _BAD_PARAM (no such upcall), _REPEAT_ATTR_REGISTRATION
///   Source: PMIx Standard, chapter "Server-specific interfaces", which has pmix_regattr_t in place of names;
///   the ABI of 4.2 has these.
///   Tests: tests/multiproc/host/attributes_test.cpp
pmix_status_t PMIx_Register_attributes(char* function, char** attrs) {
  return guarded_status([&]() -> pmix_status_t {
    auto* server = roles().server();
    if (server == nullptr) return PMIX_ERR_INIT;
    if (function == nullptr) return PMIX_ERR_BAD_PARAM;
    std::vector<std::string> attributes;
    for (char** each = attrs; each != nullptr && *each != nullptr; ++each)
      attributes.emplace_back(text_of(*each, PMIX_MAX_KEYLEN + 1));
    return server->register_attributes(std::string(text_of(function, PMIX_MAX_KEYLEN)),
                                       std::move(attributes));
  });
}
