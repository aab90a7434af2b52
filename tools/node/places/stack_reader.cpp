// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/places/stack_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/process.hpp"
#include "tools/messages/stop.hpp"
#include "tools/node/places/kernel_state.hpp"
#include "tools/process/fd.hpp"

namespace weft::node {
namespace {

/// A debugger takes a core, and may take some hundred megabytes.
std::size_t most_at_a_time() {
  constexpr unsigned cores_each = 4, most = 8;
  return std::clamp(std::thread::hardware_concurrency() / cores_each, 1U, most);
}
constexpr std::size_t most_output = std::size_t{256} << 10;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

/// The program while it looks at one process.
struct StackReader::Running {
  explicit Running(asio::io_context& loop) : output(loop) {}
  std::size_t number = 0;
  bool was_stopped = false;  ///< the process that it looks at, before
  base::Fd process;          ///< a pidfd of the program: its number may be another's when it has ended
  asio::posix::stream_descriptor output;
  std::array<char, 4096> chunk{};
  std::string text;
};

StackReader::StackReader(asio::io_context& loop, const process::Spawner& spawner, std::vector<pid_t> pids,
                         Done done)
    : loop_(loop), spawner_(spawner), pids_(std::move(pids)), done_(std::move(done)), limit_(loop) {
  stacks_.texts.resize(pids_.size());
}

StackReader::~StackReader() = default;

void StackReader::begin(std::chrono::milliseconds limit) {
  const char* const path = std::getenv("PATH");
  search_ = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  tool_ = find_stack_tool(search_);
  if (!tool_) {
    stacks_.remark = "no stacks: neither eu-stack nor gdb is in PATH";
    next_ = pids_.size();
  }
  limit_.expires_after(limit);
  limit_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error && !self->is_complete_) self->kill_all(), self->complete();
  });
  asio::post(loop_, [self = shared_from_this()] { self->start_next(); });
}

void StackReader::start_next() {
  if (is_complete_) return;
  while (next_ < pids_.size() && running_.size() < most_at_a_time()) start(next_++);
  if (running_.empty()) complete();
}

void StackReader::start(std::size_t number) try {
  const auto pid = pids_[number];
  auto running = std::make_shared<Running>(loop_);
  running->number = number;
  running->was_stopped = is_stopped(pid);
  auto words = stack_command(*tool_, pid), variables = stack_environment(search_);
  const auto argv = pointers(words), envp = pointers(variables);
  const process::Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto pipe = process::make_pipe(false, true);
  process::SpawnRequest request;
  request.path = tool_->path.c_str();
  request.argv = argv.data();
  request.envp = envp.data();
  request.directory = "/";
  request.streams[0] = nothing.get();
  request.streams[1] = request.streams[2] = pipe.write.get();
  const auto started = spawner_.spawn(request);
  if (started.pid < 0) {
    stacks_.remark = fmt::format("{}: {}", tool_->path, started.step);
    return;
  }
  // On the loop, which reaps it later.
  if (auto process = base::open_process(started.pid)) running->process = std::move(*process);
  running->output.assign(pipe.read.release());
  running_.push_back(running);
  read(running);
} catch (const messages::Stop& stop) {
  stacks_.remark = stop.what();
}

void StackReader::read(const RunningRef& running) {
  running->output.async_read_some(
      asio::buffer(running->chunk),
      [self = shared_from_this(), running](const asio::error_code& error, std::size_t length) {
        if (self->is_complete_) return;
        running->text.append(running->chunk.data(), length);
        if (error || running->text.size() > most_output) return self->finish(running);
        self->read(running);
      });
}

void StackReader::finish(const RunningRef& running) {
  auto& text = stacks_.texts[running->number];
  text = stack_in(running->text);
  if (text.empty()) stacks_.remark = fmt::format("{}: {}", tool_->path, complaint_in(running->text));
  running->output.close();
  std::erase(running_, running);
  start_next();
}

/// A process whose debugger is killed while it attaches may stay stopped.
void StackReader::kill_all() {
  for (const auto& running : running_) {
    if (running->process) ::syscall(SYS_pidfd_send_signal, running->process.get(), SIGKILL, nullptr, 0);
    if (!running->was_stopped) ::kill(pids_[running->number], SIGCONT);
    running->output.close();
  }
  running_.clear();
}

void StackReader::complete() {
  if (std::exchange(is_complete_, true)) return;
  limit_.cancel();
  const auto left = std::count(stacks_.texts.begin(), stacks_.texts.end(), std::string());
  if (left != 0 && stacks_.remark.empty())
    stacks_.remark = fmt::format("the time for stacks was over before {} were read", left);
  if (const auto done = std::exchange(done_, {})) done(std::move(stacks_));
}

void StackReader::close() {
  done_ = {};
  kill_all();
  complete();
}

}  // namespace weft::node
