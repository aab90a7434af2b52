// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/local_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>
#include <utility>

#include "tools/messages/stop.hpp"
#include "tools/node/folders/remove_tree.hpp"
#include "tools/node/folders/shared_files.hpp"
#include "tools/node/places/server_start.hpp"
#include "tools/node/places/server_trace.hpp"
#include "tools/node/program/program.hpp"
#include "tools/placement/mapping.hpp"
#include "tools/placement/processor_lists.hpp"
#include "tools/placement/processors.hpp"

namespace weft::node {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

std::vector<unsigned long> affinity_mask(const std::vector<unsigned>& processors) {
  constexpr unsigned bits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask;
  if (processors.empty()) return mask;
  mask.resize(processors.back() / bits + 1);
  for (const unsigned processor : processors) mask[processor / bits] |= 1UL << (processor % bits);
  return mask;
}

/// The program has been found before, so this is a missing interpreter, a wrong format, or a limit.
int exit_code_for_start(int error) noexcept {
  const bool is_program =
      error == ENOENT || error == ENOEXEC || error == EACCES || error == E2BIG || error == ELIBBAD;
  return is_program ? exit_status::not_executable : exit_status::own_failure;
}

using Clock = std::chrono::steady_clock;

std::uint64_t microseconds(Clock::duration time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

std::uint64_t now_in_nanoseconds() {
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

/// Adds how long it has lived.
class Stopwatch {
 public:
  explicit Stopwatch(job::NodeStart::Microseconds& to) : to_(to) {}
  ~Stopwatch() { to_ = to_.value_or(0) + microseconds(Clock::now() - begun_); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  job::NodeStart::Microseconds& to_;
  const Clock::time_point begun_ = Clock::now();
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const auto& word : words) list.push_back(const_cast<char*>(word.c_str()));  // execve writes to none
  list.push_back(nullptr);
  return list;
}

host::JobMap map_of(const channel::order::Launch& launch, const placement::RankTable& table,
                    std::uint32_t node) {
  host::JobMap map;
  map.nspace = launch.nspace;
  map.host = launch.late_host.empty() ? launch.hosts[node] : launch.late_host;
  map.directory = launch.directory;
  map.size = table.size();
  map.apps = launch.apps;
  map.node_names = launch.hosts;
  for (std::uint32_t n = 0; n < table.nodes(); ++n) {
    auto& ranks = map.ranks_of_node.emplace_back();
    for (const Rank rank : table.ranks_on(n)) ranks.push_back(number(rank));
  }
  map.node = node;
  map.slots = launch.slots;
  map.node_keys = launch.node_keys;
  map.session = launch.session;
  map.universe = launch.universe;
  map.accounts = launch.accounts;
  map.traces = launch.traces;
  map.is_recoverable = launch.is_recoverable;
  map.parent = launch.parent;
  map.attacher = launch.attacher;
  map.target = launch.target;
  return map;
}

}  // namespace

LocalRanks::LocalRanks(asio::io_context& loop, Home home, Events events)
    : loop_(loop), home_(std::move(home)), events_(std::move(events)) {}

LocalRanks::~LocalRanks() {
  namespace_.reset();
  if (!shared_files_.empty()) remove_tree(shared_files_);
  if (!session_folder_.empty()) remove_tree(session_folder_);
}

void LocalRanks::plan(const channel::order::Launch& launch, const placement::RankTable& table,
                      std::vector<std::string>& notes) {
  ordered_ = now_in_nanoseconds();
  const Stopwatch watch(start_times_.map);
  map_ = map_of(launch, table, home_.node);
  const auto ranks = table.ranks_on(home_.node);
  ranks_.assign(ranks.begin(), ranks.end());
  if (ranks_.empty()) return;  // the node is a witness: its processes know the job
  const auto local = static_cast<std::uint32_t>(ranks_.size());
  read_processors(launch.processors);
  const placement::Processors processors = placement::count_processors(processors_);
  map_.cores = processors.cores;
  // Virtual nodes share the processors of a machine: the nodes before this one have the first of them.
  std::uint32_t before = 0;
  for (std::uint32_t node = 0; launch.one_machine && node < home_.node; ++node)
    before += static_cast<std::uint32_t>(table.ranks_on(node).size());
  const placement::Share share{launch.one_machine ? table.size() : local,
                               launch.all_slots != 0              ? launch.all_slots
                               : home_.node < launch.slots.size() ? launch.slots[home_.node]
                                                                  : 1};
  map_.policy = placement::choose_policy(share, processors, launch.mapping);
  const bool is_listed = !launch.core_lists.empty();
  if (is_listed) map_.policy.bind = job::BindTo::core, map_.policy.reason = placement::Reason::listed;
  binding_reason_ = placement::words_for(map_.policy, share, processors.cores);
  placement::Topology topology;
  if (map_.policy.bind != job::BindTo::none)
    topology = load_topology();
  else
    placement::leave_out_plugins();  // the PMIx server loads a topology when a rank has come to it
  map_.bindings = is_listed ? listed_bindings(topology.get(), launch.core_lists)
                            : placement::bind_ranks(topology.get(), local, map_.policy, before, map_.host);
  if (launch.sets_openmp) openmp_threads_ = launch.mapping.cores_each;
  merges_errors_ = launch.merges_errors;
  for (const Rank rank : ranks_)
    for (const auto point : job::all_stop_points)
      if (stops_at(point, rank)) held_.expect(point, rank);
  if (launch.one_machine) shared_files_ = home_.folders.make_shared_files(map_.nspace);
  name_session_folder(notes);
  inherited_ = without_other_jobs(launch.environment);
}

/// list: --cpu-list as the launch message has it.
void LocalRanks::read_processors(const std::string& list) {
  if (list.empty()) return;
  std::string complaint;
  const auto processors = placement::read_processor_list(list, complaint);
  if (!processors) throw Stop(exit_status::own_failure, messages::damaged_order());
  placement::check_allowed(*processors, map_.host);
  processors_ = *processors;
}

placement::Topology LocalRanks::load_topology() const {
  auto topology = placement::load_topology();
  if (!processors_.empty()) placement::keep_only(topology.get(), processors_, map_.host);
  return topology;
}

std::vector<placement::Binding> LocalRanks::listed_bindings(
    hwloc_topology_t topology, const std::vector<std::string>& core_lists) const {
  if (core_lists.size() != map_.size) throw Stop(exit_status::own_failure, messages::damaged_order());
  std::vector<placement::Binding> bindings;
  for (const Rank rank : ranks_)
    bindings.push_back(placement::bind_as_listed(topology, core_lists[index(rank)], rank, map_.host));
  return bindings;
}

/// A job does without: few programs look for such folders, and those that do have to get on where there are
/// none.
void LocalRanks::name_session_folder(std::vector<std::string>& notes) {
  const auto& path = home_.folders.session();
  if (const int error = home_.folders.can_make_session(); error != 0)
    return notes.push_back(messages::no_session_folder(map_.host, path, error));
  map_.session_folder = path;
  session_folder_ = path + "/" + map_.nspace;
}

/// Also of an app without a rank here: its file is to be found on every node.
void LocalRanks::plan_app(std::size_t number, const std::string& library_path, job::Pmi pmi) {
  const auto& app = map_.apps[number];
  auto environment = namespace_->environment_of(map_.first_rank_of(number), inherited_);
  auto additions = additions_to(environment, library_path, map_.policy.oversubscribed);
  if (openmp_threads_ != 0)
    for (const auto& variable : openmp_variables(environment, openmp_threads_, map_.policy.bind))
      set_variable(additions, variable);
  set_variable(additions, home_.mark);
  if (!app.directory.empty())
    set_variable(additions, working_directory_variable(app.directory, map_.directory));
  if (!shared_files_.empty())
    for (auto& addition : shared_files_variables(shared_files_, environment))
      additions.push_back(std::move(addition));
  for (const auto& addition : additions) set_variable(environment, addition);
  auto path = find_program(app, environment, map_.parent.has_value());
  interfaces_.push_back(interface_of(path, app.directory, environment, pmi));
  may_lose_library_ = may_lose_library_ || may_lose_library(app, path, interfaces_.back(), environment);
  commands_.push_back(command_for(app, std::move(path), interfaces_.back()));
  additions_.push_back(std::move(additions));
}

void LocalRanks::register_with(host::Server& server, job::Pmi pmi) {
  const Stopwatch watch(start_times_.map);
  host::Namespace::Events events;
  // On threads of the library; the job may be gone when the loop comes to it.
  events.abort = [this, weak = std::weak_ptr(is_here_)](job::AbortRequest request) {
    asio::post(loop_, [this, weak, request = std::move(request)] {
      if (weak.lock()) events_.abort(request);
    });
  };
  events.connected_late = [this, weak = std::weak_ptr(is_here_)](Rank rank) {
    asio::post(loop_, [this, weak, rank] {
      if (weak.lock()) events_.connected_late(rank);
    });
  };
  events.held = [this, weak = std::weak_ptr(is_here_)](Rank rank, const std::string& breakpoint) {
    asio::post(loop_, [this, weak, rank, breakpoint] {
      if (weak.lock()) take_held(rank, breakpoint);
    });
  };
  events.released = [this, weak = std::weak_ptr(is_here_)](std::vector<Rank> ranks) {
    asio::post(loop_, [this, weak, ranks = std::move(ranks)] {
      if (weak.lock()) release(ranks);
    });
  };
  namespace_ = std::make_unique<host::Namespace>(server, map_, ranks_, std::move(events));
  if (ranks_.empty()) return;
  const auto library_path = library_directory();
  for (std::size_t app = 0; app < map_.apps.size(); ++app) plan_app(app, library_path, pmi);
}

std::optional<LocalRanks::Failure> LocalRanks::start(const std::function<Streams(Rank)>& connect) {
  const Stopwatch watch(start_times_.spawn);
  start_times_.ranks = static_cast<std::uint32_t>(ranks_.size());
  const auto failure = start_all(connect);
  started_ = now_in_nanoseconds();
  if (!failure) all_started_ = started_;
  return failure;
}

std::optional<LocalRanks::Failure> LocalRanks::start_all(const std::function<Streams(Rank)>& connect) {
  const unsigned long descriptor_limit = home_.limit.raise();
  // After all programs have been looked at, which opens their libraries.
  if (may_lose_library_)
    libraries_.emplace(libraries::other_pmix_files(library_file(), value_of(inherited_, "LD_LIBRARY_PATH"),
                                                   value_of(inherited_, "PATH")));
  processes_ = std::make_unique<Processes>(home_.spawner, map_.size);
  for (std::size_t index_here = 0; index_here < ranks_.size(); ++index_here) {
    try {
      const process::SpawnResult result = start_rank(index_here, connect, descriptor_limit);
      if (result.pid > 0) {
        namespace_->tell_pid(ranks_[index_here], result.pid);
        note_stopped(ranks_[index_here]);
        continue;
      }
      const auto app = map_.app_of(ranks_[index_here]);
      const auto interpreter =
          unusable_interpreter(commands_[app].path, map_.apps[app].directory, result.error);
      return Failure{
          exit_code_for_start(result.error),
          messages::start_failed(where(ranks_[index_here]), result.step, result.error, interpreter)};
    } catch (const Stop& stop) {  // no descriptors or no environment; the ranks before this one run already
      return Failure{stop.exit_code(), stop.what()};
    }
  }
  return std::nullopt;
}

RankIdentity LocalRanks::identity_of(std::size_t index_here) const {
  return {ranks_[index_here], map_.size, static_cast<std::uint32_t>(index_here),
          static_cast<std::uint32_t>(ranks_.size())};
}

/// The variables that the rank gets beyond those that the server makes of inherited_.
Variables LocalRanks::own_variables(std::size_t index_here) const {
  Variables own = additions_[map_.app_of(ranks_[index_here])];
  for (auto& variable : rank_environment(identity_of(index_here))) own.push_back(std::move(variable));
  return own;
}

process::SpawnResult LocalRanks::start_rank(std::size_t index_here,
                                            const std::function<Streams(Rank)>& connect,
                                            unsigned long descriptor_limit) {
  const Rank rank = ranks_[index_here];
  const std::size_t app = map_.app_of(rank);
  const Variables environment = namespace_->environment_of(rank, inherited_);
  const Variables own = own_variables(index_here);
  const auto envp = make_envp(environment, own);
  const auto argv = pointers(commands_[app].argv);
  const auto& bound = map_.bindings[index_here].processors;
  const auto affinity = affinity_mask(bound.empty() ? processors_ : bound);
  const Streams streams = connect(rank);

  process::SpawnRequest request;
  request.path = commands_[app].path.c_str();
  request.argv = argv.data();
  request.envp = envp.data();
  request.directory = map_.apps[app].directory.empty() ? nullptr : map_.apps[app].directory.c_str();
  request.streams[0] = streams.input.get();
  request.streams[1] = streams.output.get();
  request.streams[2] = merges_errors_ ? streams.output.get() : streams.error.get();
  request.affinity = affinity.empty() ? nullptr : affinity.data();
  request.affinity_bytes = affinity.size() * sizeof(unsigned long);
  request.descriptor_limit = descriptor_limit;
  request.stops = stops_at(job::StopPoint::exec, rank);
  return processes_->start(rank, request);
}

// ---- ranks that stop for a debugger

/// The event comes after what start() returns.
void LocalRanks::note_stopped(Rank rank) {
  if (!stops_at(job::StopPoint::exec, rank)) return;
  stopped_.insert(rank);
  auto held = held_.held(job::StopPoint::exec, rank, std::string(breakpoint_of(job::StopPoint::exec)));
  if (!held) return;
  asio::post(loop_, [this, weak = std::weak_ptr(is_here_), held = std::move(*held)] {
    if (weak.lock()) events_.held(held);
  });
}

/// What a rank says that is not awaited in PMIx_Init, it says of a point of its own. At once: the end of the
/// job may be the next that the loop has to do.
void LocalRanks::take_held(Rank rank, const std::string& breakpoint) {
  using job::StopPoint;
  const bool is_in_init =
      breakpoint == breakpoint_of(StopPoint::init) && held_.expects(StopPoint::init, rank);
  const auto held = held_.held(is_in_init ? StopPoint::init : StopPoint::app, rank, breakpoint);
  if (held) events_.held(*held);
}

/// Of those that stop elsewhere the library lets go by itself. Ranks that are not stopped are let alone.
void LocalRanks::release(std::vector<Rank> ranks) {
  if (ranks.empty()) ranks = ranks_;
  std::erase_if(ranks, [this](Rank rank) { return stopped_.erase(rank) == 0; });
  if (!ranks.empty()) processes_->send(SIGCONT, ranks);
}

messages::Where LocalRanks::where(Rank rank) const {
  return {rank, map_.host, processes_->pid(rank), map_.apps[map_.app_of(rank)].argv[0], {}};
}

// ---- their ends

std::optional<Rank> LocalRanks::take_end(pid_t pid) {
  return processes_ ? processes_->take_end(pid) : std::nullopt;
}

void LocalRanks::tell_end(const Processes::Ended& end) {
  const auto [rank, wait_status] = end;
  stopped_.erase(rank);
  for (const auto& held : held_.ended(rank)) events_.held(held);
  // A process that failed has its own reason: that it had connected, as may turn out later, is none.
  if (wait_status == 0) namespace_->mark_ended(rank);
  if (!namespace_->has_connected(rank)) namespace_->deregister(rank);
  events_.ended({rank, wait_status, namespace_->has_connected(rank), namespace_->has_finalized(rank),
                 namespace_->first_lost()});
  namespace_->announce_end(rank, wait_status);
}

void LocalRanks::settle_if_over() {
  if (processes_->running() != 0 || is_settling_) return;
  is_settling_ = true;
  // A rank may have ended right after PMIx_Init, before the library has reported its connection.
  const auto settled = [this, weak = std::weak_ptr(is_here_)] {
    asio::post(loop_, [this, weak] {
      if (weak.lock()) tell_settled();
    });
  };
  if (!namespace_->await_late_connections(settled)) settled();
}

void LocalRanks::tell_settled() {
  ask_for_account([this] { ask_for_trace([this] { events_.settled(); }); });
}

// The server's answers come on a thread of the library, perhaps when this object is gone.

void LocalRanks::ask_for_account(std::function<void()> then) {
  if (!map_.accounts) return then();
  ask_server_start(map_.nspace, [this, &loop = loop_, weak = std::weak_ptr(is_here_),
                                 then = std::move(then)](const ServerStart& said) {
    asio::post(loop, [this, weak, then, said] {
      if (!weak.lock()) return;
      add_to(start_times_, said, all_started_);
      then();
    });
  });
}

void LocalRanks::ask_for_trace(std::function<void()> then) {
  if (!map_.traces) return then();
  ask_server_trace(map_.nspace, [this, &loop = loop_, weak = std::weak_ptr(is_here_),
                                 then = std::move(then)](base::ServerTrace said) {
    asio::post(loop, [this, weak, then, said = std::move(said)]() mutable {
      if (!weak.lock()) return;
      trace_ = job::NodeTrace{ordered_, started_, std::move(said)};
      then();
    });
  });
}

std::vector<PlaceSearch::Process> LocalRanks::running_processes() const {
  std::vector<PlaceSearch::Process> out;
  if (processes_)
    for (const Rank rank : processes_->running_ranks()) out.push_back({rank, processes_->pid(rank)});
  return out;
}

void LocalRanks::send(int signal, const std::vector<Rank>& ranks) const {
  if (!processes_) return;
  ranks.empty() ? processes_->send(signal) : processes_->send(signal, ranks);
}

std::uint32_t LocalRanks::count_connected() const noexcept {
  return namespace_ == nullptr ? 0 : namespace_->count_connected();
}

std::vector<std::string> LocalRanks::bindings() const {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    lines.push_back(messages::binding(ranks_[i], map_.host, map_.bindings[i].label,
                                      map_.bindings[i].processors, binding_reason_));
  return lines;
}

std::vector<std::string> LocalRanks::description() const {
  std::vector<std::string> lines = {fmt::format("{} ranks on {} cores of {}, map-by {}, bind-to {}{}",
                                                ranks_.size(), map_.cores, map_.host,
                                                name_of(map_.policy.map), name_of(map_.policy.bind),
                                                map_.policy.oversubscribed ? ", oversubscribed" : "")};
  std::optional<std::size_t> described;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const auto app = map_.app_of(ranks_[i]);
    if (std::exchange(described, app) == app) continue;
    Variables all = namespace_->environment_of(ranks_[i], inherited_);
    for (const auto& variable : own_variables(i)) set_variable(all, variable);
    for (const auto& variable : all) {
      const bool is_old = std::find(inherited_.begin(), inherited_.end(), variable) != inherited_.end();
      // The token is what tells the rank from a process that only says that it is.
      if (is_old || variable.rfind("WEFT_TOKEN=", 0) == 0) continue;
      lines.push_back(
          fmt::format("for rank {} ({}): {}", number(ranks_[i]), map_.apps[app].argv[0], variable));
    }
  }
  return lines;
}

}  // namespace weft::node
