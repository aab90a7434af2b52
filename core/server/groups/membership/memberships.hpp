// SPDX-License-Identifier: BSD-3-Clause
// The members of a group that is there already: joins without an invitation, members that an invitation adds,
// and leaves. One server keeps a group (Group::keeper): it makes the changes one after the other, and begins
// the next when all servers of members have the last, so that the members are the same everywhere. The loop's
// thread only.
//
//   PMIx_Group_leave, PMIx_Group_join
//     -> group_ask to the keeper -> the members' handlers approve, where they are to be asked
//     -> group_changed to all servers of members -> PMIX_GROUP_LEFT, PMIX_GROUP_MEMBERSHIP_UPDATE
//     -> the reply
//
// Keeper    The server where the group was made, while it is there and has a member; else that of the first
//           in the order of members that is there. What the keeper before it changed last may not have
//           reached all: the next one asks all first, and sends the newest to those that do not have it.
// Loss      A request whose keeper is lost goes to the next one, which may have the change already: then it
//           is made. A join whose process has ended is not made.
// Source: RFC 0033 and its draft.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "core/server/fences/fences.hpp"
#include "core/server/groups/handlers/decisions.hpp"
#include "core/server/groups/handlers/questions.hpp"
#include "core/server/groups/operation/gatherings.hpp"
#include "core/server/groups/table/group_events.hpp"

namespace weft::server {

/// To the keeper. What it has decided comes with the group as a MadeGroup, also a refusal: the status of that
/// is a handler's own.
struct ChangeRequest {
  static constexpr std::uint16_t wire_version = 2;
  enum class Kind : std::uint8_t { leave, join, extend };
  Kind kind = Kind::leave;
  std::string group;
  link::RankRuns procs;  ///< that leave or join
  std::vector<MemberData> data;
  std::uint32_t uid = 0;  ///< the user of a process that asks to join
};
template <class Archive>
void fields(Archive& archive, ChangeRequest& m) {
  archive(m.kind, m.group, m.procs, m.data, m.uid);
}
inline bool is_valid(const ChangeRequest& request) {
  return request.kind <= ChangeRequest::Kind::extend;
}

/// From the keeper.
struct ChangedGroup {
  static constexpr std::uint16_t wire_version = 1;
  MadeGroup made;
  link::RankRuns left, joined;
};
template <class Archive>
void fields(Archive& archive, ChangedGroup& m) {
  archive(m.made, m.left, m.joined);
}

/// Does the receiver know this group? Replied to with a MadeGroup.
struct GroupInquiry {
  static constexpr std::uint16_t wire_version = 1;
  std::string group;
};
template <class Archive>
void fields(Archive& archive, GroupInquiry& m) {
  archive(m.group);
}

/// Which groups is this process of the receiver's node a member of? Replied to with their names.
struct NamesInquiry {
  static constexpr std::uint16_t wire_version = 1;
  pmix_proc_t proc{};
};
template <class Archive>
void fields(Archive& archive, NamesInquiry& m) {
  archive(m.proc);
}

struct GroupNames {
  static constexpr std::uint16_t wire_version = 1;
  std::vector<std::string> names;
};
template <class Archive>
void fields(Archive& archive, GroupNames& m) {
  archive(m.names);
}

class Memberships {
 public:
  using Changed = std::function<void(pmix_status_t, const MadeGroup&)>;

  Memberships(Loop& loop, const Jobs& jobs, PeerCalls& peers, Questions& questions, GroupEvents& events,
              Groups& groups, Operations& operations, Gatherings& gatherings);

  void leave(const Requester& from, const link::GroupLeave& message);
  /// Without an invitation: the members are asked.
  void join(const Requester& from, const link::GroupJoin& message);
  /// Asked of a group that this server does not know: do processes of this node wait to be told that it is
  /// made?
  void on_awaits(std::function<bool(const std::string& group)> awaits) { awaits_ = std::move(awaits); }
  /// They have been told, or it is not made: what has come for it too early is taken.
  void take_early(const std::string& group);
  /// These have accepted an invitation of a member.
  void extend(const std::string& group, const Procs& procs, std::vector<MemberData> data, Changed changed);
  /// The names of the groups that a process of any node is a member of, as its own server knows them. named:
  /// once, never before this returns; none: of a process that is in none, or that no way leads to.
  void names_of(const pmix_proc_t& proc, std::function<void(const std::vector<std::string>& names)> named);
  /// A process of any node has ended, or has finalized: members need not answer for it any more.
  void lose(const pmix_proc_t& proc);

  /// As Gatherings: requests that wait for members' handlers.
  std::vector<FencePart> open_parts() const;
  /// Groups with changes under way here, and what has come too early.
  std::size_t open() const noexcept { return queues_.size() + early_.size(); }
  /// As Gatherings::waiting_for().
  std::vector<Fences::Waiting> waiting_for(std::chrono::seconds limit);

 private:
  struct Change {
    ChangeRequest request;
    Changed changed;
    bool is_withdrawn = false;  ///< its process has ended
  };
  /// A request about a group, or a change of it, that has been made elsewhere, and not here yet.
  struct Early {
    std::string group;
    std::function<void()> take;
  };
  struct Queue {
    std::string group;
    std::deque<Change> waiting{};  ///< the first is under way
    Procs asked{};                 ///< of the first
    std::uint64_t poll = 0;        ///< of these
    Loop::TimePoint since{};       ///< they are
    bool is_reported = false;
  };
  /// Held by what works on it: it leaves queues_ with its last change.
  using QueueRef = std::shared_ptr<Queue>;

  /// A request that has been sent in vain.
  struct Tries {
    unsigned count = 0;
    bool has_lost_keeper = false;  ///< which may have made the change, and the reply did not come
  };
  /// What servers know of a group.
  struct Known {
    std::optional<MadeGroup> newest, oldest;
  };
  using Found = std::function<void(const Known&)>;

  void ask_keeper(const ChangeRequest& request, Tries tries, const Changed& changed);
  void tried(const ChangeRequest& request, Tries tries, const Changed& changed, pmix_status_t status,
             Bytes body);
  NodeNumber keeper_of(const Group& group) const;
  bool is_being_made(const std::string& group) const;
  void find(const std::string& group, Found found);
  void take_request(NodeNumber from, Bytes body, const Rpc::Reply& reply);
  void enqueue(Change change);
  void begin(const QueueRef& queue);
  void follow_keeper(const QueueRef& queue);
  void succeed(const QueueRef& queue);
  void distribute(const ChangedGroup& changed, std::function<void()> taken);
  void change(const QueueRef& queue, Group& group);
  void approve(const QueueRef& queue, const Group& group, pmix_status_t code);
  void apply(const QueueRef& queue);
  void end(const QueueRef& queue, pmix_status_t status, const MadeGroup& made);
  void take_change(Bytes body, const Rpc::Reply& reply);
  void answer_inquiry(Bytes body, const Rpc::Reply& reply) const;
  void answer_names(Bytes body, const Rpc::Reply& reply) const;
  FencePart part_of(const Queue& queue) const;

  Loop& loop_;
  const Jobs& jobs_;
  PeerCalls& peers_;
  Questions& questions_;
  GroupEvents& events_;
  Groups& groups_;
  Gatherings& gatherings_;
  std::map<std::string, QueueRef> queues_;  ///< by group
  std::vector<Early> early_;
  std::uint64_t last_poll_ = 0;
  std::function<bool(const std::string&)> awaits_;
};

}  // namespace weft::server
