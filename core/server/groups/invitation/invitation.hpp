// SPDX-License-Identifier: BSD-3-Clause
// An invitation that is under way, and what the servers say to each other of it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>
#include "core/server/loop/loop.hpp"

#include "core/server/connections/requester.hpp"
#include "core/server/groups/invitation/invitation_steps.hpp"
#include "core/server/groups/table/group_part.hpp"
#include "core/server/groups/table/peer_calls.hpp"

namespace weft::server {

/// What the leader has asked for.
struct InvitationTerms {
  GroupOptions options;
  bool is_optional = false;    ///< PMIX_GROUP_OPTIONAL
  bool wants_context = false;  ///< PMIX_GROUP_ASSIGN_CONTEXT_ID
  bool is_extension = false;   ///< the group is there already
  std::uint64_t wanted = 0;    ///< how many processes the first leader has named
  std::uint32_t timeout = 0;   ///< PMIX_TIMEOUT, in seconds; 0: none
};
template <class Archive>
void fields(Archive& archive, InvitationTerms& m) {
  archive(m.options, m.is_optional, m.wants_context, m.is_extension, m.wanted, m.timeout);
}

/// From the leader's server to that of processes that it invites.
struct InvitationMessage {
  static constexpr std::uint16_t wire_version = 2;
  std::uint64_t number = 0;  ///< the leader's server's name for it
  std::string group;
  pmix_proc_t leader{};
  link::RankRuns invited;  ///< of the receiver's node
  link::RankRuns members;  ///< all that are invited, and the leader
  InvitationTerms terms;   ///< for the server that follows if this one is lost
};
template <class Archive>
void fields(Archive& archive, InvitationMessage& m) {
  archive(m.number, m.group, m.leader, m.invited, m.members, m.terms);
}

/// An invitation, as all servers name it.
struct InvitationName {
  NodeNumber coordinator = 0;  ///< the node whose server has sent it
  std::uint64_t number = 0;
  auto operator<=>(const InvitationName&) const = default;
};
template <class Archive>
void fields(Archive& archive, InvitationName& m) {
  archive(m.coordinator, m.number);
}

/// The coordinator is lost: to the server that follows it, and from that to all others. What does the
/// receiver know of the invitation? From here on it waits for the sender's word.
struct OrphanInquiry {
  static constexpr std::uint16_t wire_version = 1;
  InvitationName name;
  link::RankRuns members;  ///< as the sender knows them
};
template <class Archive>
void fields(Archive& archive, OrphanInquiry& m) {
  archive(m.name, m.members);
}

struct OrphanPart {
  static constexpr std::uint16_t wire_version = 2;
  std::string group;
  pmix_proc_t leader{};
  link::RankRuns invited;  ///< processes of that node that may still come
  link::RankRuns members;  ///< as the coordinator has told that node, with the leader
  InvitationTerms terms;
  std::vector<std::byte>
      made;  ///< the coordinator has made the group (a MadeGroup); empty: not that this node knows
  /// The coordinator has ended it so, without a group; success: not that this node knows.
  pmix_status_t failed = PMIX_SUCCESS;
};
template <class Archive>
void fields(Archive& archive, OrphanPart& m) {
  archive(m.group, m.leader, m.invited, m.members, m.terms, m.made, m.failed);
}

/// What has become of it: the sender coordinates it, or it was over.
struct OrphanAdopted {
  static constexpr std::uint16_t wire_version = 2;
  InvitationName name;
  std::uint64_t number = 0;       ///< the sender's; 0: it is over
  std::vector<std::byte> made{};  ///< of one that is over: a MadeGroup; empty: there is no group
  pmix_status_t failed = PMIX_GROUP_LEADER_FAILED;  ///< and why
};
template <class Archive>
void fields(Archive& archive, OrphanAdopted& m) {
  archive(m.name, m.number, m.made, m.failed);
}

/// What a process answers, or its server for it. The reply to an acceptance comes when the group is made, as
/// a MadeGroup, or is not.
struct InvitationAnswer {
  static constexpr std::uint16_t wire_version = 1;
  std::uint64_t number = 0;
  pmix_proc_t proc{};
  pmix_status_t status = PMIX_SUCCESS;  ///< accepted; PMIX_GROUP_INVITE_DECLINED; PMIX_GROUP_INVITE_FAILED
  std::vector<MemberData> data;         ///< one or none
};
template <class Archive>
void fields(Archive& archive, InvitationAnswer& m) {
  archive(m.number, m.proc, m.status, m.data);
}

/// The invitation has ended without those of the receiver's processes that have not accepted.
struct InvitationOver {
  static constexpr std::uint16_t wire_version = 1;
  std::uint64_t number = 0;
  pmix_status_t status =
      PMIX_SUCCESS;  ///< why there is no group, or PMIX_ERR_NOT_FOUND: there is one, without them
};
template <class Archive>
void fields(Archive& archive, InvitationOver& m) {
  archive(m.number, m.status);
}

struct Invitee {
  enum class State : std::uint8_t {
    asked,    ///< it has not answered
    missing,  ///< it does not come; the leader decides
    coming,   ///< it has accepted, or is the leader
    out,
  };
  pmix_proc_t proc{};
  State state = State::asked;
  pmix_status_t why = PMIX_SUCCESS;  ///< of one that is missing: PMIX_GROUP_INVITE_DECLINED or _FAILED
  Rpc::Reply reply{};                ///< of one that is coming, but for the leader whose call began it
};

struct Invitation {
  std::uint64_t number = 0;
  std::string group;
  pmix_proc_t leader{};
  pmix_proc_t inviter{};          ///< the first leader
  Requester from;                 ///< the call that began it; without a connection: it was another server's
  std::vector<Invitee> invitees;  ///< by group rank, with the leader among them
  InvitationTerms terms;
  InvitationState state = InvitationState::gathering;
  std::vector<MemberData> data;
  Loop::TimePoint since{};  ///< where it was opened here
  bool is_reported = false;
  std::size_t open_questions = 0;  ///< the leader's handlers hear of an acceptance, and may abort
  std::unique_ptr<Timer> deadline{};

  const Invitee* find(const pmix_proc_t& proc) const noexcept;
  Invitee* find(const pmix_proc_t& proc) noexcept {
    return const_cast<Invitee*>(static_cast<const Invitation&>(*this).find(proc));
  }
  /// All have answered, and nothing waits for a decision.
  bool is_complete() const noexcept;
  /// Those of a state, in their order.
  Procs all_in(Invitee::State state) const;
  /// All but those that are out or do not come; without the leader.
  Procs participants() const;
  link::RankRuns members() const;  ///< those that may become members
  /// A process in the place of one that is out, or behind the last; null. False: it is in it already.
  bool add(const pmix_proc_t& proc, Invitee* in_place_of);
};

}  // namespace weft::server
