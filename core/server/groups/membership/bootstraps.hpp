// SPDX-License-Identifier: BSD-3-Clause
// Groups whose members do not know each other: each leader knows how many leaders there are, and its own
// members (PMIX_GROUP_BOOTSTRAP, PMIX_GROUP_ADD_MEMBERS); these know the name alone. They are brought
// together by the server that the name itself names among all that know their job, and with all members known
// the construct is one like any other. The loop's thread only.
//
//   PMIx_Group_construct -> group_bootstrap to that server -> all leaders and all that they name are there ->
//   the replies, with all members -> each server has its own enter the construct (Gatherings)
//
// Place     Each name puts the nodes in an order of its own, and a call goes to the first one whose server
//           knows the caller's job: a server without processes, as weftrun's own, hears of no death. So
//           callers of one job meet, and those of several jobs where all of their servers know these jobs.
// Order     Leaders by namespace and rank, each before the members that it has added.
// Loss      A leader that has called, and a process that a leader has named, end it for all when they end or
//           give up; with PMIX_GROUP_OPTIONAL a named process that has not called is left out. Of another
//           caller it is not known yet whether it is a member: its end is its own, and where it gives up all
//           give up that may belong to it.
// One end   That server alone says how an attempt has ended, also to a caller whose time-out has passed: the
//           same word (BootstrapEnd) to all. Calls that come after an attempt has failed belong to it as long
//           as they may (owes()).
// View      When that server's node is lost, what it has said of attempts to one server holds for all callers
//           that were in them, and is remembered everywhere; calls of which it has said nothing go to the
//           next server in that order.
// Source: PMIx Standard, chapter "Process Sets and Groups", "Bootstrap method".
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include "core/server/loop/loop.hpp"

#include "core/server/connections/requester.hpp"
#include "core/server/groups/operation/gatherings.hpp"
#include "core/server/groups/table/kept_wait.hpp"
#include "core/server/groups/table/peer_calls.hpp"
#include "core/server/operations/latest.hpp"

namespace weft::server {

/// How an attempt has ended.
struct BootstrapEnd {
  static constexpr std::uint16_t wire_version = 1;
  NodeNumber place = 0;      ///< whose server has said so
  std::uint64_t number = 0;  ///< of its attempts
  pmix_status_t status = PMIX_SUCCESS;
  link::RankRuns callers{};
  link::RankRuns
      members{};  ///< that leaders have named, these among them: of PMIX_SUCCESS all, in their order
  std::uint64_t leaders = 0;  ///< how many there are; 0: none has called
  bool has_leaders = false;   ///< all of them have called
};
template <class Archive>
void fields(Archive& archive, BootstrapEnd& m) {
  archive(m.place, m.number, m.status, m.callers, m.members, m.leaders, m.has_leaders);
}

/// The latest attempt of a name that has failed.
struct FailedBootstrap {
  static constexpr std::uint16_t wire_version = 1;
  BootstrapEnd end;
  NodeNumber keeper = 0;     ///< whose server answers calls that come later
  link::RankRuns late{};     ///< have called since, and have had that end; elsewhere: those of the own node
  bool is_followed = false;  ///< processes that have had it have called again: another attempt has begun

  bool has_told(const pmix_proc_t& proc) const {
    return link::holds(end.callers, proc) || link::holds(late, proc);
  }
};
template <class Archive>
void fields(Archive& archive, FailedBootstrap& m) {
  archive(m.end, m.late, m.is_followed);
}

/// A process has called, or will not be there any more.
struct BootstrapCall {
  static constexpr std::uint16_t wire_version = 4;
  std::string group;
  pmix_proc_t proc{};
  pmix_status_t status = PMIX_SUCCESS;  ///< another: why it is gone, which has called before
  std::uint64_t leaders = 0;            ///< how many there are, of a leader; 0: it was added by one
  link::RankRuns members{};             ///< of a leader: itself, and those that it adds
  bool is_optional = false;
  std::optional<FailedBootstrap>
      failed{};  ///< what a view has said, which the receiver may not have heard yet
};
template <class Archive>
void fields(Archive& archive, BootstrapCall& m) {
  archive(m.group, m.proc, m.status, m.leaders, m.members, m.is_optional, m.failed);
}
inline bool is_valid(const BootstrapCall& m) {
  return link::procs_of(m.members).has_value();
}

/// The reply.
struct BootstrapReply {
  static constexpr std::uint16_t wire_version = 3;
  enum class Outcome : std::uint8_t {
    told,         ///< a status for that process alone
    ended,        ///< the attempt, for all that are in it
    job_unknown,  ///< to that server: it hears of no end of the job's processes
  };
  Outcome outcome = Outcome::told;
  pmix_status_t status = PMIX_SUCCESS;
  BootstrapEnd end{};
};
template <class Archive>
void fields(Archive& archive, BootstrapReply& m) {
  archive(m.outcome, m.status, m.end);
}
inline bool is_valid(const BootstrapReply& m) {
  return m.outcome <= BootstrapReply::Outcome::job_unknown;
}

/// What a server knows of a bootstrap whose server is lost, and what a view makes of that (ViewRoomOf).
struct BootstrapItem {
  bool is_open = false;  ///< calls wait there for a lost server, or it has remembered a failure
  std::string group;
  std::vector<BootstrapEnd> made{};  ///< all have come together: these ends have been told
  std::optional<FailedBootstrap> failed{};

  const std::string& key() const { return group; }
  void add(BootstrapItem other);
};
template <class Archive>
void fields(Archive& archive, BootstrapItem& m) {
  archive(m.is_open, m.group, m.made, m.failed);
}

class Bootstraps final : ViewRoomOf<BootstrapItem> {
 public:
  Bootstraps(Loop& loop, const Jobs& jobs, PeerCalls& peers, const Groups& groups, Gatherings& gatherings);

  static bool is_for(const link::GroupConstruct& message);
  void enter(const Requester& from, link::GroupConstruct message);
  /// A process of any node has ended, or one of this node has finalized.
  void lose(const pmix_proc_t& proc, pmix_status_t status);
  void forget(std::string_view nspace);

  /// What comes together here.
  void each_wait(const SeeWait& see);
  /// A process of this node, in what any node brings together.
  bool has_called(const FenceName& name, const pmix_proc_t& proc) const;

 private:
  /// A call of a process of this node.
  struct Waiting : KeptRequest {
    Requester from;
    link::GroupConstruct message;
    BootstrapCall call;
    pmix_status_t gone =
        PMIX_SUCCESS;  ///< the process has ended or given up: its server's last word is awaited
    std::unique_ptr<Timer> deadline{};
    std::optional<std::list<std::shared_ptr<Waiting>>::iterator>
        at{};                            ///< in waiting_; nothing: it has ended
    std::set<NodeNumber> passed_over{};  ///< nodes whose servers do not know the process's job
    std::unique_ptr<Timer> pause{};
    Loop::TimePoint since{};
  };
  using WaitingRef = std::shared_ptr<Waiting>;
  /// At the server that brings them together.
  using Reply = std::function<void(const BootstrapReply&)>;
  struct Caller {
    BootstrapCall call;
    Reply reply;
  };
  /// One attempt.
  struct Boot {
    std::vector<Caller> callers{};
    Procs left_out{};
    std::size_t named = 0;  ///< by leaders that have called, without those that are left out
    Loop::TimePoint since;
    bool is_reported = false;
  };
  using Boots = std::map<std::string, Boot>;
  using BootAt = Boots::iterator;
  static constexpr std::chrono::seconds watch_period{2};
  static constexpr std::size_t most_names = 1024;  ///< that are remembered
  pmix_status_t read(const Requester& from, const link::GroupConstruct& message, BootstrapCall& out) const;
  void send(const WaitingRef& waiting);
  void replied(const WaitingRef& waiting, pmix_status_t status, Bytes body);
  void learn(const std::string& group, const BootstrapEnd& end, NodeNumber keeper);
  bool finish_all(const std::string& group, const BootstrapEnd& end);
  void finish(const WaitingRef& waiting, const BootstrapEnd& end);
  void finish(const WaitingRef& waiting, pmix_status_t status);
  void erase(const WaitingRef& waiting);
  void give_up(const WaitingRef& waiting, pmix_status_t status);
  void tell_gone(const WaitingRef& waiting);
  NodeNumber place_of(const std::string& group, const std::set<NodeNumber>& passed_over) const;
  void look_elsewhere(const WaitingRef& waiting);
  void take(NodeNumber from, BootstrapCall call, const Rpc::Reply& reply);
  void take_known(NodeNumber from, BootstrapCall call, const Rpc::Reply& reply);
  void add(BootstrapCall call, const Reply& reply);
  void lose_caller(BootAt boot, const pmix_proc_t& proc, pmix_status_t status);
  pmix_status_t leave_out_gone(Boot& boot) const;
  void look(BootAt boot);
  void watch();
  void ask_for_ended(const std::string& group, const Boot& boot);
  static Procs members_of(const Boot& boot);
  static std::uint64_t wanted_leaders(const Boot& boot);
  static std::uint64_t leaders_of(const Boot& boot);
  static bool has_leaders(const Boot& boot);
  static bool has_called(const Boot& boot, const pmix_proc_t& proc);
  static FenceName name_of(const std::string& group, const Boot& boot);
  BootstrapEnd end_of(const Boot& boot, pmix_status_t status, const Procs& members);
  void end(BootAt boot, pmix_status_t status);
  static bool may_be_one(const BootstrapEnd& end, const BootstrapEnd& behind);
  static bool may_belong(const FailedBootstrap& failed, const BootstrapCall& call);
  static bool owes(const FailedBootstrap& failed, const BootstrapCall& call);
  void answer_late(const std::string& group, std::vector<Caller> late);
  void remember(const std::string& group, FailedBootstrap failed);

  bool is_orphan(const Waiting& waiting) const { return waiting.at && peers_.is_gone(waiting.keeper); }
  bool has_undecided() const override;
  std::vector<BootstrapItem> items() const override;
  void settle(std::vector<BootstrapItem> decided) override;

  Loop& loop_;
  const Jobs& jobs_;
  PeerCalls& peers_;
  const Groups& groups_;
  Gatherings& gatherings_;
  std::list<WaitingRef> waiting_;
  Boots boots_;
  std::unique_ptr<Timer> watch_timer_;  ///< while there are some
  std::uint64_t last_ = 0;  ///< the number of the latest attempt that has ended here, or is known here
  /// The latest of each name. A process that calls for a forgotten one begins another, and waits there for
  /// its time-out.
  Latest<std::string, FailedBootstrap, most_names> failed_;
  /// The latest of each name, which processes of this node were in. Where one is forgotten, and its server is
  /// lost before it has told all, a process that it has not told goes to the next server, alone.
  Latest<std::string, BootstrapEnd, most_names> made_;
  std::set<std::pair<std::string, pmix_rank_t>> gone_;
};

}  // namespace weft::server
