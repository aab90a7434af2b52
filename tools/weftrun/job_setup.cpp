// SPDX-License-Identifier: BSD-3-Clause
// Job, first part: from the options to running ranks.
#include <fmt/format.h>
#include <limits.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/post.hpp>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "tools/messages/stop.hpp"
#include "tools/weftrun/job.hpp"

namespace weft::weftrun {
namespace {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

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

std::string new_key() {
  std::string key(launch::StartMessage::Key{}.size(), '\0');
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size()))
    throw Stop(exit_status::own_failure, messages::no_key(errno));
  return key;
}

bool is_ignored(int signal) noexcept {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Job::Job(const process::Spawner& spawner, Options options, Plan plan, std::string release)
    : spawner_(spawner),
      options_(std::move(options)),
      plan_(std::move(plan)),
      release_(std::move(release)),
      table_(plan_.distribution),
      ranks_(table_.size()) {}

void Job::plan_launch() {
  launch_.nspace = namespace_for(host_name());
  for (const auto& node : plan_.nodes) {
    launch_.hosts.push_back(node.name);
    launch_.slots += plan_.alone ? 0 : node.slots;
  }
  launch_.distribution = encode(plan_.distribution);
  launch_.session = static_cast<std::uint32_t>(::getpid());
  launch_.apps = options_.apps;
  for (std::size_t a = 0; a < launch_.apps.size(); ++a) launch_.apps[a].ranks = plan_.ranks[a];
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) launch_.environment.emplace_back(*at);
  launch_.directory = current_directory();
  launch_.bind = options_.bind;
  launch_.map = options_.map;
  launch_.one_machine = plan_.one_machine;
  launch_.wants_bindings = wants_bindings();
  launch_.input = options_.input;
  if (launch_.input.kind == job::InputTarget::Kind::one && number(launch_.input.rank) >= table_.size())
    throw Stop(exit_status::usage, messages::no_such_input_rank(launch_.input.rank, table_.size()));
  nodes_to_start_ = nodes_to_settle_ = table_.nodes();
}

void Job::plan_own_node() {
  for (std::uint32_t r = 0; r < table_.size(); ++r) {
    const Rank rank{r};
    if (!plan_.own || table_.node_of(rank) != *plan_.own) output_->make_files(rank);
  }
  if (!plan_.own) return;
  ranks::LocalRanks::Events events;
  events.ended = [this](const ranks::LocalRanks::Ended& ended) {
    input_->disconnect(ended.rank);
    on_rank_end(ended, {});
  };
  events.connected_late = [this](Rank rank) { on_connected_late(rank); };
  events.abort = [this](const host::AbortRequest& request) { on_aborted(request); };
  events.settled = [this] { on_node_settled(*plan_.own); };
  events.other_child = [this](pid_t pid, int status) {
    if (daemons_) daemons_->collected(pid, status);
  };
  // While there is one thread.
  local_ = std::make_unique<ranks::LocalRanks>(loop_, spawner_, launch_.nspace, *plan_.own, !plan_.alone,
                                               std::move(events));
  std::vector<std::string> notes;
  local_->plan(launch_, table_, notes);
  for (const auto& note : notes) say(note);
}

void Job::start_server() {
  host::ServerIdentity identity;
  identity.nspace = launch_.nspace + "-weftrun";
  identity.number = plan_.alone ? 0 : plan_.launcher_number();
  identity.servers = plan_.alone ? 1 : plan_.servers();
  identity.host = plan_.own ? plan_.nodes[*plan_.own].name : host_name();
  if (!plan_.alone) identity.key = new_key();
  server_ = std::make_unique<host::Server>(identity, local_ ? local_->topology() : nullptr);
  if (local_) local_->register_with(*server_);
  DaemonsWatcher& watcher = *this;
  if (!plan_.alone)
    daemons_ = std::make_unique<Daemons>(loop_, spawner_, identity, plan_, table_, release_,
                                         options_.on_failure == OnFailure::go_on, watcher);
}

void Job::make_input() {
  Input::Others others;
  for (std::uint32_t r = 0; r < table_.size(); ++r) {
    const auto node = table_.node_of(Rank{r});
    if (launch_.input.includes(Rank{r}) && node != plan_.own) others.nodes.insert(node);
  }
  others.send = [this](std::uint32_t node, const std::string& bytes, std::function<void()> taken) {
    daemons_->send_input(node, bytes, std::move(taken));
  };
  input_ = std::make_unique<Input>(loop_, launch_.input, table_.size(), std::move(others));
}

void Job::catch_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(signal)) end_signals_.add(signal);  // nohup stays in force
  }
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
    if (!is_ignored(signal)) relayed_signals_.add(signal);
  }
  await_end_signal();
  await_relayed_signal();
  if (!options_.limit) return;
  limit_.expires_after(*options_.limit);
  limit_.async_wait([this](const asio::error_code& error) {
    if (!error) on_time_up();
  });
}

void Job::start_own_ranks() {
  const auto failure = local_->start([this](Rank rank) {
    auto output = output_->connect(rank);
    return ranks::LocalRanks::Streams{input_->connect(rank), std::move(output.out), std::move(output.error)};
  });
  for (const Rank rank : local_->all()) {
    const int pid = local_->pid(rank);
    auto& state = ranks_[index(rank)];
    state.pid = pid;
    state.lives = pid > 0;
  }
  if (wants_bindings() && !failure)
    for (const auto& line : local_->bindings()) say(line);
  local_->watch();
  failure ? raise(Event::start_failed, failure->exit_code, failure->line) : on_node_runs();
}

void Job::report_environment() {
  if (!options_.verbose) return;
  explain(fmt::format("job {}: {} ranks on {} nodes", launch_.nspace, table_.size(), table_.nodes()));
  if (local_)
    for (const auto& line : local_->description(launch_.environment)) explain(line);
}

}  // namespace weft::weftrun
