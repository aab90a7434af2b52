// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Process Sets and Groups": groups by invitation, and members that come and go.
#include "core/abi/group/group_answers.hpp"
#include "pmix.h"

using weft::abi::ask_to_be_member;
using weft::abi::ask_to_be_member_later;
using weft::abi::ask_to_go;
using weft::abi::ask_to_go_later;
using weft::abi::copy_group_name;
using weft::abi::copy_infos;
using weft::abi::copy_procs;
using weft::abi::guarded_ask;
using weft::link::GroupInvite;
using weft::link::GroupJoin;
using weft::link::GroupLeave;

namespace {

pmix_status_t make_invite(const char* group, const pmix_proc_t* procs, size_t nprocs,
                          const pmix_info_t* directives, size_t ndirs, GroupInvite& out) {
  if (const auto status = copy_group_name(group, out.group); status != PMIX_SUCCESS) return status;
  if (const auto status = copy_procs(procs, nprocs, out.procs); status != PMIX_SUCCESS) return status;
  return copy_infos(directives, ndirs, out.directives);
}

pmix_status_t make_join(const char* group, const pmix_proc_t* leader, pmix_group_opt_t opt,
                        const pmix_info_t* directives, size_t ndirs, GroupJoin& out) {
  if (const auto status = copy_group_name(group, out.group); status != PMIX_SUCCESS) return status;
  if (opt != PMIX_GROUP_ACCEPT && opt != PMIX_GROUP_DECLINE) return PMIX_ERR_BAD_PARAM;
  if (leader != nullptr) out.leader = *leader;
  out.accepts = opt == PMIX_GROUP_ACCEPT ? 1 : 0;
  return copy_infos(directives, ndirs, out.directives);
}

pmix_status_t make_leave(const char* group, const pmix_info_t* directives, size_t ndirs, GroupLeave& out) {
  const auto status = copy_group_name(group, out.group);
  return status == PMIX_SUCCESS ? copy_infos(directives, ndirs, out.directives) : status;
}

}  // namespace

/// PMIx_Group_invite: makes a group of this process, its leader, and those of `procs` that accept; or adds
/// these to a group that this process is a member of. Returns when all have answered, and the leader has
/// decided about those that do not come.
///   procs    in the order of the group ranks; this process is the first where it is not among them
///   info     PMIX_TIMEOUT (int, seconds); PMIX_GROUP_OPTIONAL (bool): the group is made without those that
///            do not come, where no handler decides; PMIX_GROUP_ASSIGN_CONTEXT_ID,
///            PMIX_GROUP_NOTIFY_TERMINATION, PMIX_GROUP_FT_COLLECTIVE, PMIX_GROUP_INFO, _LOCAL_CID,
///            _ENDPT_DATA as for PMIx_Group_construct; PMIX_GROUP_NOTIFY_EACH, _NOTIFY_DEPARTURE
///            (weft/pmix_extensions.h)
///   results  PMIX_GROUP_ID (its name), PMIX_GROUP_MEMBERSHIP (by group rank), PMIX_GROUP_CONTEXT_ID
///   Events   PMIX_GROUP_INVITED to those invited. To the leader: PMIX_GROUP_INVITE_ACCEPTED, _DECLINED,
///            _FAILED (it has ended, or its patience), each with PMIX_GROUP_ID and PMIX_EVENT_AFFECTED_PROC;
///            the handler's status PMIX_GROUP_CONSTRUCT_ABORT ends it for all, PMIX_GROUP_ADD_MEMBERS (array
///            of processes) among its results invites these in the place of that process, and anything else
///            goes on without it. Without a handler, and without PMIX_GROUP_OPTIONAL, a process that does not
///            come ends it for all. To all members PMIX_GROUP_CONSTRUCT_COMPLETE; to all that were invited
///            PMIX_GROUP_CONSTRUCT_ABORT.
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _EXISTS (there is such a group, or invitation), _NOT_FOUND (a process
///   is not known here), _UNREACH (no server), _PARTIAL_SUCCESS (fewer members than were named), _TIMEOUT,
///   PMIX_GROUP_INVITE_DECLINED, PMIX_GROUP_INVITE_FAILED, PMIX_GROUP_CONSTRUCT_ABORT,
///   PMIX_ERR_LOST_CONNECTION
///   Cost: a message to each node with such processes, and one for each answer.
///   Source: RFC 0033; PMIx Standard, chapter "Process Sets and Groups". Tests:
///   tests/multiproc/group/membership/invitation_test.cpp
pmix_status_t PMIx_Group_invite(const char* group, const pmix_proc_t* procs, size_t nprocs,
                                const pmix_info_t* directives, size_t ndirs, pmix_info_t** results,
                                size_t* nresults) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupInvite message;
    const auto status = make_invite(group, procs, nprocs, directives, ndirs, message);
    return status == PMIX_SUCCESS ? ask_to_be_member(message, results, nresults) : status;
  });
}

pmix_status_t PMIx_Group_invite_nb(const char* group, const pmix_proc_t* procs, size_t nprocs,
                                   const pmix_info_t* directives, size_t ndirs, pmix_info_cbfunc_t cbfunc,
                                   void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupInvite message;
    const auto status = make_invite(group, procs, nprocs, directives, ndirs, message);
    return status == PMIX_SUCCESS ? ask_to_be_member_later(message, cbfunc, cbdata) : status;
  });
}

/// PMIx_Group_join: answers an invitation; or, without a leader, asks the members of a group to be let in.
/// Accepting returns when the group is made, or is not; declining at once.
///   leader   the process that has invited, as PMIX_GROUP_INVITED says, or that was elected since; NULL: the
///            members are asked with PMIX_GROUP_JOIN_REQUEST, and a handler that completes with an error
///            refuses; so does a member that has no handler, where this process is another user's
///   info     PMIX_TIMEOUT (int, seconds): of an invitation; PMIX_GROUP_INFO, _LOCAL_CID, _ENDPT_DATA
///   results  as PMIx_Group_invite
///   Events   when the leader fails PMIX_GROUP_LEADER_FAILED to all that were invited and have not declined:
///            a handler that gives PMIX_GROUP_LEADER (bool) among its results declares this process the
///            leader (of several the first by group rank), its status PMIX_GROUP_CONSTRUCT_ABORT ends it for
///            all. Then PMIX_GROUP_LEADER_SELECTED, with PMIX_GROUP_LEADER false where there is none.
///   Errors: those of PMIx_Group_invite; PMIX_ERR_NOT_FOUND (no such invitation, or group), _EXISTS (this
///   process has accepted already, or is a member), PMIX_GROUP_LEADER_FAILED (and no other was found), the
///   status of a member that refuses
///   In an event handler only PMIx_Group_join_nb.
pmix_status_t PMIx_Group_join(const char* group, const pmix_proc_t* leader, pmix_group_opt_t opt,
                              const pmix_info_t* directives, size_t ndirs, pmix_info_t** results,
                              size_t* nresults) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupJoin message;
    const auto status = make_join(group, leader, opt, directives, ndirs, message);
    return status == PMIX_SUCCESS ? ask_to_be_member(message, results, nresults) : status;
  });
}

pmix_status_t PMIx_Group_join_nb(const char* group, const pmix_proc_t* leader, pmix_group_opt_t opt,
                                 const pmix_info_t* directives, size_t ndirs, pmix_info_cbfunc_t cbfunc,
                                 void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupJoin message;
    const auto status = make_join(group, leader, opt, directives, ndirs, message);
    return status == PMIX_SUCCESS ? ask_to_be_member_later(message, cbfunc, cbdata) : status;
  });
}

/// PMIx_Group_leave: this process is a member no more when it returns; the others hear PMIX_GROUP_LEFT and
/// PMIX_GROUP_MEMBERSHIP_UPDATE with the new members, and group ranks behind it are one less. Members of a
/// group that was made with PMIX_GROUP_NOTIFY_DEPARTURE are asked before, by PMIX_GROUP_LEAVE_REQUEST: a
/// handler that completes with an error refuses. Collectives of the group that are under way go on without it
/// where they were called with PMIX_GROUP_FT_COLLECTIVE, or end with PMIX_ERR_UNREACH.
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _NOT_FOUND (no such group, or no member), _UNREACH, the status of a
///   member that refuses, PMIX_ERR_LOST_CONNECTION
///   Cost: a message to the server that keeps the group, and from there to each server of members. Not
///   scalable; to end a group there is PMIx_Group_destruct.
///   Source: RFC 0033. Tests: tests/multiproc/group/membership/membership_test.cpp
pmix_status_t PMIx_Group_leave(const char* group, const pmix_info_t* directives, size_t ndirs) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupLeave message;
    const auto status = make_leave(group, directives, ndirs, message);
    return status == PMIX_SUCCESS ? ask_to_go(message) : status;
  });
}

pmix_status_t PMIx_Group_leave_nb(const char* group, const pmix_info_t* directives, size_t ndirs,
                                  pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupLeave message;
    const auto status = make_leave(group, directives, ndirs, message);
    return status == PMIX_SUCCESS ? ask_to_go_later(message, cbfunc, cbdata) : status;
  });
}
