// SPDX-License-Identifier: BSD-3-Clause
// Job, first part: from the options to running ranks.
#include <fmt/format.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/post.hpp>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "tools/node/program.hpp"
#include "tools/node/stop.hpp"
#include "tools/weftrun/job.hpp"

namespace weft::weftrun {
namespace {

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

/// Open MPI cuts strings at '[', ']' and '*', and the Standard's maps at ';' and ','.
std::string namespace_for(const std::string& host) {
  std::string name = "weft-" + host + "-" + std::to_string(::getpid());
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_'; };
  std::replace_if(
      name.begin(), name.end(), [&](unsigned char c) { return !plain(c); }, '_');
  return name;
}

std::string current_directory() {
  std::error_code error;
  const auto path = std::filesystem::current_path(error);
  return error ? "." : path.string();
}

/// weftrun needs two descriptors a rank, so it takes what the hard limit gives. Returns the soft limit that
/// the ranks get back, 0 when nothing was changed.
unsigned long raise_descriptor_limit() noexcept {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return 0;
  const auto before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? before : 0;
}

std::vector<unsigned long> affinity_mask(const Place& place) {
  constexpr unsigned bits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask;
  if (place.processors.empty()) return mask;
  mask.resize(place.processors.back() / bits + 1);
  for (const unsigned processor : place.processors) mask[processor / bits] |= 1UL << (processor % bits);
  return mask;
}

/// Programs have been looked at before, so this is a missing interpreter, a wrong format, or a limit.
int exit_code_for_start(int error) noexcept {
  const bool is_program =
      error == ENOENT || error == ENOEXEC || error == EACCES || error == E2BIG || error == ELIBBAD;
  return is_program ? exit_status::not_executable : exit_status::own_failure;
}

std::vector<char*> make_argv(const App& app) {
  std::vector<char*> argv;
  for (const auto& word : app.argv) argv.push_back(const_cast<char*>(word.c_str()));  // execve writes to none
  argv.push_back(nullptr);
  return argv;
}

}  // namespace

Job::Job(Options options) : options_(std::move(options)) {}

void Job::plan() {
  const Processors processors = count_processors();
  if (options_.apps.size() == 1 && options_.apps[0].ranks == 0) options_.apps[0].ranks = processors.cores;
  map_.host = host_name();
  map_.nspace = namespace_for(map_.host);
  map_.directory = current_directory();
  map_.apps = options_.apps;
  for (const auto& app : map_.apps) map_.size += app.ranks;
  map_.cores = processors.cores;
  map_.policy = choose_policy(map_.size, processors, options_.bind, options_.map);
  const auto& input = options_.input;
  if (input.kind == InputTarget::Kind::one && number(input.rank) >= map_.size) {
    throw Stop(exit_status::usage, messages::no_such_input_rank(input.rank, map_.size));
  }
  expected_.resize(map_.size);
}

void Job::find_programs() {
  library_path_ = library_directory();
  for (const auto& app : map_.apps) {
    std::vector<std::string> missing;
    app_environments_.push_back(
        app_environment(environ, app, library_path_, map_.policy.oversubscribed, missing));
    programs_.push_back(find_program(app, app_environments_.back()));
    for (const auto& name : missing) say(messages::variable_not_set(name));
  }
}

void Job::start_server() {
  // Milliseconds that only a job with bound ranks has to pay.
  if (map_.policy.bind != BindTo::none) topology_ = load_topology();
  map_.places =
      topology_ ? place_ranks(topology_.get(), map_.size, map_.policy) : std::vector<Place>(map_.size);
  Server::Events events;
  events.abort = [this](AbortRequest request) {
    asio::post(loop_, [this, request = std::move(request)] { on_abort(request); });
  };
  events.connected_late = [this](Rank rank) {
    asio::post(loop_, [this, rank] { on_late_connection(rank); });
  };
  server_ = std::make_unique<Server>(map_, topology_.get(), std::move(events));
}

void Job::start_ranks() {
  const unsigned long descriptor_limit = raise_descriptor_limit();
  for (std::uint32_t r = 0; r < map_.size; ++r) {
    const Rank rank{r};
    try {
      const SpawnResult result = start_rank(rank, descriptor_limit);
      if (result.pid > 0) continue;
      raise(Event::start_failed, exit_code_for_start(result.error),
            messages::start_failed(where(rank), result.step, result.error));
    } catch (const Stop& stop) {  // no descriptors, no environment: the ranks before this one run already
      raise(Event::start_failed, stop.exit_code(), stop.what());
    }
    if (processes_->living() == 0) raise(Event::all_gone);
    return;
  }
  raise(Event::started);
}

SpawnResult Job::start_rank(Rank rank, unsigned long descriptor_limit) {
  const std::size_t app = map_.app_of(rank);
  Variables own = server_->environment_of(rank);
  const Variables identity = rank_environment(rank, map_.size);
  own.insert(own.end(), identity.begin(), identity.end());
  const auto envp = make_envp(app_environments_[app], own);
  const auto argv = make_argv(map_.apps[app]);
  const auto affinity = affinity_mask(map_.places[index(rank)]);
  const Fd input = input_->connect(rank);
  const Output::Ends output = output_->connect(rank);

  SpawnRequest request;
  request.path = programs_[app].c_str();
  request.argv = argv.data();
  request.envp = envp.data();
  request.directory = map_.apps[app].directory.empty() ? nullptr : map_.apps[app].directory.c_str();
  request.streams[0] = input.get();
  request.streams[1] = output.out.get();
  request.streams[2] = output.error.get();
  request.affinity = affinity.empty() ? nullptr : affinity.data();
  request.affinity_bytes = affinity.size() * sizeof(unsigned long);
  request.descriptor_limit = descriptor_limit;
  return processes_->start(rank, request);
}

}  // namespace weft::weftrun
