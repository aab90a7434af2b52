// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Process Sets and Groups": construct and destruct. The servers do the work, or a
// host that makes groups itself.
#include "core/abi/calls/results.hpp"
#include "core/abi/group/group_answers.hpp"
#include "pmix.h"

using weft::abi::array_of;
using weft::abi::ask_to_be_member;
using weft::abi::ask_to_be_member_later;
using weft::abi::ask_to_go;
using weft::abi::ask_to_go_later;
using weft::abi::copy_group_name;
using weft::abi::copy_infos;
using weft::abi::copy_procs;
using weft::abi::guarded_ask;
using weft::abi::roles;
using weft::link::GroupConstruct;
using weft::link::GroupDestruct;

namespace {

pmix_status_t make_construct(const char* group, const pmix_proc_t* procs, size_t nprocs,
                             const pmix_info_t* directives, size_t ndirs, GroupConstruct& out) {
  if (const auto status = copy_group_name(group, out.group); status != PMIX_SUCCESS) return status;
  const bool is_added = procs == nullptr && nprocs == 0;  // by a leader (PMIX_GROUP_BOOTSTRAP)
  const auto status = is_added ? PMIX_SUCCESS : copy_procs(procs, nprocs, out.procs);
  return status == PMIX_SUCCESS ? copy_infos(directives, ndirs, out.directives) : status;
}

pmix_status_t make_destruct(const char* group, const pmix_info_t* directives, size_t ndirs,
                            GroupDestruct& out) {
  const auto status = copy_group_name(group, out.group);
  return status == PMIX_SUCCESS ? copy_infos(directives, ndirs, out.directives) : status;
}

/// At a board, where there is one. Nothing: by message. PMIX_SUCCESS: as if it had been one.
std::optional<pmix_status_t> construct_at_board(GroupConstruct& message, pmix_info_t** results,
                                                size_t* nresults) {
  auto* client = roles().client();
  // A group of that name has this process as a member: the server has the say.
  if (client == nullptr || message.procs.empty() || client->groups().find(message.group)) return std::nullopt;
  weft::link::RankRuns members;
  const auto out =
      client->group_meetings().construct(message.group, message.procs, message.directives, members);
  message.waited_ms = static_cast<std::uint32_t>(out.waited.count());
  if (!out.has_ended) return std::nullopt;
  weft::data::Infos infos;
  if (results != nullptr && nresults != nullptr) {
    auto array = array_of(members);
    if (!array) return PMIX_ERR_NOMEM;
    infos.add(PMIX_GROUP_MEMBERSHIP, std::move(*array));
  }
  client->groups().add_new(message.group, {std::move(members)});
  return weft::abi::hand_over(std::move(infos), results, nresults);
}

bool destruct_at_board(GroupDestruct& message) {
  auto* client = roles().client();
  const auto group = client == nullptr ? std::nullopt : client->groups().find(message.group);
  if (!group) return false;
  const auto out = client->group_meetings().destruct(message.group, group->members, message.directives);
  message.waited_ms = static_cast<std::uint32_t>(out.waited.count());
  if (out.has_ended) client->groups().remove(message.group);
  return out.has_ended;
}

}  // namespace

/// PMIx_Group_construct: returns when all of `procs` have called with the same name.
///   group    its name, of at most PMIX_MAX_NSLEN characters, which no namespace has
///   procs    the members, in any order; a job by PMIX_RANK_WILDCARD or rank by rank. The group rank of a
///            member is its place in the array of the member that comes first by namespace and rank
///   info     PMIX_TIMEOUT (int, seconds); PMIX_GROUP_OPTIONAL (bool): members that end before they call are
///            left out; PMIX_GROUP_ASSIGN_CONTEXT_ID (bool); PMIX_GROUP_NOTIFY_TERMINATION (bool): members
///            hear PMIX_GROUP_MEMBER_FAILED of each that ends, and PMIx_Group_destruct waits for none that
///            has; PMIX_GROUP_LEADER (bool): this process decides about members that end before they call,
///            see Events; PMIX_GROUP_FT_COLLECTIVE (bool): as _OPTIONAL, and so are the group's fences and
///            its end; PMIX_GROUP_BOOTSTRAP (size_t): there are so many leaders, which name only themselves,
///            and PMIX_GROUP_ADD_MEMBERS (array of processes) what each brings; a process that is brought
///            calls with `procs` NULL. PMIX_GROUP_NOTIFY_EACH, _NOTIFY_REQ, _NOTIFY_DEPARTURE
///            (weft/pmix_extensions.h). PMIX_GROUP_INFO (array of infos), _LOCAL_CID, _ENDPT_DATA: what the
///            others can get of this process, with PMIX_GROUP_CONTEXT_ID as a qualifier where there is one
///   results  PMIX_GROUP_MEMBERSHIP (by group rank), PMIX_GROUP_CONTEXT_ID; of a host's group what the host
///            says. To be freed with PMIX_INFO_FREE; may be NULL
///   Events   where a member has given PMIX_GROUP_LEADER or _NOTIFY_TERMINATION, and a member ends before it
///            calls: PMIX_GROUP_INVITE_FAILED, or PMIX_GROUP_MEMBER_FAILED for a process that has a handler
///            for that alone, to the leaders, or to all that have called where there is none. A handler's
///            status PMIX_GROUP_CONSTRUCT_ABORT ends it for all; with anything else it goes on without the
///            member; without a handler it fails. A leader that ends after its call, and before all others:
///            PMIX_GROUP_LEADER_FAILED and _LEADER_SELECTED, as PMIx_Group_join has them; all that declare
///            themselves are leaders. PMIX_GROUP_MEMBERSHIP_UPDATE where members are left out;
///            PMIX_GROUP_CONTEXT_ID_ASSIGNED.
///   Afterwards each member can get the cards of all members and what the other nodes' servers know of their
///   jobs, and may name the group wherever a namespace may stand: PMIX_RANK_WILDCARD is all of it, another
///   rank a group rank.
///   Errors: PMIX_ERR_INIT, _BAD_PARAM (no name, no members, the caller is none of them, members that do not
///   agree on the members), _EXISTS (there is a group of that name), _UNREACH (no server; a member has
///   finalized), _PROC_ABORTED (a member has died), _PARTIAL_SUCCESS (members are left out),
///   PMIX_GROUP_CONSTRUCT_ABORT, PMIX_ERR_NOT_A_MEMBER (no leader has brought this process), _NOT_FOUND (a
///   namespace that is not registered here), _TIMEOUT, _LOST_CONNECTION, _NOT_SUPPORTED (members on several
///   nodes, under a host that carries fences and makes no groups), and the host's
///   Cost: members that have made a group before: as a fence of theirs, on several nodes as a fence that
///   collects data (docs/design/groups.md). The first time, and with directives other than PMIX_TIMEOUT: a
///   round trip to the server besides. PMIx_Group_destruct after a construct with a context identifier or
///   member data: as a fence.
///   Source: RFC 0033; PMIx Standard, chapter "Process Sets and Groups". Tests:
///   tests/multiproc/group/group_test.cpp, group_board_test.cpp, cluster_group_test.cpp, construct_test.cpp
pmix_status_t PMIx_Group_construct(const char* group, const pmix_proc_t* procs, size_t nprocs,
                                   const pmix_info_t* directives, size_t ndirs, pmix_info_t** results,
                                   size_t* nresults) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupConstruct message;
    const auto status = make_construct(group, procs, nprocs, directives, ndirs, message);
    if (status != PMIX_SUCCESS) return status;
    if (const auto ended = construct_at_board(message, results, nresults)) return *ended;
    return ask_to_be_member(message, results, nresults);
  });
}

pmix_status_t PMIx_Group_construct_nb(const char* group, const pmix_proc_t* procs, size_t nprocs,
                                      const pmix_info_t* directives, size_t ndirs, pmix_info_cbfunc_t cbfunc,
                                      void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupConstruct message;
    const auto status = make_construct(group, procs, nprocs, directives, ndirs, message);
    return status == PMIX_SUCCESS ? ask_to_be_member_later(message, cbfunc, cbdata) : status;
  });
}

/// PMIx_Group_destruct: returns when all members have called. Errors: as PMIx_Group_construct, and
/// PMIX_ERR_NOT_FOUND (there is no such group here). A member that has ended is an error, unless the group
/// was constructed with PMIX_GROUP_NOTIFY_TERMINATION.
///   info   PMIX_TIMEOUT (int, seconds)
pmix_status_t PMIx_Group_destruct(const char* group, const pmix_info_t* directives, size_t ndirs) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupDestruct message;
    const auto status = make_destruct(group, directives, ndirs, message);
    if (status != PMIX_SUCCESS) return status;
    return destruct_at_board(message) ? PMIX_SUCCESS : ask_to_go(message);
  });
}

pmix_status_t PMIx_Group_destruct_nb(const char* group, const pmix_info_t* directives, size_t ndirs,
                                     pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupDestruct message;
    const auto status = make_destruct(group, directives, ndirs, message);
    return status == PMIX_SUCCESS ? ask_to_go_later(message, cbfunc, cbdata) : status;
  });
}
