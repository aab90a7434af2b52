// SPDX-License-Identifier: BSD-3-Clause
// Calls about groups as the members of tests make them, and the events of groups that a member has heard.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/multiproc/harness/values.hpp"

namespace weft::test {

using Procs = std::vector<pmix_proc_t>;

/// The result of a construct, an invite or a join.
struct Made {
  pmix_status_t status = PMIX_ERROR;
  Procs members;
  std::optional<std::size_t> context;
  std::string name;  ///< of an invitation only
};
Made read_results(pmix_status_t status, const pmix_info_t* results, std::size_t count);
Made construct(const std::string& name, const Procs& procs, const Infos& infos = {});
Made invite(const std::string& name, const Procs& procs, const Infos& infos = {});
/// leader: null: none.
Made join(const std::string& name, const pmix_proc_t* leader, pmix_group_opt_t how = PMIX_GROUP_ACCEPT,
          const Infos& infos = {});
pmix_status_t destruct(const std::string& name, const Infos& infos = {});
pmix_status_t leave(const std::string& name);

/// Returns when everything that this process has asked of its server before has come there.
void hear_from_server();
/// Calls that this process waits for later. Their server has them.
class Construct {
 public:
  Construct(const std::string& name, const Procs& procs, const Infos& infos);
  pmix_status_t wait() { return ended_.wait(); }

 private:
  Waiter ended_;
};
/// Without a leader.
class Join {
 public:
  explicit Join(const std::string& name, const Infos& infos = {});
  pmix_status_t wait() { return ended_.wait(); }

 private:
  Waiter ended_;
};

/// The ranks of the client's job from `first` to `last`.
Procs ranks_of(const Client& client, pmix_rank_t first, pmix_rank_t last);
Procs ranks_of(const Client& client, std::initializer_list<pmix_rank_t> ranks);
pmix_proc_t all_of(const std::string& group);
bool is_same(const Procs& a, const Procs& b);
bool contains(const Procs& procs, const pmix_proc_t& proc);
/// The members of a group, as Get tells them.
Procs members_of(const std::string& group);

/// Their ranks, in that order.
std::string ranks_in(const Procs& procs);
/// PMIX_QUERY_NUM_GROUPS, of this node.
std::size_t groups_known_here();
/// Operations of groups that this node's server has open, as weftinfo names them.
std::vector<std::string> operations_open_here();

/// Events about groups. One for the process, as the C API's handlers have it.
class GroupEvents {
 public:
  struct Event {
    pmix_status_t code = 0;
    pmix_proc_t source{};
    std::string group;
    std::optional<pmix_proc_t> about;
    Procs members;
    std::optional<bool> is_led;  ///< PMIX_GROUP_LEADER
  };
  /// The answer that a handler gives back.
  struct Answer {
    pmix_status_t status = PMIX_SUCCESS;
    bool leads = false;         ///< PMIX_GROUP_LEADER
    Procs replacements = {};    ///< PMIX_GROUP_ADD_MEMBERS
    bool is_held_back = false;  ///< the handler does not complete
  };
  using React = std::function<Answer(const Event&)>;

  static GroupEvents& here();
  /// Registers a handler for the code; react: on the library's thread.
  void listen(pmix_status_t code, React react = nullptr);
  /// Takes the next event of that code, and of that group, under the deadline.
  Event wait(pmix_status_t code, const std::string& group = {});
  std::size_t count(pmix_status_t code);

 private:
  static void on_event(std::size_t, pmix_status_t code, const pmix_proc_t* source, pmix_info_t* infos,
                       std::size_t ninfo, pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done,
                       void* open);
  Answer take(const Event& event);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<pmix_status_t, React> reactions_;
  std::deque<Event> heard_;
  std::map<pmix_status_t, std::size_t> counts_;
};

inline GroupEvents& group_events() {
  return GroupEvents::here();
}

}  // namespace weft::test
