// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Process Sets and Groups": construct and destruct. The servers do the work, or a host that makes
// groups itself.
#include "core/abi/requests.hpp"
#include "core/abi/results.hpp"
#include "core/data/array.hpp"
#include "pmix.h"

using weft::abi::ask;
using weft::abi::ask_later;
using weft::abi::copy_infos;
using weft::abi::copy_procs;
using weft::abi::guarded_ask;
using weft::abi::roles;
using weft::link::GroupConstruct;
using weft::link::GroupDestruct;

namespace {

pmix_status_t copy_name(const char* group, std::string& out) {
  if (group == nullptr) return PMIX_ERR_BAD_PARAM;
  const auto name = weft::abi::text_of(group, PMIX_MAX_NSLEN + 1);
  if (name.empty() || name.size() > PMIX_MAX_NSLEN) return PMIX_ERR_BAD_PARAM;
  out = name;
  return PMIX_SUCCESS;
}

pmix_status_t make_construct(const char* group, const pmix_proc_t* procs, size_t nprocs,
                             const pmix_info_t* directives, size_t ndirs, GroupConstruct& out) {
  if (const auto status = copy_name(group, out.group); status != PMIX_SUCCESS) return status;
  if (const auto status = copy_procs(procs, nprocs, out.procs); status != PMIX_SUCCESS) return status;
  return copy_infos(directives, ndirs, out.directives);
}

pmix_status_t make_destruct(const char* group, const pmix_info_t* directives, size_t ndirs,
                            GroupDestruct& out) {
  const auto status = copy_name(group, out.group);
  return status == PMIX_SUCCESS ? copy_infos(directives, ndirs, out.directives) : status;
}

weft::Result<weft::data::Value> array_of(const weft::link::RankRuns& members) {
  const auto procs = weft::link::procs_of(members);
  return procs ? weft::data::value_of_array(PMIX_PROC, procs->data(), procs->size())
               : weft::fail(procs.error());
}

/// This process is a member from here on. Adds the members to what the caller gets. procs: as the caller gave them.
void take_group(const std::string& name, const std::vector<pmix_proc_t>& procs, weft::link::Answer& answer) {
  auto* client = roles().client();
  const bool is_made = answer.status == PMIX_SUCCESS || answer.status == PMIX_ERR_PARTIAL_SUCCESS;
  const auto& value = answer.value.get();
  if (!is_made || client == nullptr || value.type != PMIX_BYTE_OBJECT) return;
  const auto* bytes = reinterpret_cast<const std::byte*>(value.data.bo.bytes);
  const auto members = weft::link::decode<weft::link::GroupMembers>({bytes, value.data.bo.size});
  const bool is_some = members && !members->runs.empty();
  auto array = is_some ? array_of(members->runs) : weft::fail(weft::Errc::corrupt);
  if (!array) {
    answer.status = PMIX_ERR_UNPACK_FAILURE;
    return;
  }
  const auto* context = answer.infos.find(PMIX_GROUP_CONTEXT_ID);
  const auto id =
      context == nullptr ? weft::fail(weft::Errc::not_found) : weft::data::as_unsigned(context->value);
  client->groups().add(name, {members->runs, id ? *id : 0});
  client->group_meetings().take_seat(procs, *members);
  if (answer.infos.find(PMIX_GROUP_MEMBERSHIP) == nullptr)
    answer.infos.add(PMIX_GROUP_MEMBERSHIP, std::move(*array));
}

/// At a board, where there is one. Nothing: by message. PMIX_SUCCESS: as if it had been one.
std::optional<pmix_status_t> construct_at_board(GroupConstruct& message, pmix_info_t** results,
                                                size_t* nresults) {
  auto* client = roles().client();
  // A group of that name has this process as a member: the server has the say.
  if (client == nullptr || client->groups().find(message.group)) return std::nullopt;
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
  client->groups().add(message.group, {std::move(members), 0});
  return weft::abi::hand_over(std::move(infos), results, nresults);
}

bool destruct_at_board(GroupDestruct& message) {
  auto* client = roles().client();
  const auto group = client == nullptr ? std::nullopt : client->groups().find(message.group);
  if (!group) return false;
  const auto out = client->group_meetings().destruct(message.group, group->members, message.directives);
  message.waited_ms = static_cast<std::uint32_t>(out.waited.count());
  return out.has_ended;
}

void forget_group(const std::string& name, pmix_status_t status) {
  auto* client = roles().client();
  if (status == PMIX_SUCCESS && client != nullptr) client->groups().remove(name);
}

}  // namespace

/// PMIx_Group_construct: returns when all of `procs` have called with the same name.
///   group    its name, of at most PMIX_MAX_NSLEN characters, which no namespace has
///   procs    the members, in any order; a job by PMIX_RANK_WILDCARD or rank by rank. The group rank of a member is its place in the array
///            of the member that comes first by namespace and rank
///   info     PMIX_TIMEOUT (int, seconds); PMIX_GROUP_OPTIONAL (bool): members that end before they call are left out; PMIX_GROUP_ASSIGN_CONTEXT_ID
///            (bool); PMIX_GROUP_NOTIFY_TERMINATION (bool): members hear PMIX_GROUP_MEMBER_FAILED of each that ends, and PMIx_Group_destruct
///            waits for none that has; PMIX_GROUP_INFO (array of infos), _LOCAL_CID, _ENDPT_DATA: what the others can get of this process,
///            with PMIX_GROUP_CONTEXT_ID as a qualifier where there is one
///   results  PMIX_GROUP_MEMBERSHIP (by group rank), PMIX_GROUP_CONTEXT_ID; of a host's group what the host says. To be freed with
///            PMIX_INFO_FREE; may be NULL
///   Afterwards each member can get the cards of all members and what the other nodes' servers know of their jobs, and may name the
///   group wherever a namespace may stand: PMIX_RANK_WILDCARD is all of it, another rank a group rank.
///   Errors: PMIX_ERR_INIT, _BAD_PARAM (no name, no members, the caller is none of them, members that do not agree on the members),
///   _EXISTS (there is a group of that name), _UNREACH (no server; a member has finalized), _PROC_ABORTED (a member has died),
///   _PARTIAL_SUCCESS (members are left out), _NOT_FOUND (a namespace that is not registered here), _TIMEOUT, _LOST_CONNECTION,
///   _NOT_SUPPORTED (members on several nodes, under a host that carries fences and makes no groups), and the host's
///   Cost: members of one node that have made a group before: as a fence, and no message (docs/design/groups.md). Else a round trip to the
///   server; on several nodes besides one exchange of the servers, as of a fence that collects data.
///   Source: RFC 0033; PMIx Standard, chapter "Process Sets and Groups". Tests: tests/multiproc/group_test.cpp, group_board_test.cpp, cluster_group_test.cpp
/// Not yet: the leader's part in PMIX_GROUP_LEADER; PMIX_GROUP_BOOTSTRAP; the loss of a whole node with its server is an error also with
/// PMIX_GROUP_OPTIONAL and PMIX_GROUP_NOTIFY_TERMINATION.
pmix_status_t PMIx_Group_construct(const char* group, const pmix_proc_t* procs, size_t nprocs,
                                   const pmix_info_t* directives, size_t ndirs, pmix_info_t** results,
                                   size_t* nresults) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupConstruct message;
    auto status = make_construct(group, procs, nprocs, directives, ndirs, message);
    if (status != PMIX_SUCCESS) return status;
    if (const auto ended = construct_at_board(message, results, nresults)) return *ended;
    auto answer = ask(message);
    take_group(message.group, message.procs, answer);
    if (answer.status != PMIX_SUCCESS && answer.status != PMIX_ERR_PARTIAL_SUCCESS) return answer.status;
    status = weft::abi::hand_over(std::move(answer.infos), results, nresults);
    return status == PMIX_SUCCESS ? answer.status : status;
  });
}

/// Not yet: what PMIx_Group_construct lacks.
pmix_status_t PMIx_Group_construct_nb(const char* group, const pmix_proc_t* procs, size_t nprocs,
                                      const pmix_info_t* directives, size_t ndirs, pmix_info_cbfunc_t cbfunc,
                                      void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupConstruct message;
    const auto status = make_construct(group, procs, nprocs, directives, ndirs, message);
    if (status != PMIX_SUCCESS) return status;
    return ask_later(
        message, [cbfunc, cbdata, name = message.group, procs = message.procs](weft::link::Answer answer) {
          take_group(name, procs, answer);
          weft::abi::lend(answer.status, std::move(answer.infos), cbfunc, cbdata);
        });
  });
}

/// PMIx_Group_destruct: returns when all members have called. Errors: as PMIx_Group_construct, and PMIX_ERR_NOT_FOUND (there is no such
/// group here). A member that has ended is an error, unless the group was constructed with PMIX_GROUP_NOTIFY_TERMINATION.
///   info   PMIX_TIMEOUT (int, seconds)
pmix_status_t PMIx_Group_destruct(const char* group, const pmix_info_t* directives, size_t ndirs) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupDestruct message;
    auto status = make_destruct(group, directives, ndirs, message);
    if (status != PMIX_SUCCESS) return status;
    status = destruct_at_board(message) ? PMIX_SUCCESS : ask(message).status;
    forget_group(message.group, status);
    return status;
  });
}

pmix_status_t PMIx_Group_destruct_nb(const char* group, const pmix_info_t* directives, size_t ndirs,
                                     pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupDestruct message;
    const auto status = make_destruct(group, directives, ndirs, message);
    if (status != PMIX_SUCCESS) return status;
    return ask_later(message, [cbfunc, cbdata, name = message.group](const weft::link::Answer& answer) {
      forget_group(name, answer.status);
      if (cbfunc != nullptr) cbfunc(answer.status, cbdata);
    });
  });
}
