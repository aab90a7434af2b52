// SPDX-License-Identifier: BSD-3-Clause
// The processes of a schedule: what each calls, when it may, and what it has heard.
//
// Order    A process does its operations one after the other. An invitation it answers in a handler, whatever
//          else it does; its turn in the order is when its answer has had its end.
// Groups   Of a group's operations some wait for those before, as the processes of a program would; no
//          message tells a process of it, it is in the order of the program:
//          - a fence and a destruct for the invitations, joins and leaves before them that are not loose
//          - an invitation, a join and a leave for what has made the group, and for the fences and destructs
//            before them; a loose leave for those of its own process alone
//          - what makes a group for all before it with that name
// Jobs     What concerns processes of a job that another process starts waits until that job is there; where
//          it will never be there all leave it out.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "simulation/world.hpp"
#include "tests/schedules/record.hpp"

namespace weft::schedules {

/// What a rank publishes at the beginning; the same, of other bytes, for what an operation commits.
std::vector<std::byte> card_of(Rank rank, std::optional<std::size_t> operation = {});

/// Of `print`.
std::vector<std::byte> printed_by(std::size_t operation);
std::string name_of(const Operation& operation);
/// What a rank publishes by this operation.
std::uint64_t value_of_name(std::size_t operation, Rank rank);

/// Of notify, with the number of the operation.
inline constexpr pmix_status_t user_event = PMIX_EXTERNAL_ERR_BASE - 1;
inline constexpr const char* operation_key = "schedules.operation";

class Processes {
 public:
  /// Each has published its card and registered its handlers. Both outlive it.
  Processes(const Schedule& schedule, simulation::World& world);

  /// What may begin by now.
  void begin_what_is_due();
  /// What has come to the processes. True: something has.
  bool take_words();
  /// A process has ended, or a node has been lost.
  void look_again() { has_news_ = true; }
  /// When begin_what_is_due() has something to do though nothing comes; nanoseconds::max(): never.
  std::chrono::nanoseconds next_time() const;
  bool are_done() const;
  /// Those that are not: a line each.
  std::vector<std::string> who_waits() const;

  Record& record() noexcept { return record_; }
  std::uint64_t digest() const noexcept { return digest_; }

 private:
  using Time = std::chrono::nanoseconds;
  using Client = simulation::Client;
  struct Todo {
    std::size_t operation;
    microseconds pause;
  };
  struct Process {
    std::vector<Todo> todo;
    std::size_t next = 0;
    Time next_at{};
    std::optional<Client::Call> waits{};
    std::optional<Client::Call> subscribes{};  ///< before its first operation
    std::optional<simulation::JobNumber> spawns{};
    std::map<Client::Call, std::size_t>
        joins{};  ///< of its handlers, which have accepted an invitation: its operation
    std::set<Client::Call> declines{};
    std::set<std::vector<Rank>> connected{};
    std::set<std::string> left{};  ///< groups that it has left, and not joined again
    bool has_rejoined = false;     ///< the group that it leaves, before it has heard of the end of its leave
    bool is_blocked = false;       ///< until something has come anywhere
    bool has_finalized = false;
    bool has_begun = false;  ///< its handlers are there
  };
  /// Where a process is that has been invited.
  enum class Part : std::uint8_t {
    heard,
    silent,  ///< it does not answer, and waits for the end of the leader's call
    over,
  };

  // processes.cpp
  bool is_gone(Rank rank) const { return world_.is_gone(rank); }
  bool has_ended(const Process& process) const;
  const Operation& operation_of(const Process& process) const {
    return schedule_.operations[process.todo[process.next].operation];
  }
  bool may_begin(Rank rank, const Process& process) const {
    return !is_gone(rank) && process.has_begun && !process.waits && !process.spawns && !process.is_blocked &&
           !has_ended(process);
  }
  bool will_call_no_more(Rank rank) const;
  void set_up(Rank rank, Process& process);
  void look_at_job(Rank rank, Process& process);
  /// Whether the other jobs of its processes are there; nothing: they may come.
  std::optional<bool> has_jobs(Rank rank, std::size_t operation) const;
  std::optional<bool> has_job(simulation::JobNumber job) const;
  void begin_next(Rank rank, Process& process);
  void begin(Rank rank, Process& process);
  bool call(Rank rank, Process& process, std::size_t number);
  void go_on(Process& process);
  bool is_ready(Rank rank, std::size_t operation);
  bool have_begun(const std::vector<Rank>& ranks) const;
  bool is_over(std::size_t operation);
  bool is_over(std::size_t operation, Rank rank);
  bool is_part_over(std::size_t operation, Rank rank);
  void later(Time at, std::function<void()> act) { later_.emplace(at, std::move(act)); }
  void note(Rank rank, std::size_t operation, pmix_status_t status);
  void violates(std::string what) { record_.violations.push_back(std::move(what)); }

  // handlers.cpp
  void take(Rank rank, Client::Ended end);
  void take(Rank rank, link::EventMessage event);
  void take(Rank rank, link::GroupQuestion question);
  void take(Rank rank, link::GroupChange change);
  void take(Rank rank, const link::Output& output);
  void end_of_call(Rank rank, std::size_t operation, Client::Ended end);
  bool is_leaving(const Process& process, const std::string& group) const;
  bool is_joining(Rank rank, const std::string& group) const;
  void is_invited(Rank rank, std::size_t operation, const pmix_proc_t& leader);

  const Schedule& schedule_;
  simulation::World& world_;
  std::vector<Process> processes_;
  Record record_;
  std::vector<std::vector<bool>> is_skipped_;  ///< by operation and rank
  std::map<std::string, std::size_t>
      broken_;                   ///< groups whose end, that operation, has failed: no later one is about them
  std::vector<bool> must_find_;  ///< gets: what they look for has been committed before
  std::vector<bool> has_begun_;  ///< a process has called it
  std::vector<std::optional<bool>> is_off_;  ///< constructs: its group was there when the first was to call
  std::vector<std::map<Rank, Part>> parts_;  ///< of invitations
  std::vector<std::optional<Time>> given_up_at_;  ///< invitations: those that have not heard do not any more
  std::multimap<Time, std::function<void()>> later_;
  bool has_news_ = true;
  std::size_t changes_of_jobs_ = 0;  ///< of which this knows
  std::uint64_t digest_ = 0;
};

}  // namespace weft::schedules
