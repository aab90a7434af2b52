// SPDX-License-Identifier: BSD-3-Clause
// What has to be so of published names.
//
// A name is sure to be there from the end of its publish on, until its publisher begins to take it back, or
// ends, or its node does: what other nodes are lost changes nothing. One that goes with its first read is
// sure until a lookup is under way that may take it.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tests/schedules/processes.hpp"

namespace weft::schedules {
namespace {

using Time = std::chrono::nanoseconds;

/// From a client to its server, to the keeper, and back, however late the network is; the servers learn of a
/// loss, too.
constexpr std::chrono::seconds long_enough{30};

/// A publish of one process.
struct Name {
  std::size_t operation;
  Rank rank;
  Time called, ended;
  Time sure_until;             ///< at least
  Time possible_until;         ///< at most
  bool is_kept_at_end = true;  ///< it may be
  unsigned readers = 0;
};

class NameCheck {
 public:
  NameCheck(const Schedule& schedule, std::size_t names, Record& record)
      : schedule_(schedule), places_(schedule.shape.places()), names_at_end_(names), record_(record) {}

  void all() {
    each_end(Kind::publish, [this](std::size_t i, Rank rank, const Ended& end) { published(i, rank, end); });
    each_end(Kind::unpublish,
             [this](std::size_t i, Rank rank, const Ended& end) { taken_back(i, rank, end); });
    each_end(Kind::look_up, [this](std::size_t i, Rank rank, const Ended& end) { looked_up(i, rank, end); });
    for (const auto& name : names_) {
      if (operation_of(name).persistence == PMIX_PERSIST_FIRST_READ && name.readers > 1)
        violates(fmt::format("name {} of operation {} goes with its first read, and {} have read it",
                             operation_of(name).name, name.operation, name.readers));
      for (const auto& other : names_)
        if (&other < &name) are_apart(name, other);
    }
    count();
  }

 private:
  const Operation& operation_of(const Name& name) const { return schedule_.operations[name.operation]; }
  void violates(std::string what) { record_.violations.push_back(std::move(what)); }
  bool is_near(Rank one, Rank other) const { return places_.node_of(one) == places_.node_of(other); }

  bool is_of_one_job(Rank one, Rank other) const { return places_.job_of(one) == places_.job_of(other); }

  /// Those that were told, also processes that have ended since.
  template <class See>
  void each_end(Kind kind, See&& see) {
    for (std::size_t i = 0; i < schedule_.operations.size(); ++i) {
      if (schedule_.operations[i].kind != kind) continue;
      for (const auto rank : schedule_.operations[i].members)
        if (const auto& end = record_.ended[i][rank]) see(i, rank, *end);
    }
  }

  /// When the rank, or its node, ends: Time::max(): it does not.
  Time end_of(Rank rank) const {
    auto out = record_.killed[rank].value_or(Time::max());
    for (const auto& fault : schedule_.faults)
      if (fault.kind != Fault::Kind::process_ends && fault.which == places_.node_of(rank))
        out = std::min<Time>(out, fault.at);
    return out;
  }

  /// When its last operation has ended.
  Time finalize_of(Rank rank) const {
    Time out{};
    for (const auto& each : record_.ended_at) out = std::max(out, each[rank]);
    return out;
  }

  bool may_read(const Operation& publish, Rank publisher, Rank looker) const {
    if (publish.range == PMIX_RANGE_NAMESPACE) return is_of_one_job(publisher, looker);
    return publish.range != PMIX_RANGE_LOCAL || is_near(publisher, looker);
  }

  void published(std::size_t i, Rank rank, const Ended& end) {
    const auto& operation = schedule_.operations[i];
    const bool is_late = end.status == PMIX_ERR_TIMEOUT && operation.timeout != 0;
    if (end.status != PMIX_SUCCESS && end.status != PMIX_ERR_DUPLICATE_KEY && !is_late)
      violates(fmt::format("publish {} has ended with {} at rank {}", i, end.status, rank));
    if (end.status == PMIX_ERR_DUPLICATE_KEY) return;
    Name name{i, rank, record_.called[i][rank], record_.ended_at[i][rank], end_of(rank), Time::max()};
    const bool is_of_process = operation.persistence == PMIX_PERSIST_PROC;
    if (is_of_process && schedule_.finalizes) name.sure_until = std::min(name.sure_until, finalize_of(rank));
    name.is_kept_at_end =
        !is_late && !(is_of_process && (schedule_.finalizes || end_of(rank) != Time::max()));
    if (is_late) name.sure_until = name.called;
    // A name of its program goes with its job, that of a range with those that may see it, and that of a
    // process with it: a job may have to end.
    const bool is_of_job =
        is_of_process || operation.persistence == PMIX_PERSIST_APP || operation.range == PMIX_RANGE_NAMESPACE;
    if (const auto over = record_.end_of_job[places_.job_of(rank)]; over && is_of_job) {
      name.sure_until = std::min<Time>(name.sure_until, *over);
      name.is_kept_at_end = false;
    }
    if (operation.persistence == PMIX_PERSIST_FIRST_READ) unsure_with_lookups(name);
    names_.push_back(name);
  }

  void unsure_with_lookups(Name& name) const {
    const auto& publish = operation_of(name);
    for (std::size_t i = 0; i < schedule_.operations.size(); ++i) {
      const auto& operation = schedule_.operations[i];
      if (operation.kind != Kind::look_up || operation.name != publish.name) continue;
      for (const auto rank : operation.members) {
        // One that has ended before it heard may have called, and may have taken it with it.
        const bool is_over = record_.ended[i][rank] && record_.ended_at[i][rank] < name.called;
        if (!is_over && may_read(publish, name.rank, rank))
          name.sure_until = std::min(name.sure_until, record_.called[i][rank]);
      }
    }
  }

  void taken_back(std::size_t i, Rank rank, const Ended& end) {
    const auto& operation = schedule_.operations[i];
    if (end.status != PMIX_SUCCESS && end.status != PMIX_ERR_NOT_FOUND)
      violates(fmt::format("unpublish {} has ended with {} at rank {}", i, end.status, rank));
    const auto called = record_.called[i][rank];
    for (auto& name : names_) {
      const auto& publish = operation_of(name);
      const bool is_it = name.rank == rank && publish.name == operation.name &&
                         publish.range == operation.range && name.operation < i;
      if (!is_it) continue;
      if (end.status == PMIX_ERR_NOT_FOUND && name.sure_until > record_.ended_at[i][rank])
        violates(fmt::format("unpublish {} of rank {} has not found what operation {} has published", i, rank,
                             name.operation));
      name.sure_until = std::min(name.sure_until, called);
      if (end.status != PMIX_SUCCESS) continue;
      name.possible_until = std::min(name.possible_until, record_.ended_at[i][rank]);
      name.is_kept_at_end = false;
    }
  }

  void looked_up(std::size_t i, Rank rank, const Ended& end) {
    const auto& operation = schedule_.operations[i];
    const auto called = record_.called[i][rank], ended = record_.ended_at[i][rank];
    if (end.status == PMIX_SUCCESS) return found(i, rank, end.found);
    if (end.status != (operation.waits ? PMIX_ERR_TIMEOUT : PMIX_ERR_NOT_FOUND))
      violates(fmt::format("lookup {} has ended with {} at rank {}", i, end.status, rank));
    for (const auto& name : names_) {
      const auto& publish = operation_of(name);
      if (publish.name != operation.name || !may_read(publish, name.rank, rank)) continue;
      const auto from = std::max(called, name.ended) + long_enough;
      // Several things happen in one moment; what a process does itself has an order.
      const bool is_before = name.rank == rank ? name.operation < i : name.ended < called;
      const bool was_there = is_before && name.sure_until > ended;
      const bool was_there_for_long = operation.waits && name.sure_until > ended && from <= ended;
      if (was_there || was_there_for_long)
        violates(fmt::format("lookup {} of rank {} has not found what operation {} of rank {} has published",
                             i, rank, name.operation, name.rank));
    }
  }

  void found(std::size_t i, Rank rank, std::uint64_t value) {
    const auto& operation = schedule_.operations[i];
    const auto by = static_cast<Rank>(value & UINT32_MAX);
    const auto number = (value >> 32) - 1;
    const bool is_publish = number < schedule_.operations.size() &&
                            schedule_.operations[number].kind == Kind::publish &&
                            schedule_.operations[number].name == operation.name &&
                            by < record_.is_left.size() && may_read(schedule_.operations[number], by, rank);
    if (!is_publish || record_.called[number][by] > record_.ended_at[i][rank])
      return violates(fmt::format("lookup {} of rank {} has found {:x}", i, rank, value));
    for (auto& name : names_) {
      if (name.operation != number || name.rank != by) continue;
      ++name.readers;
      if (operation_of(name).persistence == PMIX_PERSIST_FIRST_READ) name.is_kept_at_end = false;
      if (name.possible_until < record_.called[i][rank])
        violates(
            fmt::format("lookup {} of rank {} has found what operation {} has published and rank {} has "
                        "taken back",
                        i, rank, number, by));
    }
  }

  /// Both are sure to have been there at one time.
  void are_apart(const Name& one, const Name& other) {
    const auto &a = operation_of(one), &b = operation_of(other);
    const bool is_one_space = a.name == b.name && a.range == b.range &&
                              (a.range != PMIX_RANGE_LOCAL || is_near(one.rank, other.rank)) &&
                              (a.range != PMIX_RANGE_NAMESPACE || is_of_one_job(one.rank, other.rank));
    const bool are_both = one.sure_until > std::max(one.ended, other.ended) &&
                          other.sure_until > std::max(one.ended, other.ended);
    if (is_one_space && are_both)
      violates(fmt::format("operation {} of rank {} and operation {} of rank {} have both published name {}",
                           one.operation, one.rank, other.operation, other.rank, a.name));
  }

  /// A successor learns of the names of a lost node when it is asked for one of them.
  bool loses_nodes() const {
    return std::any_of(schedule_.faults.begin(), schedule_.faults.end(),
                       [](const Fault& fault) { return fault.kind != Fault::Kind::process_ends; });
  }

  /// Publishes of processes that have ended before they heard of it are none of these.
  void count() {
    std::size_t most = 0, least = 0;
    for (const auto& name : names_) {
      most += name.is_kept_at_end ? 1 : 0;
      least += name.is_kept_at_end && name.sure_until == Time::max() ? 1 : 0;
    }
    for (std::size_t i = 0; i < schedule_.operations.size(); ++i)
      for (const auto rank : schedule_.operations[i].members)
        if (schedule_.operations[i].kind == Kind::publish && !record_.ended[i][rank] &&
            schedule_.operations[i].persistence != PMIX_PERSIST_PROC)
          ++most;
    if (names_at_end_ > most || (names_at_end_ < least && !loses_nodes()))
      violates(
          fmt::format("at the end the servers keep {} names, and not {} to {}", names_at_end_, least, most));
  }

  const Schedule& schedule_;
  const simulation::Places places_;
  const std::size_t names_at_end_;
  Record& record_;
  std::vector<Name> names_;
};

}  // namespace

void check_names(const Schedule& schedule, std::size_t names, Record& record) {
  NameCheck(schedule, names, record).all();
}

}  // namespace weft::schedules
