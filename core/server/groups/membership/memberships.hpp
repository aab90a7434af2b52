// SPDX-License-Identifier: BSD-3-Clause
// The members of a group that is there already: joins without an invitation, members that an invitation adds,
// and leaves. One server keeps a group (Group::keeper): it makes the changes one after the other, and begins
// the next when all servers of members have the last, so that the members are the same everywhere. The loop's
// thread only.
//
//   PMIx_Group_leave, PMIx_Group_join
//     -> group_ask to the keeper -> the members' handlers approve, where they are to be asked
//     -> group_changed to all servers of members, those of new ones behind the others, the keeper's last
//     -> PMIX_GROUP_LEFT, PMIX_GROUP_MEMBERSHIP_UPDATE
//     -> the reply
//
// Keeper    It is part of the group, and named by each version of it: the server where the group was made, as
//           long as its node has a member, else that of the first member. A request says which version its
//           sender knows: whichever of the two servers knows the older one learns the newer.
// Loss      The servers that are left agree in a view on the newest version that one of them has, and on the
//           keeper that follows: that is a version, too. A request to a lost keeper waits for that: then it
//           has been made, or goes to the keeper that is named. A join whose process has ended is not made.
// Source: RFC 0033 and its draft.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/server/groups/handlers/decisions.hpp"
#include "core/server/groups/handlers/questions.hpp"
#include "core/server/groups/operation/gatherings.hpp"
#include "core/server/groups/table/group_events.hpp"
#include "core/server/groups/table/kept_wait.hpp"

namespace weft::server {

/// To the keeper.
struct ChangeRequest {
  static constexpr std::uint16_t wire_version = 3;
  enum class Kind : std::uint8_t { leave, join, extend };
  Kind kind = Kind::leave;
  std::string group;
  link::RankRuns procs;  ///< that leave or join
  std::vector<MemberData> data;
  std::uint32_t uid = 0;  ///< the user of a process that asks to join
  Group known{};          ///< as the sender knows it

  /// The group is what this request wants it to be.
  bool is_made(const Group& now) const;
};
template <class Archive>
void fields(Archive& archive, ChangeRequest& m) {
  archive(m.kind, m.group, m.procs, m.data, m.uid, m.known);
}
inline bool is_valid(const ChangeRequest& request) {
  return request.kind <= ChangeRequest::Kind::extend;
}

/// The reply.
struct ChangeReply {
  static constexpr std::uint16_t wire_version = 1;
  enum class Outcome : std::uint8_t {
    decided,
    not_keeper,  ///< the group as the receiver knows it names another one
    unknown,     ///< the receiver does not know the group, or not any more
  };
  Outcome outcome = Outcome::decided;
  pmix_status_t status = PMIX_SUCCESS;  ///< of one that is decided, for the process: also a handler's own
  std::optional<MadeGroup> made{};
};
template <class Archive>
void fields(Archive& archive, ChangeReply& m) {
  archive(m.outcome, m.status, m.made);
}
inline bool is_valid(const ChangeReply& reply) {
  return reply.outcome <= ChangeReply::Outcome::unknown;
}

/// From the keeper.
struct ChangedGroup {
  static constexpr std::uint16_t wire_version = 2;
  MadeGroup made;
  link::RankRuns before;  ///< the members until now, for a server that does not know the group
};
template <class Archive>
void fields(Archive& archive, ChangedGroup& m) {
  archive(m.made, m.before);
}

/// The reply.
struct ChangedReply {
  static constexpr std::uint16_t wire_version = 1;
  enum class Outcome : std::uint8_t {
    taken,
    ended,  ///< the receiver's members have ended the group
  };
  Outcome outcome = Outcome::taken;
};
template <class Archive>
void fields(Archive& archive, ChangedReply& m) {
  archive(m.outcome);
}
inline bool is_valid(const ChangedReply& reply) {
  return reply.outcome <= ChangedReply::Outcome::ended;
}

/// Does the receiver know this group?
struct GroupInquiry {
  static constexpr std::uint16_t wire_version = 1;
  std::string group;
};
template <class Archive>
void fields(Archive& archive, GroupInquiry& m) {
  archive(m.group);
}

/// The reply.
struct FoundGroup {
  static constexpr std::uint16_t wire_version = 1;
  std::optional<Group> group;
};
template <class Archive>
void fields(Archive& archive, FoundGroup& m) {
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

/// What a server knows of a group whose members or keeper have changed, or that a request of its processes is
/// about; what a view makes of that (ViewRoomOf).
struct MembersItem {
  bool is_open = false;  ///< the keeper is lost, or a request waits to hear which one follows
  bool is_next = false;  ///< no server has this version yet: it would follow the one with the lost keeper
  std::string name;
  Group group;

  std::pair<std::string, std::uint64_t> key() const { return {name, group.origin}; }
  /// The newest version; of two, one that a server has already.
  void add(MembersItem other);
};
template <class Archive>
void fields(Archive& archive, MembersItem& m) {
  archive(m.is_open, m.is_next, m.name, m.group);
}

/// Of these, those that the others do not hold.
Procs procs_without(const link::RankRuns& procs, const link::RankRuns& others);

class Memberships final : ViewRoomOf<MembersItem> {
 public:
  using Changed = std::function<void(pmix_status_t, const MadeGroup&)>;

  Memberships(Loop& loop, const Jobs& jobs, PeerCalls& peers, Questions& questions, GroupEvents& events,
              Groups& groups, Gatherings& gatherings, EarlyMessages& early);

  void leave(const Requester& from, const link::GroupLeave& message);
  /// Without an invitation: the members are asked.
  void join(const Requester& from, const link::GroupJoin& message);
  /// These have accepted an invitation of a member.
  void extend(const std::string& group, const Procs& procs, std::vector<MemberData> data, Changed changed);
  /// The names of the groups that a process of any node is a member of, as its own server knows them. named:
  /// once, never before this returns; none: of a process that is in none, or that no way leads to.
  void names_of(const pmix_proc_t& proc, std::function<void(const std::vector<std::string>& names)> named);
  /// A process of any node has ended, or has finalized: members need not answer for it any more.
  void lose(const pmix_proc_t& proc);

  /// Requests that wait for members' handlers.
  void each_wait(const SeeWait& see);
  /// Requests of this node, groups with changes under way here, and what has come too early.
  std::size_t open() const noexcept { return requests_.size() + queues_.size() + early_.kept().size(); }

 private:
  /// Of a process of this node, or of the coordinator of an invitation.
  struct Request : KeptRequest {
    ChangeRequest message;
    Changed changed;
  };
  using RequestRef = std::shared_ptr<Request>;
  /// The same at the keeper.
  struct Change {
    ChangeRequest request;
    std::function<void(const ChangeReply&)> reply;
    bool is_withdrawn = false;  ///< its process has ended
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

  void ask(ChangeRequest message, Changed changed);
  void ask_keeper(const RequestRef& request, const Group& group);
  void replied(const RequestRef& request, Result<ChangeReply> reply);
  void find_newer(const RequestRef& request);
  void finish(const RequestRef& request, pmix_status_t status, const MadeGroup& made = {});
  bool is_waiting(const Request& request) const;
  NodeNumber keeper_after(const Group& group) const;
  void take_request(NodeNumber from, ChangeRequest request, const Rpc::Reply& reply);
  void take_known(NodeNumber from, ChangeRequest request, const Procs& procs, const Rpc::Reply& reply);
  void enqueue(Change change);
  void begin(const QueueRef& queue);
  void change(const QueueRef& queue, const Group& group);
  void approve(const QueueRef& queue, const Group& group, pmix_status_t code);
  void apply(const QueueRef& queue);
  void distribute(const ChangedGroup& changed, const std::function<void(bool is_made)>& taken);
  void tell_all(const std::map<NodeNumber, Procs>& nodes, const std::vector<std::byte>& change,
                const std::function<void(bool has_ended)>& told);
  void end(const QueueRef& queue, const ChangeReply& reply);
  void conclude(const QueueRef& queue, pmix_status_t status);
  void take_change(NodeNumber from, ChangedGroup changed, const Rpc::Reply& reply);
  void take(const MadeGroup& made, const link::RankRuns& before_if_unknown);
  void tell_change(const MadeGroup& made, const Group& before, const Procs& left, const Procs& joined);
  void answer_inquiry(NodeNumber from, GroupInquiry inquiry, const Rpc::Reply& reply);
  void answer_names(NodeNumber from, NamesInquiry inquiry, const Rpc::Reply& reply);

  bool has_undecided() const override;
  std::vector<MembersItem> items() const override;
  void settle(std::vector<MembersItem> decided) override;
  void follow(const std::string& name, const Group& group);

  Loop& loop_;
  const Jobs& jobs_;
  PeerCalls& peers_;
  Questions& questions_;
  GroupEvents& events_;
  Groups& groups_;
  Gatherings& gatherings_;
  std::list<RequestRef> requests_;
  std::map<std::string, QueueRef> queues_;  ///< by group
  EarlyMessages& early_;
  std::uint64_t last_poll_ = 0;
};

}  // namespace weft::server
