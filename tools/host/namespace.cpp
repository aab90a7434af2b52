// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/namespace.hpp"

#include <fmt/format.h>
#include <pmix_server.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <new>

#include "tools/host/calls.hpp"
#include "tools/host/server.hpp"
#include "tools/messages/stop.hpp"

namespace weft::host {
namespace {

using job::Rank;
namespace exit_status = messages::exit_status;

using Generator = pmix_status_t (*)(const char*, char**);

std::string map_text(Generator generate, const std::string& input, const char* step) {
  char* text = nullptr;
  require(generate(input.c_str(), &text), step);
  std::string result(text == nullptr ? "" : text);
  std::free(text);
  return result;
}

/// Strings of malloc, as the library changes them.
struct Environment {
  char** entries;
  explicit Environment(const std::vector<std::string>& variables)
      : entries(static_cast<char**>(std::calloc(variables.size() + 1, sizeof(char*)))) {
    if (entries == nullptr) throw std::bad_alloc();
    for (std::size_t i = 0; i < variables.size(); ++i) entries[i] = ::strdup(variables[i].c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (char** at = entries; at != nullptr && *at != nullptr; ++at) std::free(*at);
    std::free(static_cast<void*>(entries));
  }
};

}  // namespace

void add_node_keys(const JobMap& map, const std::vector<job::NodeKey>& keys) {
  auto infos = node_keys_info(map, keys);
  if (infos.size() == 0) return;
  const auto job = proc_of(map.nspace, Rank{0});
  require(PMIx_server_register_nspace(job.nspace, static_cast<int>(map.local_ranks().size()), infos.data(),
                                      infos.size(), nullptr, nullptr),
          "PMIx_server_register_nspace");
}

Namespace::Namespace(Server& server, const JobMap& map, std::vector<Rank> local, Events events)
    : server_(&server),
      name_(map.nspace),
      is_recoverable_(map.is_recoverable),
      stops_(std::any_of(map.apps.begin(), map.apps.end(),
                         [](const job::App& app) { return app.stops.is_any(); })),
      size_(map.size),
      local_(std::move(local)),
      marks_(std::make_unique<Marks[]>(size_)),
      events_(std::move(events)) {
  server.add(*this);
  try {
    register_map(map);
    define_process_sets(map);
    register_ranks();
  } catch (...) {
    leave();
    throw;
  }
}

Namespace::~Namespace() {
  if (server_ != nullptr) leave();  // the server's end has ended this, too
}

void Namespace::leave() noexcept {
  Outstanding outstanding;
  outstanding.begin();
  PMIx_server_deregister_nspace(name_.c_str(), &Outstanding::completed, &outstanding);
  static_cast<void>(outstanding.wait());
  server_->remove(*this);
}

void Namespace::register_map(const JobMap& map) {
  const auto node_map = map_text(&PMIx_generate_regex, node_list(map), "PMIx_generate_regex");
  const auto proc_map = map_text(&PMIx_generate_ppn, rank_list(map), "PMIx_generate_ppn");
  auto infos = job_info(map, node_map, proc_map);
  const auto name = name_of_rank(Rank{0});
  require(PMIx_server_register_nspace(name.nspace, static_cast<int>(local_.size()), infos.data(),
                                      infos.size(), nullptr, nullptr),
          "PMIx_server_register_nspace");
}

/// Programs that share a name are one set.
void Namespace::define_process_sets(const JobMap& map) {
  std::map<std::string, std::vector<pmix_proc_t>> sets;
  for (std::size_t a = 0; a < map.apps.size(); ++a) {
    const auto& app = map.apps[a];
    if (app.process_set.empty()) continue;
    const auto first = number(map.first_rank_of(a));
    for (std::uint32_t i = 0; i < app.ranks; ++i)
      sets[app.process_set].push_back(name_of_rank(Rank{first + i}));
  }
  for (const auto& [name, members] : sets)
    require(PMIx_server_define_process_set(members.data(), members.size(), name.c_str()),
            "PMIx_server_define_process_set");
}

void Namespace::register_ranks() {
  Outstanding outstanding;
  const auto user = ::geteuid();
  const auto group = ::getegid();
  for (const Rank rank : local_) {
    const auto name = name_of_rank(rank);
    outstanding.begin();
    outstanding.began(
        PMIx_server_register_client(&name, user, group, nullptr, &Outstanding::completed, &outstanding));
  }
  require(outstanding.wait(), "PMIx_server_register_client");
}

std::vector<std::string> Namespace::environment_of(Rank rank,
                                                   const std::vector<std::string>& inherited) const {
  const auto name = name_of_rank(rank);
  Environment environment(inherited);
  require(PMIx_server_setup_fork(&name, &environment.entries), "PMIx_server_setup_fork");
  std::vector<std::string> variables;
  variables.reserve(inherited.size() + 8);
  for (char** at = environment.entries; at != nullptr && *at != nullptr; ++at) variables.emplace_back(*at);
  return variables;
}

void Namespace::tell_pid(Rank rank, int pid) const {
  const auto name = name_of_rank(rank);
  pmix_value_t value{};
  value.type = PMIX_PID;
  value.data.pid = pid;
  PMIx_Store_internal(&name, PMIX_PROC_PID, &value);
}

// ---- what the library's thread tells

void Namespace::take_abort(Rank from, int status, const char* message, std::vector<Rank> named) {
  marks_[index(from)].fetch_or(abort_mark, std::memory_order_acq_rel);
  events_.abort({from, status, message == nullptr ? "" : message, std::move(named)});
}

void Namespace::take_loss(Rank rank) noexcept {
  std::uint32_t none = PMIX_RANK_UNDEF;
  first_lost_.compare_exchange_strong(none, number(rank), std::memory_order_acq_rel);
}

void Namespace::take_held(Rank rank, std::string breakpoint) {
  if (serves(rank) && events_.held) events_.held(rank, std::move(breakpoint));
}

void Namespace::take_release(const std::vector<job::ControlRequest::Target>& targets) {
  if (!events_.released) return;
  if (targets.empty()) return events_.released({});
  for (const auto& target : targets)
    if (target.nspace == name_) events_.released(target.ranks);
}

void Namespace::advance(Rank rank, Mark mark) {
  auto& marks = marks_[index(rank)];
  // Either this sees that the process has ended, or mark_ended() comes later and its caller sees this mark.
  const auto before = marks.fetch_or(mark, std::memory_order_acq_rel);
  if (mark != connected_mark || (before & ended_mark) == 0) return;
  events_.connected_late(rank);
  marks.fetch_or(known_mark, std::memory_order_acq_rel);
}

// ---- ends of processes

void Namespace::mark_ended(Rank rank) noexcept {
  auto& marks = marks_[index(rank)];
  const auto before = marks.fetch_or(ended_mark, std::memory_order_acq_rel);
  if ((before & (connected_mark | finalized_mark)) != 0)
    marks.fetch_or(known_mark, std::memory_order_relaxed);
}

void Namespace::announce_end(Rank rank, int wait_status) const {
  const auto marks = marks_[index(rank)].load(std::memory_order_acquire);
  const bool was_killed = WIFSIGNALED(wait_status);
  const bool left_unsynced = (marks & connected_mark) != 0 && (marks & finalized_mark) == 0;
  const int exit_code =
      was_killed ? exit_status::signal_base + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  const auto how = (marks & abort_mark) != 0 ? PMIX_ERR_PROC_REQUESTED_ABORT
                   : was_killed              ? PMIX_ERR_PROC_ABORTED_BY_SIG
                   : exit_code != 0          ? PMIX_ERR_EXIT_NONZERO_TERM
                   : left_unsynced           ? PMIX_ERR_PROC_TERM_WO_SYNC
                                             : PMIX_SUCCESS;
  const auto name = name_of_rank(rank);
  const auto raise = [&](pmix_status_t code, bool is_for_default_handlers) {
    InfoList infos;
    infos.add_proc(PMIX_EVENT_AFFECTED_PROC, name);
    infos.add_int(PMIX_EXIT_CODE, exit_code);
    infos.add_status(PMIX_PROC_TERM_STATUS, how);
    if (!is_for_default_handlers) infos.add_bool(PMIX_EVENT_NON_DEFAULT, true);
    // On its node only where a large job ends everywhere at once.
    const bool is_end_of_job = how == PMIX_SUCCESS || !is_recoverable_;
    const auto range = is_end_of_job ? PMIX_RANGE_LOCAL : PMIX_RANGE_SESSION;
    raise_event(code, &name, range, infos);
  };
  raise(PMIX_EVENT_PROC_TERMINATED, false);
  // The library has told of a connection that was lost (PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_TERM_WO_SYNC),
  // default handlers too.
  if (how != PMIX_SUCCESS && how != PMIX_ERR_PROC_TERM_WO_SYNC) raise(how, is_recoverable_ && !left_unsynced);
}

void Namespace::deregister(Rank rank) noexcept {
  const auto name = name_of_rank(rank);
  PMIx_server_deregister_client(
      &name, [](pmix_status_t, void*) {}, nullptr);
}

bool Namespace::await_late_connections(std::function<void()> done) {
  // `open` counts this function too; the last that is ready calls done and frees this.
  struct Wait {
    std::function<void()> done;
    std::atomic<std::uint32_t> open{1};
    static void ready(pmix_status_t, void* self) {
      auto* wait = static_cast<Wait*>(self);
      if (wait->open.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      wait->done();
      delete wait;
    }
  };
  auto* wait = new Wait{std::move(done)};
  std::uint32_t awaited = 0;
  for (const Rank rank : local_) {
    // The library's thread may be about to call connected_late: then it has the next step behind that call.
    const auto marks = marks_[index(rank)].load(std::memory_order_acquire);
    if ((marks & (ended_mark | known_mark)) != ended_mark) continue;
    ++awaited;
    wait->open.fetch_add(1, std::memory_order_relaxed);
    const auto name = name_of_rank(rank);
    // The library's thread calls back when it has handled all that this process sent.
    PMIx_server_deregister_client(&name, &Wait::ready, wait);
  }
  if (awaited != 0) {
    Wait::ready(PMIX_SUCCESS, wait);
  } else {
    delete wait;
  }
  return awaited != 0;
}

bool Namespace::has_connected(Rank rank) const noexcept {
  return (marks_[index(rank)].load(std::memory_order_acquire) & (connected_mark | finalized_mark)) != 0;
}

bool Namespace::has_finalized(Rank rank) const noexcept {
  return (marks_[index(rank)].load(std::memory_order_acquire) & finalized_mark) != 0;
}

std::optional<Rank> Namespace::first_lost() const noexcept {
  const auto rank = first_lost_.load(std::memory_order_acquire);
  return rank == PMIX_RANK_UNDEF ? std::nullopt : std::optional(Rank{rank});
}

std::uint32_t Namespace::count_connected() const noexcept {
  std::uint32_t count = 0;
  for (const Rank rank : local_) count += has_connected(rank) ? 1 : 0;
  return count;
}

pmix_proc_t Namespace::name_of_rank(Rank rank) const noexcept {
  return proc_of(name_, rank);
}

}  // namespace weft::host
