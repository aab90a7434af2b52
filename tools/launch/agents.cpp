// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/agents.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "tools/launch/agent_words.hpp"
#include "tools/process/fd.hpp"

namespace weft::launch {
namespace {

constexpr std::size_t longest_line = 4096;

/// Finds an executable as execvp(3) does; nothing: it is not there or cannot be executed.
std::optional<std::string> find_executable(const std::string& name) {
  const auto is_executable = [](const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return is_executable(name) ? std::optional(name) : std::nullopt;
  const char* variable = std::getenv("PATH");
  const std::string path = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find(':', begin), path.size());
    const std::string directory = path.substr(begin, end - begin);
    const std::string candidate = (directory.empty() ? "." : directory) + "/" + name;
    if (is_executable(candidate)) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

int exit_code_of(std::optional<int> wait_status) noexcept {
  return wait_status && WIFEXITED(*wait_status) ? WEXITSTATUS(*wait_status) : 0;
}

}  // namespace

/// An agent while its process runs.
struct RunningAgent {
  explicit RunningAgent(asio::io_context& loop) : input(loop), output(loop), end(loop) {}
  StartMessage part;                     ///< the start message that it got
  std::vector<std::string> words;        ///< of its command
  base::SecretText unwritten;            ///< what is left to write to its standard input
  asio::posix::stream_descriptor input;  ///< open as long as the daemons are wanted
  asio::posix::stream_descriptor output, end;
  std::array<char, longest_line> chunk;
  std::string unfinished, last_line;
  bool is_in_stack = false;        ///< what it writes is a stack, not words
  pid_t pid = -1;                  ///< -1: has ended
  std::optional<int> wait_status;  ///< if another part of this process has reaped it
};
using AgentPtr = std::shared_ptr<RunningAgent>;

class Agents::Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(asio::io_context& loop, const process::Spawner& spawner, Events events, std::string own_node)
      : loop_(loop),
        spawner_(spawner),
        patience_(loop),
        events_(std::move(events)),
        own_node_(std::move(own_node)) {}

  void start(const StartMessage& message, std::string_view release);
  void expect_end() { is_expected_ = true; }
  void end(std::chrono::milliseconds patience);
  void close();
  bool on_child_exit(pid_t pid, int wait_status);
  std::size_t running() const noexcept { return agents_.size(); }

 private:
  void start_agent(StartMessage part, const std::string& path, std::string_view release);
  void report(Failure failure);
  void write_input(const AgentPtr& agent);
  void read_output(const AgentPtr& agent);
  void split_lines(RunningAgent& agent, std::string_view bytes);
  void finish_line(RunningAgent& agent);
  void await_end(const AgentPtr& agent);
  void on_end(const AgentPtr& agent);
  void read_rest(RunningAgent& agent);
  void send(int signal);
  void end_after(std::chrono::milliseconds patience, int signal);
  void report_all_ended();

  asio::io_context& loop_;
  const process::Spawner& spawner_;
  asio::steady_timer patience_;
  Events events_;
  std::string own_node_;
  std::vector<AgentPtr> agents_;  // whose processes run
  bool is_expected_ = false, is_ending_ = false, is_closed_ = false;
};

void Agents::Pool::start(const StartMessage& message, std::string_view release) {
  const auto words = agent_command(message);
  const auto path = find_executable(words.front());
  if (!path) return report({message.nodes, agent_missing(message, words, own_node_), {}, 0});
  for (auto& part : parts_of(message)) start_agent(std::move(part), *path, release);
}

void Agents::Pool::start_agent(StartMessage part, const std::string& path, std::string_view release) {
  auto agent = std::make_shared<RunningAgent>(loop_);
  agent->words = agent_command(part);
  agent->unwritten = encode(part, release);
  agent->part = std::move(part);
  process::Pipe input = process::make_pipe(true, false), output = process::make_pipe(false, true);
  std::vector<char*> argv;
  for (auto& word : agent->words) argv.push_back(word.data());
  argv.push_back(nullptr);

  process::SpawnRequest request;
  request.path = path.c_str();
  request.argv = argv.data();
  request.envp = environ;
  request.streams[0] = input.read.get();
  request.streams[1] = request.streams[2] = output.write.get();
  const process::SpawnResult started = spawner_.spawn(request);
  if (started.pid < 0)
    return report({agent->part.nodes,
                   agent_not_started(agent->part, agent->words, started.step, started.error),
                   {},
                   0});
  agent->pid = started.pid;
  agent->input.assign(input.write.release());
  agent->output.assign(output.read.release());
  agent->output.non_blocking(true);  // for read_rest()
  const long end = ::syscall(SYS_pidfd_open, started.pid, 0);
  if (end < 0) {
    const int error = errno;
    ::kill(-started.pid, SIGKILL);
    ::waitpid(started.pid, nullptr, 0);
    return report({agent->part.nodes,
                   agent_not_started(agent->part, agent->words, "its end cannot be seen", error),
                   {},
                   0});
  }
  agent->end.assign(static_cast<int>(end));
  agents_.push_back(agent);
  write_input(agent);
  read_output(agent);
  await_end(agent);
}

void Agents::Pool::report(Failure failure) {
  asio::post(loop_, [self = shared_from_this(), failure = std::move(failure)] {
    if (!self->is_closed_ && self->events_.agent_failed) self->events_.agent_failed(failure);
  });
}

void Agents::Pool::write_input(const AgentPtr& agent) {
  // An error means that the agent does not read. The agent's end is reported too, and explains more.
  asio::async_write(
      agent->input, asio::buffer(agent->unwritten),
      [agent](const asio::error_code&, std::size_t) { base::SecretText().swap(agent->unwritten); });
}

void Agents::Pool::read_output(const AgentPtr& agent) {
  agent->output.async_read_some(
      asio::buffer(agent->chunk),
      [self = shared_from_this(), agent](const asio::error_code& error, std::size_t length) {
        if (error || self->is_closed_) return;
        self->split_lines(*agent, std::string_view(agent->chunk.data(), length));
        self->read_output(agent);
      });
}

void Agents::Pool::split_lines(RunningAgent& agent, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const auto room = longest_line - agent.unfinished.size();
    agent.unfinished += bytes.substr(0, std::min({newline, room, bytes.size()}));
    if (newline == std::string_view::npos) return;  // bytes beyond the bound are dropped
    bytes.remove_prefix(newline + 1);
    finish_line(agent);
  }
}

void Agents::Pool::finish_line(RunningAgent& agent) {
  if (!agent.unfinished.empty() && agent.unfinished.back() == '\r') agent.unfinished.pop_back();
  if (agent.unfinished.empty()) return;
  std::string line = std::exchange(agent.unfinished, {});
  if (is_noise(agent.part.agent, line)) return;
  // A library that aborts says why, and then its stack between two such lines.
  if (line.starts_with("===="))
    agent.is_in_stack = !agent.is_in_stack;
  else if (!agent.is_in_stack)
    agent.last_line = line;
  if (events_.line_written) events_.line_written(agent.part.nodes.front(), line);
}

/// A pidfd becomes readable when its process ends, also if another part of this process reaps it.
void Agents::Pool::await_end(const AgentPtr& agent) {
  const auto ended = [self = shared_from_this(), agent](const asio::error_code& error) {
    if (!error && !self->is_closed_) self->on_end(agent);
  };
  agent->end.async_wait(asio::posix::stream_descriptor::wait_read, ended);
}

void Agents::Pool::on_end(const AgentPtr& agent) {
  int status = 0;
  if (!agent->wait_status && ::waitpid(agent->pid, &status, WNOHANG) == agent->pid)
    agent->wait_status = status;
  agent->pid = -1;
  std::erase(agents_, agent);
  read_rest(*agent);
  agent->input.close();
  agent->output.close();
  agent->end.close();
  if (!is_expected_)
    report({agent->part.nodes,
            agent_ended(agent->part, agent->words, agent->wait_status, agent->last_line, own_node_),
            agent_end(agent->words, agent->wait_status, agent->last_line), exit_code_of(agent->wait_status)});
  if (is_ending_ && agents_.empty()) report_all_ended();
}

/// All that the agent wrote is in the pipe by now. Other processes may hold the pipe open; their output is
/// not awaited.
void Agents::Pool::read_rest(RunningAgent& agent) {
  for (;;) {
    asio::error_code error;
    const auto length = agent.output.read_some(asio::buffer(agent.chunk), error);
    if (error || length == 0) break;
    split_lines(agent, std::string_view(agent.chunk.data(), length));
  }
  finish_line(agent);
}

void Agents::Pool::end(std::chrono::milliseconds patience) {
  is_expected_ = true;
  if (std::exchange(is_ending_, true)) return;
  for (const auto& agent : agents_) agent->input.close();
  if (agents_.empty()) return report_all_ended();
  end_after(patience, SIGTERM);
}

void Agents::Pool::end_after(std::chrono::milliseconds patience, int signal) {
  patience_.expires_after(patience);
  patience_.async_wait([self = shared_from_this(), patience, signal](const asio::error_code& error) {
    if (error || self->is_closed_) return;
    self->send(signal);
    if (signal == SIGTERM) self->end_after(patience, SIGKILL);
  });
}

void Agents::Pool::report_all_ended() {
  patience_.cancel();
  asio::post(loop_, [self = shared_from_this()] {
    if (!self->is_closed_ && self->events_.all_ended) self->events_.all_ended();
  });
}

void Agents::Pool::send(int signal) {
  for (const auto& agent : agents_) {
    if (agent->wait_status) continue;  // reaped: another process may have this pid now
    ::kill(-agent->pid, signal);
    if (signal == SIGTERM) ::kill(-agent->pid, SIGCONT);
  }
}

void Agents::Pool::close() {
  is_closed_ = true;
  send(SIGKILL);
  for (const auto& agent : agents_) {
    int status = 0;
    while (!agent->wait_status && ::waitpid(agent->pid, &status, 0) < 0 && errno == EINTR) continue;
    agent->input.close();
    agent->output.close();
    agent->end.close();
  }
  agents_.clear();
  patience_.cancel();
}

bool Agents::Pool::on_child_exit(pid_t pid, int wait_status) {
  const auto is_same = [pid](const AgentPtr& agent) { return agent->pid == pid; };
  const auto at = std::find_if(agents_.begin(), agents_.end(), is_same);
  if (at == agents_.end()) return false;
  (*at)->wait_status = wait_status;
  return true;
}

Agents::Agents(asio::io_context& loop, const process::Spawner& spawner, Events events, std::string own_node)
    : pool_(std::make_shared<Pool>(loop, spawner, std::move(events), std::move(own_node))) {}
Agents::~Agents() {
  pool_->close();
}
void Agents::start(const StartMessage& message, std::string_view release) {
  pool_->start(message, release);
}
void Agents::expect_end() {
  pool_->expect_end();
}
void Agents::end(std::chrono::milliseconds patience) {
  pool_->end(patience);
}
bool Agents::on_child_exit(pid_t pid, int wait_status) {
  return pool_->on_child_exit(pid, wait_status);
}
std::size_t Agents::running() const noexcept {
  return pool_->running();
}

}  // namespace weft::launch
