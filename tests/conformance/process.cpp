// SPDX-License-Identifier: BSD-3-Clause
#include "tests/conformance/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

extern char** environ;

namespace weft::conformance {
namespace {

constexpr int child_out = 3;  // the child's answers; other code may write to its standard output
constexpr int patience_ms = 60'000;

bool write_all(int fd, const void* bytes, std::size_t length) {
  return ::write(fd, bytes, length) == static_cast<ssize_t>(length);  // far below PIPE_BUF
}

bool write_blob(int fd, Bytes bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  return write_all(fd, &length, sizeof length) && (length == 0 || write_all(fd, bytes.data(), length));
}

bool read_all(int fd, void* into, std::size_t length) {
  for (std::size_t have = 0; have < length;) {
    pollfd waits{fd, POLLIN, 0};
    if (::poll(&waits, 1, patience_ms) <= 0) return false;
    const auto got = ::read(fd, static_cast<char*>(into) + have, length - have);
    if (got <= 0) return false;
    have += static_cast<std::size_t>(got);
  }
  return true;
}

bool read_blob(int fd, std::vector<std::byte>& into) {
  std::uint32_t length = 0;
  if (!read_all(fd, &length, sizeof length) || length > 4096) return false;
  into.resize(length);
  return read_all(fd, into.data(), length);
}

struct Echo {
  explicit Echo(Endpoint& with) : endpoint(with) {}
  Endpoint& endpoint;
  Peer* parent = nullptr;
  std::deque<std::vector<std::byte>> waiting;  // to be sent back
  struct Back : Completion {
    std::vector<std::byte> bytes;
    bool ended = false;
  };
  std::deque<Back> open;

  void send() {
    while (!open.empty() && open.front().ended) open.pop_front();
    while (!waiting.empty()) {
      Back& back = open.emplace_back();
      back.bytes = std::move(waiting.front());
      back.done = [](Completion& self, Result<void>) noexcept { static_cast<Back&>(self).ended = true; };
      if (const auto sent = endpoint.send(*parent, id_echo, {{}, back.bytes}, back); !sent) {
        waiting.front() = std::move(back.bytes);
        open.pop_back();
        return;
      }
      waiting.pop_front();
    }
  }
};

/// libfabric's shm names its memory by pid and leaves it when the process is killed: the next process of that
/// pid would find it.
void remove_what_it_left(pid_t pid) {
  const auto name = std::to_string(pid) + ":";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored))
    if (entry.path().filename().string().starts_with(name)) std::filesystem::remove(entry.path(), ignored);
}

}  // namespace

int run_child(std::string_view name) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto all = candidates();
  const auto choice = std::find_if(all.begin(), all.end(), [&](const Choice& c) { return c.name == name; });
  if (choice == all.end()) return 10;
  const auto fabric = choice->make();
  auto opened = open_endpoint(*fabric);
  if (!opened) return 11;
  const auto endpoint = std::move(*opened);
  auto memory = pattern(child_region_bytes, child_seed);
  const auto region = endpoint->expose(memory);
  if (!region) return 12;
  Address parent_address;
  if (!write_blob(child_out, endpoint->address().bytes) || !write_blob(child_out, (*region)->packed_key()) ||
      !read_blob(STDIN_FILENO, parent_address.bytes))
    return 13;
  const auto parent = endpoint->reach(parent_address);
  if (!parent) return 14;
  Echo echo(*endpoint);
  echo.parent = parent->get();
  endpoint->on_message(
      [](void* self, std::uint16_t id, const Message& message) noexcept {
        if (id == id_echo)
          static_cast<Echo*>(self)->waiting.emplace_back(message.payload.begin(), message.payload.end());
      },
      &echo);
  for (unsigned idle = 0;;) {
    const auto handled = endpoint->progress();
    echo.send();
    idle = handled != 0 ? 0 : idle + 1;
    if (idle % 64 != 63) continue;
    pollfd parent_lives{STDIN_FILENO, POLLIN, 0};  // its end of the pipe
    if (::poll(&parent_lives, 1, idle > 1000 ? 1 : 0) != 0) return 0;
  }
}

namespace {

// Words of the command that starts the child: WEFT_TEST_CHILD_COMMAND, split at spaces, and this program.
std::vector<std::string> child_command(const std::string& choice) {
  std::vector<std::string> words;
  if (const char* prefix = std::getenv("WEFT_TEST_CHILD_COMMAND")) {
    std::istringstream split(prefix);
    for (std::string word; split >> word;) words.push_back(word);
  }
  std::error_code failed;
  words.push_back(std::filesystem::read_symlink("/proc/self/exe", failed).string());
  words.insert(words.end(), {std::string(child_argument), choice});
  return words;
}

}  // namespace

bool Child::start(const std::string& choice, const Address& parent) {
  int down[2], up[2];
  if (::pipe2(down, O_CLOEXEC) != 0) return false;
  if (::pipe2(up, O_CLOEXEC) != 0) {
    ::close(down[0]);
    ::close(down[1]);
    return false;
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  // dup2 of a descriptor to itself would leave it to be closed: move it out of the way first.
  const int out = ::fcntl(up[1], F_DUPFD_CLOEXEC, child_out + 1);
  ::posix_spawn_file_actions_adddup2(&actions, down[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, child_out);
  auto words = child_command(choice);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int failed = ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(out);
  ::close(down[0]);
  ::close(up[1]);
  to_ = down[1];
  from_ = up[0];
  if (failed != 0) {
    pid_ = -1;
    return false;
  }
  return read_blob(from_, address.bytes) && read_blob(from_, key) && write_blob(to_, parent.bytes);
}

void Child::shoot() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void Child::kill() {
  shoot();
  if (pid_ > 0) {
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    remove_what_it_left(pid_);
  }
  pid_ = -1;
  for (int* fd : {&to_, &from_}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

}  // namespace weft::conformance
