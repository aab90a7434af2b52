// SPDX-License-Identifier: BSD-3-Clause
#include "tests/schedules/processes.hpp"
#include "weft/pmix_extensions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/data/types/array.hpp"

namespace weft::schedules {

using simulation::Client;
using simulation::World;

namespace {

constexpr const char* key = "card";
std::string key_of(std::size_t operation) {
  return fmt::format("late{}", operation);
}

/// After the end of the leader's call, or of the leader: what has been sent to a process that is invited has
/// come by then.
constexpr std::chrono::seconds longest_way{20};

server::Procs procs_of(const simulation::Places& places, const std::vector<Rank>& ranks) {
  server::Procs out;
  for (const auto rank : ranks) out.push_back(places.proc_of(rank));
  return out;
}

data::Infos timeout_of(const Operation& operation) {
  data::Infos out;
  if (operation.timeout != 0) out.add(PMIX_TIMEOUT, data::Value::of(operation.timeout));
  return out;
}

/// What the processes of an operation of names say.
data::Infos infos_of_name(const Operation& operation) {
  auto out = timeout_of(operation);
  if (operation.waits) out.add(PMIX_WAIT, data::Value::of(std::uint32_t{0}));
  if (operation.kind == Kind::look_up) return out;
  out.add(PMIX_RANGE, data::Value::of(std::uint32_t{operation.range}));
  out.add(PMIX_PERSISTENCE, data::Value::of(std::uint32_t{operation.persistence}));
  return out;
}

data::Infos directives_of(const Operation& operation, Rank rank) {
  auto out = timeout_of(operation);
  if (operation.is_bare) return out;
  out.add(PMIX_GROUP_ASSIGN_CONTEXT_ID, data::Value::of(true));
  const bool gives = !operation.differs || gives_directives(rank);
  if (operation.adjusts && gives) out.add(PMIX_GROUP_FT_COLLECTIVE, data::Value::of(true));
  if (operation.asks && gives) out.add(PMIX_GROUP_NOTIFY_TERMINATION, data::Value::of(true));
  if (operation.is_optional) out.add(PMIX_GROUP_OPTIONAL, data::Value::of(true));
  return out;
}

/// What a process names when it constructs the group: all members, or of a bootstrap itself alone, and of a
/// leader's share of the others with its directives; or nothing.
server::Procs named_by(const simulation::Places& places, const Operation& operation, Rank rank,
                       data::Infos& directives) {
  const auto& members = operation.members;
  if (operation.leaders == 0) return procs_of(places, members);
  const auto place =
      static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) - members.begin());
  if (place >= operation.leaders) return {};
  server::Procs share;
  for (std::size_t i = operation.leaders; i < members.size(); ++i)
    if (i % operation.leaders == place) share.push_back(places.proc_of(members[i]));
  directives.add(PMIX_GROUP_BOOTSTRAP, data::Value::of(operation.leaders));
  if (!share.empty())
    directives.add(PMIX_GROUP_ADD_MEMBERS, *data::value_of_array(PMIX_PROC, share.data(), share.size()));
  return {places.proc_of(rank)};
}

bool is_of_members(Kind kind) {
  return kind == Kind::invite || kind == Kind::join || kind == Kind::leave;
}

}  // namespace

std::vector<std::byte> card_of(Rank rank, std::optional<std::size_t> operation) {
  return std::vector<std::byte>(50 + rank, static_cast<std::byte>(rank + (operation ? 100 + *operation : 0)));
}

std::vector<std::byte> printed_by(std::size_t operation) {
  return std::vector<std::byte>(1 + operation, static_cast<std::byte>(operation));
}

std::string name_of(const Operation& operation) {
  return fmt::format("name{}", operation.name);
}

std::uint64_t value_of_name(std::size_t operation, Rank rank) {
  return (operation + 1) << 32 | rank;
}

Processes::Processes(const Schedule& schedule, World& world) : schedule_(schedule), world_(world) {
  const auto operations = schedule.operations.size();
  processes_.resize(world.ranks());
  for (std::size_t i = 0; i < operations; ++i) {
    const auto& operation = schedule.operations[i];
    for (std::size_t m = 0; m < operation.members.size(); ++m) {
      const bool has_pause = operation.kind != Kind::invite || operation.members[m] == operation.target;
      processes_[operation.members[m]].todo.push_back({i, has_pause ? operation.pauses[m] : microseconds(0)});
    }
  }
  for (auto& process : processes_)
    if (!process.todo.empty()) process.next_at = process.todo.front().pause;
  record_.ended.resize(operations, std::vector<std::optional<Ended>>(world.ranks()));
  record_.called.resize(operations, std::vector<Time>(world.ranks()));
  record_.ended_at = record_.called;
  record_.groups.resize(world.ranks());
  record_.invited.resize(operations);
  is_skipped_.resize(operations, std::vector<bool>(world.ranks()));
  record_.heard.resize(operations);
  must_find_.resize(operations);
  has_begun_.resize(operations);
  is_off_.resize(operations);
  parts_.resize(operations);
  given_up_at_.resize(operations);
  record_.began.resize(world.ranks());
  record_.killed.resize(world.ranks());
  const auto of_first_job = world.places().end_of(0);
  for (Rank rank = 0; rank < of_first_job; ++rank) set_up(rank, processes_[rank]);
  for (Rank rank = 0; rank < of_first_job;) {
    if (world.client(rank).open() == 0)
      ++rank;
    else
      world.step(world.now() + std::chrono::seconds(1));
  }
  for (Rank rank = 0; rank < of_first_job; ++rank)
    for (auto& word : world.client(rank).take_words())
      if (auto* const end = std::get_if<Client::Ended>(&word)) take(rank, std::move(*end));
}

/// It has been let in.
void Processes::set_up(Rank rank, Process& process) {
  auto& client = world_.client(rank);
  client.commit(key, card_of(rank));
  process.subscribes =
      client.subscribe({PMIX_GROUP_INVITED, PMIX_GROUP_INVITE_ACCEPTED, PMIX_GROUP_INVITE_DECLINED,
                        PMIX_GROUP_INVITE_FAILED, PMIX_GROUP_LEADER_FAILED, PMIX_GROUP_LEFT,
                        PMIX_GROUP_MEMBERSHIP_UPDATE, PMIX_GROUP_JOIN_REQUEST, user_event});
  world_.wake(world_.node_of(rank));
}

bool Processes::has_ended(const Process& process) const {
  return process.next == process.todo.size() && (!schedule_.finalizes || process.has_finalized);
}

/// It has ended, or its job will never be there.
bool Processes::will_call_no_more(Rank rank) const {
  return is_gone(rank) && (world_.has_started(rank) || has_job(world_.places().job_of(rank)) == false);
}

bool Processes::are_done() const {
  for (Rank rank = 0; rank < processes_.size(); ++rank)
    if (!will_call_no_more(rank) && !has_ended(processes_[rank])) return false;
  return true;
}

Processes::Time Processes::next_time() const {
  auto out = later_.empty() ? Time::max() : later_.begin()->first;
  for (Rank rank = 0; rank < processes_.size(); ++rank) {
    const auto& process = processes_[rank];
    if (may_begin(rank, process)) out = std::min(out, process.next_at);
  }
  return out;
}

// ---- beginning

void Processes::begin_what_is_due() {
  while (!later_.empty() && later_.begin()->first <= world_.now()) {
    const auto act = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    act();
    has_news_ = true;
  }
  has_news_ |= std::exchange(changes_of_jobs_, world_.changes_of_jobs()) != world_.changes_of_jobs();
  for (Rank rank = 0; rank < processes_.size(); ++rank) look_at_job(rank, processes_[rank]);
  while (std::exchange(has_news_, false))
    for (auto& process : processes_) process.is_blocked = false;
  for (Rank rank = 0; rank < processes_.size(); ++rank) begin_next(rank, processes_[rank]);
}

void Processes::begin_next(Rank rank, Process& process) {
  while (may_begin(rank, process) && process.next_at <= world_.now()) begin(rank, process);
}

/// A process of a job that has been started begins; the job that this one starts is there, or has failed.
void Processes::look_at_job(Rank rank, Process& process) {
  if (is_gone(rank)) return;
  if (!process.has_begun && !process.subscribes && world_.client(rank).is_welcome()) set_up(rank, process);
  if (!process.spawns) return;
  const auto there = has_job(*process.spawns);
  if (!there) return;
  process.spawns.reset();
  end_of_call(rank, process.todo[process.next].operation,
              {0, *there ? PMIX_SUCCESS : PMIX_ERR_JOB_FAILED_TO_LAUNCH});
  go_on(process);
}

void Processes::begin(Rank rank, Process& process) {
  world_.wake(world_.node_of(rank));
  if (process.next == process.todo.size()) {
    process.waits = world_.client(rank).finalize();
    return;
  }
  const auto number = process.todo[process.next].operation;
  const auto& operation = schedule_.operations[number];
  if (operation.kind == Kind::invite && operation.target != rank) {
    process.is_blocked = !is_part_over(number, rank);
    if (!process.is_blocked) go_on(process);
    return;
  }
  const auto has_all = has_jobs(rank, number);
  process.is_blocked = !has_all || (*has_all && !is_ready(rank, number));
  if (process.is_blocked) return;
  if (!*has_all) {
    is_skipped_[number][rank] = true;
    return go_on(process);
  }
  has_begun_[number] = true;
  record_.called[number][rank] = world_.now();
  if (call(rank, process, number)) return;
  is_skipped_[number][rank] = true;
  go_on(process);
}

void Processes::go_on(Process& process) {
  has_news_ = true;
  process.waits.reset();
  if (++process.next < process.todo.size()) process.next_at = world_.now() + process.todo[process.next].pause;
}

/// False: there is nothing to call, because the group is not there, or this process is not in it.
bool Processes::call(Rank rank, Process& process, std::size_t number) {
  const auto& operation = schedule_.operations[number];
  const auto broken = broken_.find(operation.group);
  if (broken != broken_.end() && broken->second < number) return false;
  auto& client = world_.client(rank);
  const auto known = record_.groups[rank].find(operation.group);
  const bool is_member = known != record_.groups[rank].end();
  const auto members = is_member ? known->second : link::RankRuns();
  const bool is_there = std::any_of(record_.groups.begin(), record_.groups.end(),
                                    [&](const Groups& each) { return each.count(operation.group) != 0; });
  switch (operation.kind) {
    case Kind::fence_job:
      process.waits = client.fence_job(operation.collects);
      return true;
    case Kind::fence_set: {
      auto directives = timeout_of(operation);
      directives.add(PMIX_COLLECT_DATA, data::Value::of(operation.collects));
      process.waits = client.fence(procs_of(world_.places(), operation.members), std::move(directives));
      return true;
    }
    case Kind::construct:
      // It could not be ended. All members do the same: a node that is cut off hears nothing of the others.
      if (!is_off_[number]) is_off_[number] = is_there;
      if (*is_off_[number]) return false;
      process.left.erase(operation.group);
      {
        auto directives = directives_of(operation, rank);
        const auto named = named_by(world_.places(), operation, rank, directives);
        process.waits = client.construct(operation.group, named, std::move(directives));
      }
      return true;
    case Kind::fence_group:
      if (is_member) process.waits = client.fence_group(operation.group, members, timeout_of(operation));
      return is_member;
    case Kind::destruct:
      if (is_member) process.waits = client.destruct(operation.group, members, timeout_of(operation));
      return is_member;
    case Kind::get:
      must_find_[number] = operation.late && is_over(*operation.late);
      process.waits = client.get(world_.places().proc_of(operation.target),
                                 operation.late ? key_of(*operation.late) : std::string(key));
      return true;
    case Kind::invite:
      if (is_there && !is_member) return false;
      process.left.erase(operation.group);
      process.waits = client.invite(operation.group, procs_of(world_.places(), operation.members),
                                    directives_of(operation, rank));
      return true;
    case Kind::join:
      if (is_member || !is_there) return false;
      process.left.erase(operation.group);
      process.waits = client.join(operation.group, pmix_proc_t{}, true);
      return true;
    case Kind::leave:
      if (is_member) process.waits = client.leave(operation.group);
      return is_member;
    case Kind::connect:
      process.waits = client.connect(procs_of(world_.places(), operation.members), timeout_of(operation));
      return true;
    case Kind::disconnect:
      if (process.connected.count(operation.members) == 0) return false;
      process.waits = client.disconnect(procs_of(world_.places(), operation.members), timeout_of(operation));
      return true;
    case Kind::notify: {
      data::Infos infos;
      infos.add(operation_key, data::Value::of(static_cast<std::uint32_t>(number)));
      process.waits = client.notify(user_event, operation.is_local ? PMIX_RANGE_LOCAL : PMIX_RANGE_NAMESPACE,
                                    std::move(infos));
      return true;
    }
    case Kind::commit:
      client.commit(key_of(number), card_of(rank, number));
      record_.ended[number][rank] = Ended{};
      return false;
    case Kind::publish:
      process.waits =
          client.publish(name_of(operation), value_of_name(number, rank), infos_of_name(operation));
      return true;
    case Kind::look_up:
      process.waits = client.look_up(name_of(operation), infos_of_name(operation));
      return true;
    case Kind::unpublish:
      process.waits = client.unpublish(name_of(operation), infos_of_name(operation));
      return true;
    case Kind::spawn:
      process.spawns = operation.job;
      world_.start(operation.job);
      return true;
    case Kind::pull:
      process.waits = client.pull(world_.places().proc_of(operation.target), number);
      return true;
    case Kind::print:
      world_.print(rank, printed_by(number));
      record_.ended[number][rank] = Ended{};
      return false;
  }
  return false;
}

// ---- jobs that processes start

std::optional<bool> Processes::has_jobs(Rank rank, std::size_t number) const {
  const auto& operation = schedule_.operations[number];
  auto of = operation.members;
  if (operation.kind == Kind::get || operation.kind == Kind::pull) of.push_back(operation.target);
  std::optional<bool> out = true;
  for (const auto other : of) {
    const auto job = world_.places().job_of(other);
    if (job == 0 || job == world_.places().job_of(rank)) continue;
    const auto there = has_job(job);
    if (there == false) return false;
    if (!there) out = std::nullopt;
  }
  return out;
}

std::optional<bool> Processes::has_job(simulation::JobNumber job) const {
  using State = simulation::SpawnedJobs::State;
  const auto state = world_.state_of(job);
  if (state == State::running) return true;
  if (state == State::failed) return false;
  if (state == State::starting) return std::nullopt;
  for (std::size_t i = 0; i < schedule_.operations.size(); ++i) {
    const auto& operation = schedule_.operations[i];
    if (operation.kind != Kind::spawn || operation.job != job) continue;
    const auto by = operation.members.front();
    const bool is_off = is_gone(by) || is_skipped_[i][by];
    // Of a job that will not be there, either.
    const auto job_of_parent = world_.places().job_of(by);
    const bool may_come = job_of_parent != 0 && !world_.has_started(by) && has_job(job_of_parent) != false;
    return is_off && !may_come ? std::optional(false) : std::nullopt;
  }
  return false;
}

// ---- the order of the operations of a group

bool Processes::is_ready(Rank rank, std::size_t number) {
  const auto& operation = schedule_.operations[number];
  if (operation.group.empty()) return true;
  if (operation.kind == Kind::invite && !have_begun(operation.members)) return false;
  const bool may_make = operation.kind == Kind::construct || operation.kind == Kind::invite;
  const bool makes = may_make && record_.groups[rank].count(operation.group) == 0;
  for (std::size_t before = 0; before < number; ++before) {
    const auto& other = schedule_.operations[before];
    if (other.group != operation.group) continue;
    const bool is_collective = other.kind == Kind::fence_group || other.kind == Kind::destruct;
    const bool is_waited_for = makes ? true
                               : is_of_members(operation.kind)
                                   ? !operation.is_loose && (is_collective || other.kind == Kind::construct ||
                                                             other.kind == Kind::invite)
                                   : is_of_members(other.kind) && !other.is_loose;
    if (is_waited_for && !is_over(before)) return false;
  }
  return true;
}

/// An invitation is an event: it comes to no process that has no handler yet.
bool Processes::have_begun(const std::vector<Rank>& ranks) const {
  return std::all_of(ranks.begin(), ranks.end(), [&](Rank rank) {
    return processes_[rank].has_begun || (is_gone(rank) && world_.has_started(rank));
  });
}

bool Processes::is_over(std::size_t number) {
  const auto& members = schedule_.operations[number].members;
  return std::all_of(members.begin(), members.end(), [&](Rank rank) { return is_over(number, rank); });
}

bool Processes::is_over(std::size_t number, Rank rank) {
  const auto& operation = schedule_.operations[number];
  if (is_skipped_[number][rank] || record_.ended[number][rank]) return true;
  if (will_call_no_more(rank)) return true;
  return operation.kind == Kind::invite && operation.target != rank && is_part_over(number, rank);
}

/// It has answered, and its call has ended, or it is not asked any more.
bool Processes::is_part_over(std::size_t number, Rank rank) {
  const auto part = parts_[number].find(rank);
  const auto leader = schedule_.operations[number].target;
  if (part != parts_[number].end())
    return part->second == Part::over || (part->second == Part::silent && is_over(number, leader));
  if (is_skipped_[number][leader]) return true;
  if (!is_over(number, leader)) return false;
  auto& when = given_up_at_[number];
  if (!when) {
    when = world_.now() + longest_way;
    later(*when, [] {});
  }
  return *when <= world_.now();
}

// ---- the end

std::vector<std::string> Processes::who_waits() const {
  std::vector<std::string> out;
  for (Rank rank = 0; rank < processes_.size(); ++rank) {
    const auto& process = processes_[rank];
    if (is_gone(rank) || has_ended(process)) continue;
    const bool is_last = process.next == process.todo.size();
    if (is_last)
      out.push_back(fmt::format("rank {} waits in its finalize, for ever", rank));
    else if (process.spawns)
      out.push_back(fmt::format("rank {} waits for job {}, for ever", rank, *process.spawns));
    else if (process.waits)
      out.push_back(
          fmt::format("rank {} waits in operation {}, for ever", rank, process.todo[process.next].operation));
    else if (!process.joins.empty())
      out.push_back(fmt::format("rank {} waits for its answer to the invitation of operation {}, for ever",
                                rank, process.joins.begin()->second));
  }
  if (out.empty()) out.emplace_back("the processes wait for one another outside of calls");
  for (Rank rank = 0; rank < processes_.size(); ++rank) {
    const auto& process = processes_[rank];
    const bool is_in_call = process.spawns || process.waits || !process.joins.empty();
    if (!is_gone(rank) && !has_ended(process) && !is_in_call && process.next != process.todo.size())
      out.push_back(fmt::format("  rank {} before operation {}", rank, process.todo[process.next].operation));
  }
  return out;
}

void Processes::note(Rank rank, std::size_t operation, pmix_status_t status) {
  for (const auto each : {std::uint64_t{rank}, std::uint64_t{operation}, static_cast<std::uint64_t>(status),
                          static_cast<std::uint64_t>(world_.now().count())})
    digest_ = (digest_ ^ each) * 0x100000001b3u;
}

}  // namespace weft::schedules
