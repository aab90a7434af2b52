// SPDX-License-Identifier: BSD-3-Clause
// An invitation that is under way, and what the servers say to each other of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
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

/// An invitation, as all servers name it, whichever of them coordinates it.
struct InvitationName {
  NodeNumber first = 0;  ///< the node whose server has sent it
  std::uint64_t number = 0;
  auto operator<=>(const InvitationName&) const = default;
};
template <class Archive>
void fields(Archive& archive, InvitationName& m) {
  archive(m.first, m.number);
}

/// From the server that coordinates it to that of processes that are invited.
struct InvitationMessage {
  static constexpr std::uint16_t wire_version = 3;
  InvitationName name;
  std::string group;
  pmix_proc_t leader{};
  link::RankRuns invited;  ///< of the receiver's node
  link::RankRuns members;  ///< all that are invited, and the leader
  InvitationTerms terms;   ///< for the server that coordinates it if this one is lost
};
template <class Archive>
void fields(Archive& archive, InvitationMessage& m) {
  archive(m.name, m.group, m.leader, m.invited, m.members, m.terms);
}

/// What a process answers, or its server for it.
struct InvitationAnswer {
  static constexpr std::uint16_t wire_version = 2;
  enum class Kind : std::uint8_t { accepts, declines, fails };
  InvitationName name;
  pmix_proc_t proc{};
  Kind kind = Kind::accepts;
  std::vector<MemberData> data;  ///< one or none
};
template <class Archive>
void fields(Archive& archive, InvitationAnswer& m) {
  archive(m.name, m.proc, m.kind, m.data);
}
inline bool is_valid(const InvitationAnswer& m) {
  return m.kind <= InvitationAnswer::Kind::fails && m.data.size() <= 1;
}

/// The reply.
struct AnswerReply {
  static constexpr std::uint16_t wire_version = 1;
  enum class Outcome : std::uint8_t {
    taken,
    not_invited,  ///< that process is not, or not any more
  };
  Outcome outcome = Outcome::taken;
};
template <class Archive>
void fields(Archive& archive, AnswerReply& m) {
  archive(m.outcome);
}
inline bool is_valid(const AnswerReply& m) {
  return m.outcome <= AnswerReply::Outcome::not_invited;
}

/// How the invitation has ended: to all servers of processes that were invited.
struct InvitationEnd {
  static constexpr std::uint16_t wire_version = 3;
  InvitationName name;
  pmix_proc_t leader{};
  pmix_status_t status = PMIX_SUCCESS;  ///< for the processes: there is a group, or why there is none
  std::optional<MadeGroup> made{};
};
template <class Archive>
void fields(Archive& archive, InvitationEnd& m) {
  archive(m.name, m.leader, m.status, m.made);
}
inline bool is_valid(const InvitationEnd& m) {
  return m.made.has_value() == (m.status == PMIX_SUCCESS);
}

/// What a server knows of an invitation whose coordinator is lost, and what a view makes of that
/// (ViewRoomOf).
struct InvitationItem {
  bool is_open = false;    ///< processes of that node wait for the lost coordinator
  InvitationMessage told;  ///< invited: those that may still come
  /// The server that coordinates it from here on, or has begun to.
  NodeNumber coordinator = 0;
  bool is_settled = false;             ///< by a view before
  std::optional<InvitationEnd> end{};  ///< it has ended so

  InvitationName key() const { return told.name; }
  void add(InvitationItem other);
};
template <class Archive>
void fields(Archive& archive, InvitationItem& m) {
  archive(m.is_open, m.told, m.coordinator, m.is_settled, m.end);
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
};

struct Invitation {
  InvitationName name;
  std::string group;
  pmix_proc_t leader{};
  pmix_proc_t inviter{};          ///< the first leader
  Requester from;                 ///< the call that began it; without a connection: it was another server's
  std::vector<Invitee> invitees;  ///< by group rank, with the leader among them
  InvitationTerms terms;
  InvitationState state = InvitationState::gathering;
  std::vector<MemberData> data;
  std::set<NodeNumber> nodes;  ///< whose servers know of it
  Loop::TimePoint since{};     ///< where it was opened here
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
