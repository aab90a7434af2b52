// SPDX-License-Identifier: BSD-3-Clause
// What a client asks of its server's host, publish, spawn, connect and the like, and what clients and servers
// say of groups. A request is answered by `done`, a status, or by `answer`. As in messages.hpp each
// is a struct with its fields beside it, and its type.
#pragma once

#include <string>
#include <vector>

#include "core/link/messages.hpp"
#include "core/link/rank_runs.hpp"

namespace weft::link {

struct Publish {
  static constexpr auto type = MessageType::publish;
  data::Infos infos;
};
template <class Archive>
void fields(Archive& archive, Publish& m) {
  archive(m.infos);
}

struct Lookup {
  static constexpr auto type = MessageType::lookup;
  std::vector<std::string> keys;
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, Lookup& m) {
  archive(m.keys, m.directives);
}

struct Unpublish {
  static constexpr auto type = MessageType::unpublish;
  std::vector<std::string> keys;  ///< none: all that the caller has published
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, Unpublish& m) {
  archive(m.keys, m.directives);
}

struct Spawn {
  static constexpr auto type = MessageType::spawn;
  data::Infos job;
  data::Value apps;  ///< an array of PMIX_APP
};
template <class Archive>
void fields(Archive& archive, Spawn& m) {
  archive(m.job, m.apps);
}

struct Connect {
  static constexpr auto type = MessageType::connect;
  std::vector<pmix_proc_t> procs;  ///< in the caller's order
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, Connect& m) {
  archive(m.procs, m.directives);
}

struct Disconnect {
  static constexpr auto type = MessageType::disconnect;
  std::vector<pmix_proc_t> procs;
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, Disconnect& m) {
  archive(m.procs, m.directives);
}

struct GroupConstruct {
  static constexpr auto type = MessageType::group_construct;
  std::string group;
  std::vector<pmix_proc_t> procs;  ///< in the caller's order
  data::Infos directives;
  std::uint32_t waited_ms = 0;  ///< at the board, before it became a message
};
template <class Archive>
void fields(Archive& archive, GroupConstruct& m) {
  archive(m.group, m.procs, m.directives, m.waited_ms);
}

struct GroupDestruct {
  static constexpr auto type = MessageType::group_destruct;
  std::string group;
  data::Infos directives;
  std::uint32_t waited_ms = 0;  ///< as in GroupConstruct
};
template <class Archive>
void fields(Archive& archive, GroupDestruct& m) {
  archive(m.group, m.directives, m.waited_ms);
}

/// The value of the answer to a construct, as bytes: the members by group rank. The answer may offer the
/// members of this node a board for their next constructs with the same array of members, and for the
/// destructs and fences of those groups.
struct GroupMembers {
  RankRuns runs;
  std::uint8_t fences_by_host = 0;  ///< a fence of the group is one of its members, which the host carries
  std::uint32_t board = 0;          ///< 0: none
  std::uint32_t incarnation = 0;
  std::uint32_t next = 0;  ///< generation of the next operation
  RankRuns cells{};        ///< the members of this node, by cell of the board
};
template <class Archive>
void fields(Archive& archive, GroupMembers& m) {
  archive(m.runs, m.fences_by_host, m.board, m.incarnation, m.next, m.cells);
}

struct GroupInvite {
  static constexpr auto type = MessageType::group_invite;
  std::string group;
  std::vector<pmix_proc_t> procs;  ///< in the caller's order
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, GroupInvite& m) {
  archive(m.group, m.procs, m.directives);
}

struct GroupJoin {
  static constexpr auto type = MessageType::group_join;
  std::string group;
  pmix_proc_t leader{};  ///< of an empty namespace: none; the client asks the members
  std::uint8_t accepts = 0;
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, GroupJoin& m) {
  archive(m.group, m.leader, m.accepts, m.directives);
}

struct GroupLeave {
  static constexpr auto type = MessageType::group_leave;
  std::string group;
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, GroupLeave& m) {
  archive(m.group, m.directives);
}

/// A fence of all members of a group, by its name.
struct GroupFence {
  static constexpr auto type = MessageType::group_fence;
  std::string group;
  data::Infos directives;
  std::uint32_t waited_ms = 0;  ///< as in GroupConstruct
};
template <class Archive>
void fields(Archive& archive, GroupFence& m) {
  archive(m.group, m.directives, m.waited_ms);
}

/// An event whose handlers decide: the first of `codes` that a handler has named is raised.
struct GroupQuestion {
  static constexpr auto type = MessageType::group_question;
  std::uint64_t number = 0;  ///< the server's name for it
  std::string operation;     ///< that waits for the answer, in the words of the stuck report
  std::vector<pmix_status_t> codes;
  pmix_proc_t source{};
  data::Infos infos;
};
template <class Archive>
void fields(Archive& archive, GroupQuestion& m) {
  archive(m.number, m.operation, m.codes, m.source, m.infos);
}

struct GroupVerdict {
  static constexpr auto type = MessageType::group_verdict;
  /// What the verdict comes from.
  enum class By : std::uint8_t {
    no_process,  ///< the process is gone, or no way leads to it
    no_handler,  ///< the process has none for these events
    handlers,
  };
  std::uint64_t number = 0;
  By by = By::no_process;
  /// The first status of a handler that is neither success nor an action. Without a handler
  /// PMIX_ERR_NO_PERMISSIONS where the process is another user's.
  pmix_status_t status = PMIX_SUCCESS;
  data::Infos results;
};
template <class Archive>
void fields(Archive& archive, GroupVerdict& m) {
  archive(m.number, m.by, m.status, m.results);
}
inline bool is_valid(const GroupVerdict& m) {
  return m.by <= GroupVerdict::By::handlers;
}

/// For a member.
struct GroupChange {
  static constexpr auto type = MessageType::group_change;
  std::string group;
  RankRuns members;  ///< by group rank; none: the client is no member any more
  std::uint64_t context_id = 0;
};
template <class Archive>
void fields(Archive& archive, GroupChange& m) {
  archive(m.group, m.members, m.context_id);
}

struct Allocate {
  static constexpr auto type = MessageType::allocate;
  pmix_alloc_directive_t directive = 0;
  data::Infos infos;
};
template <class Archive>
void fields(Archive& archive, Allocate& m) {
  archive(m.directive, m.infos);
}

struct JobControl {
  static constexpr auto type = MessageType::job_control;
  std::vector<pmix_proc_t> targets;  ///< none: all processes of the caller's job
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, JobControl& m) {
  archive(m.targets, m.directives);
}

struct Monitor {
  static constexpr auto type = MessageType::monitor;
  data::Infos monitor;  ///< one info: what is monitored
  pmix_status_t code = 0;
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, Monitor& m) {
  archive(m.monitor, m.code, m.directives);
}

struct GetCredential {
  static constexpr auto type = MessageType::get_credential;
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, GetCredential& m) {
  archive(m.directives);
}

struct ValidateCredential {
  static constexpr auto type = MessageType::validate_credential;
  std::vector<std::byte> credential;
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, ValidateCredential& m) {
  archive(m.credential, m.directives);
}

struct PullOutput {
  static constexpr auto type = MessageType::pull_output;
  std::uint64_t handle = 0;  ///< the client's name for it
  std::vector<pmix_proc_t> procs;
  pmix_iof_channel_t channels = 0;
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, PullOutput& m) {
  archive(m.handle, m.procs, m.channels, m.directives);
}

struct StopOutput {
  static constexpr auto type = MessageType::stop_output;
  std::uint64_t handle = 0;
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, StopOutput& m) {
  archive(m.handle, m.directives);
}

struct PushInput {
  static constexpr auto type = MessageType::push_input;
  std::vector<pmix_proc_t> targets;
  data::Infos directives;
  std::vector<std::byte> bytes;
};
template <class Archive>
void fields(Archive& archive, PushInput& m) {
  archive(m.targets, m.directives, m.bytes);
}

struct Fabric {
  static constexpr auto type = MessageType::fabric;
  std::uint8_t operation = 0;  ///< pmix_fabric_operation_t
  data::Infos directives;
};
template <class Archive>
void fields(Archive& archive, Fabric& m) {
  archive(m.operation, m.directives);
}

// Of names that two runs share: the server of one, the guest, is a tool at a server of the other.

struct GuestRequest {
  static constexpr auto type = MessageType::guest_request;
  enum class Call : std::uint8_t {
    begin,    ///< of a guest; no other call comes before it
    publish,  ///< body: what servers of one run say to each other for that (name_messages.hpp), as below
    look_up,
    forget,
    end_wait,  ///< of the lookup that was asked for with this tag; no reply but that lookup's
  };
  std::uint16_t format = 0;  ///< of the body: the guest's mesh::protocol_version
  Call call = Call::begin;
  std::uint32_t origin = 0;  ///< the node, in the guest's run, whose process wants it
  std::vector<std::byte> body;
};
template <class Archive>
void fields(Archive& archive, GuestRequest& m) {
  archive(m.format, m.call, m.origin, m.body);
}
inline bool is_valid(const GuestRequest& m) {
  return m.call <= GuestRequest::Call::end_wait;
}

struct GuestReply {
  static constexpr auto type = MessageType::guest_reply;
  pmix_status_t status = PMIX_SUCCESS;
  std::vector<std::byte> body;  ///< of a lookup
};
template <class Archive>
void fields(Archive& archive, GuestReply& m) {
  archive(m.status, m.body);
}

struct GuestTaken {
  static constexpr auto type = MessageType::guest_taken;
  std::uint32_t origin = 0;  ///< as in the request that has published it
  pmix_proc_t publisher{};
  std::string key;
  std::uint64_t number = 0;  ///< of the call of PMIx_Publish, as the guest has counted it
};
template <class Archive>
void fields(Archive& archive, GuestTaken& m) {
  archive(m.origin, m.publisher, m.key, m.number);
}

/// value: an array of PMIX_PDATA (lookup), a namespace (spawn), a credential.
struct Answer {
  pmix_status_t status = PMIX_ERR_LOST_CONNECTION;
  data::Value value;
  data::Infos infos;
};
template <class Archive>
void fields(Archive& archive, Answer& m) {
  archive(m.status, m.value, m.infos);
}

/// Bytes that a process has written, for a client that pulls its output.
struct Output {
  static constexpr auto type = MessageType::output;
  std::uint64_t handle = 0;
  pmix_proc_t source{};
  pmix_iof_channel_t channel = 0;
  std::vector<std::byte> bytes;
  data::Infos infos;
};
template <class Archive>
void fields(Archive& archive, Output& m) {
  archive(m.handle, m.source, m.channel, m.bytes, m.infos);
}

}  // namespace weft::link
