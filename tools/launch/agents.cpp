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

/// As execvp(3) looks for it; nothing: it is not there or cannot be executed.
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

/// One agent while it runs.
struct One {
  explicit One(asio::io_context& loop) : input(loop), output(loop), end(loop) {}
  StartMessage part;                     ///< what it was given
  std::vector<std::string> words;        ///< of its command
  std::string unwritten;                 ///< its standard input, until that is written
  asio::posix::stream_descriptor input;  ///< open as long as the daemons are wanted
  asio::posix::stream_descriptor output, end;
  std::array<char, longest_line> chunk;
  std::string unfinished, last_line;
  pid_t pid = -1;                  ///< -1: has ended
  std::optional<int> wait_status;  ///< if somebody else collected it
};
using OnePtr = std::shared_ptr<One>;

}  // namespace

class Agents::Crew : public std::enable_shared_from_this<Crew> {
 public:
  Crew(asio::io_context& loop, const process::Spawner& spawner, Events events, std::string own_node)
      : loop_(loop),
        spawner_(spawner),
        patience_(loop),
        events_(std::move(events)),
        own_node_(std::move(own_node)) {}

  void start(const StartMessage& message, std::string_view release);
  void expect_end() { is_expected_ = true; }
  void end(std::chrono::milliseconds patience);
  void abandon();
  bool collected(pid_t pid, int wait_status);
  std::size_t living() const noexcept { return agents_.size(); }

 private:
  void start_one(StartMessage part, const std::string& path, std::string_view release);
  void report(Failure failure);
  void write_input(const OnePtr& one);
  void read_output(const OnePtr& one);
  void take_output(One& one, std::string_view bytes);
  void say(One& one);
  void await_end(const OnePtr& one);
  void on_end(const OnePtr& one);
  void read_rest(One& one);
  void send(int signal);
  void end_after(std::chrono::milliseconds patience, int signal);
  void told_all_ended();

  asio::io_context& loop_;
  const process::Spawner& spawner_;
  asio::steady_timer patience_;
  Events events_;
  std::string own_node_;
  std::vector<OnePtr> agents_;  // the living
  bool is_expected_ = false, is_ending_ = false, is_abandoned_ = false;
};

void Agents::Crew::start(const StartMessage& message, std::string_view release) {
  const auto words = agent_command(message);
  const auto path = find_executable(words.front());
  if (!path) return report({message.nodes, agent_missing(message, words, own_node_), {}});
  for (auto& part : parts_of(message)) start_one(std::move(part), *path, release);
}

void Agents::Crew::start_one(StartMessage part, const std::string& path, std::string_view release) {
  auto one = std::make_shared<One>(loop_);
  one->words = agent_command(part);
  one->unwritten = encode(part, release);
  one->part = std::move(part);
  process::Pipe input = process::make_pipe(true, false), output = process::make_pipe(false, true);
  std::vector<char*> argv;
  for (auto& word : one->words) argv.push_back(word.data());
  argv.push_back(nullptr);

  process::SpawnRequest request;
  request.path = path.c_str();
  request.argv = argv.data();
  request.envp = environ;
  request.streams[0] = input.read.get();
  request.streams[1] = request.streams[2] = output.write.get();
  const process::SpawnResult started = spawner_.spawn(request);
  if (started.pid < 0)
    return report(
        {one->part.nodes, agent_not_started(one->part, one->words, started.step, started.error), {}});
  one->pid = started.pid;
  one->input.assign(input.write.release());
  one->output.assign(output.read.release());
  one->output.non_blocking(true);  // for read_rest()
  const long end = ::syscall(SYS_pidfd_open, started.pid, 0);
  if (end < 0) {
    const int error = errno;
    ::kill(-started.pid, SIGKILL);
    ::waitpid(started.pid, nullptr, 0);
    return report(
        {one->part.nodes, agent_not_started(one->part, one->words, "its end cannot be seen", error), {}});
  }
  one->end.assign(static_cast<int>(end));
  agents_.push_back(one);
  write_input(one);
  read_output(one);
  await_end(one);
}

void Agents::Crew::report(Failure failure) {
  asio::post(loop_, [self = shared_from_this(), failure = std::move(failure)] {
    if (!self->is_abandoned_ && self->events_.agent_failed) self->events_.agent_failed(failure);
  });
}

void Agents::Crew::write_input(const OnePtr& one) {
  // An error means that it does not read: its end, which is told, says more.
  asio::async_write(one->input, asio::buffer(one->unwritten),
                    [one](const asio::error_code&, std::size_t) { std::string().swap(one->unwritten); });
}

void Agents::Crew::read_output(const OnePtr& one) {
  one->output.async_read_some(
      asio::buffer(one->chunk),
      [self = shared_from_this(), one](const asio::error_code& error, std::size_t length) {
        if (error || self->is_abandoned_) return;
        self->take_output(*one, std::string_view(one->chunk.data(), length));
        self->read_output(one);
      });
}

void Agents::Crew::take_output(One& one, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const auto room = longest_line - one.unfinished.size();
    one.unfinished += bytes.substr(0, std::min({newline, room, bytes.size()}));
    if (newline == std::string_view::npos) return;  // what is beyond the bound is left out
    bytes.remove_prefix(newline + 1);
    say(one);
  }
}

void Agents::Crew::say(One& one) {
  if (!one.unfinished.empty() && one.unfinished.back() == '\r') one.unfinished.pop_back();
  if (one.unfinished.empty()) return;
  std::string line = std::exchange(one.unfinished, {});
  if (means_nothing(one.part.agent, line)) return;
  one.last_line = std::move(line);
  if (events_.said) events_.said(one.part.nodes.front(), one.last_line);
}

/// The descriptor of a process becomes readable when it ends, whoever collects it.
void Agents::Crew::await_end(const OnePtr& one) {
  const auto ended = [self = shared_from_this(), one](const asio::error_code& error) {
    if (!error && !self->is_abandoned_) self->on_end(one);
  };
  one->end.async_wait(asio::posix::stream_descriptor::wait_read, ended);
}

void Agents::Crew::on_end(const OnePtr& one) {
  int status = 0;
  if (!one->wait_status && ::waitpid(one->pid, &status, WNOHANG) == one->pid) one->wait_status = status;
  one->pid = -1;
  std::erase(agents_, one);
  read_rest(*one);
  one->input.close();
  one->output.close();
  one->end.close();
  if (!is_expected_)
    report({one->part.nodes, agent_ended(one->part, one->words, one->wait_status, one->last_line, own_node_),
            agent_end(one->words, one->wait_status, one->last_line)});
  if (is_ending_ && agents_.empty()) told_all_ended();
}

/// All that it has written is there by now; who else still writes there is not waited for.
void Agents::Crew::read_rest(One& one) {
  for (;;) {
    asio::error_code error;
    const auto length = one.output.read_some(asio::buffer(one.chunk), error);
    if (error || length == 0) break;
    take_output(one, std::string_view(one.chunk.data(), length));
  }
  say(one);
}

void Agents::Crew::end(std::chrono::milliseconds patience) {
  is_expected_ = true;
  if (std::exchange(is_ending_, true)) return;
  for (const auto& one : agents_) one->input.close();
  if (agents_.empty()) return told_all_ended();
  end_after(patience, SIGTERM);
}

void Agents::Crew::end_after(std::chrono::milliseconds patience, int signal) {
  patience_.expires_after(patience);
  patience_.async_wait([self = shared_from_this(), patience, signal](const asio::error_code& error) {
    if (error || self->is_abandoned_) return;
    self->send(signal);
    if (signal == SIGTERM) self->end_after(patience, SIGKILL);
  });
}

void Agents::Crew::told_all_ended() {
  patience_.cancel();
  asio::post(loop_, [self = shared_from_this()] {
    if (!self->is_abandoned_ && self->events_.all_ended) self->events_.all_ended();
  });
}

void Agents::Crew::send(int signal) {
  for (const auto& one : agents_) {
    if (one->wait_status) continue;  // collected: its number may be somebody else's by now
    ::kill(-one->pid, signal);
    if (signal == SIGTERM) ::kill(-one->pid, SIGCONT);
  }
}

void Agents::Crew::abandon() {
  is_abandoned_ = true;
  send(SIGKILL);
  for (const auto& one : agents_) {
    int status = 0;
    while (!one->wait_status && ::waitpid(one->pid, &status, 0) < 0 && errno == EINTR) continue;
    one->input.close();
    one->output.close();
    one->end.close();
  }
  agents_.clear();
  patience_.cancel();
}

bool Agents::Crew::collected(pid_t pid, int wait_status) {
  const auto is_it = [pid](const OnePtr& one) { return one->pid == pid; };
  const auto at = std::find_if(agents_.begin(), agents_.end(), is_it);
  if (at == agents_.end()) return false;
  (*at)->wait_status = wait_status;
  return true;
}

Agents::Agents(asio::io_context& loop, const process::Spawner& spawner, Events events, std::string own_node)
    : crew_(std::make_shared<Crew>(loop, spawner, std::move(events), std::move(own_node))) {}
Agents::~Agents() {
  crew_->abandon();
}
void Agents::start(const StartMessage& message, std::string_view release) {
  crew_->start(message, release);
}
void Agents::expect_end() {
  crew_->expect_end();
}
void Agents::end(std::chrono::milliseconds patience) {
  crew_->end(patience);
}
bool Agents::collected(pid_t pid, int wait_status) {
  return crew_->collected(pid, wait_status);
}
std::size_t Agents::living() const noexcept {
  return crew_->living();
}

}  // namespace weft::launch
