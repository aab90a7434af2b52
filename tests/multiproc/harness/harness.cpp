// SPDX-License-Identifier: BSD-3-Clause
#include "tests/multiproc/harness/harness.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

extern char** environ;

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int line_fd = 3;  // the child's end of its line to the test

char test_name[256] = "?";

extern "C" void bark(int) {
  // Children die with this process: each asked for that.
  const char text[] = "watchdog: a test did not end in time: ";
  (void)!::write(2, text, sizeof text - 1);
  (void)!::write(2, test_name, std::strlen(test_name));
  (void)!::write(2, "\n", 1);
  ::_exit(124);
}

int left_ms(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<long long>(left, 0));
}

Clock::time_point from_now() {
  return Clock::now() + std::chrono::seconds(patience());
}

std::string read_line(int fd, std::string& buffer, Clock::time_point deadline) {
  for (;;) {
    if (const auto end = buffer.find('\n'); end != std::string::npos) {
      auto line = buffer.substr(0, end);
      buffer.erase(0, end + 1);
      return line;
    }
    pollfd p{fd, POLLIN, 0};
    if (::poll(&p, 1, left_ms(deadline)) <= 0) return {};
    char bytes[4096];
    const auto got = ::read(fd, bytes, sizeof bytes);
    if (got <= 0) return {};
    buffer.append(bytes, static_cast<std::size_t>(got));
  }
}

void write_line(int fd, std::string_view line) {
  const std::string text = std::string(line) + "\n";
  (void)!::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}

std::vector<char*> pointers(Words& words) {
  std::vector<char*> out;
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

Words environment(const Child::Options& options) {
  std::map<std::string, std::string> values;
  for (char** entry = environ; !options.clean && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string::npos) values[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : options.variables) values[name] = value;
  Words out;
  for (const auto& [name, value] : values) out.push_back(name + "=" + value);
  return out;
}

std::string proc_path(pid_t pid, const char* what) {
  return "/proc/" + (pid == 0 ? std::string("self") : std::to_string(pid)) + "/" + what;
}

}  // namespace

int patience() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 150;
#else
  return 120;
#endif
}

Child::Child(const std::string& program, const Words& words, const Options& options) {
  int line[2], err[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0) std::abort();
  if (options.catch_errors && ::pipe2(err, O_CLOEXEC) != 0) std::abort();
  Words all = options.before;
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  all.insert(all.end(), {self, "--program", program});
  all.insert(all.end(), words.begin(), words.end());
  Words variables = environment(options);
  // All memory is taken before the fork: other threads may hold the allocator's locks at that moment.
  const auto argv = pointers(all);
  const auto envp = pointers(variables);
  const std::string path = argv[0];
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGALRM, SIG_DFL);
    // First out of the way of each other, then to their places.
    const int ends[] = {::fcntl(line[1], F_DUPFD, 100),
                        options.keep_fd < 0 ? -1 : ::fcntl(options.keep_fd, F_DUPFD, 100)};
    ::dup2(ends[0], line_fd);
    ::close(ends[0]);
    if (ends[1] >= 0) {
      ::dup2(ends[1], 4);
      ::close(ends[1]);
    }
    if (err[1] >= 0) ::dup2(err[1], 2);
    ::execvpe(path.c_str(), argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(line[1]);
  line_ = line[0];
  if (err[1] >= 0) ::close(err[1]);
  errors_ = err[0];
}

Child::Child(Child&& other) noexcept {
  *this = std::move(other);
}

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  forget();
  pid_ = std::exchange(other.pid_, -1);
  line_ = std::exchange(other.line_, -1);
  errors_ = std::exchange(other.errors_, -1);
  heard_ = std::move(other.heard_);
  said_ = std::move(other.said_);
  return *this;
}

Child::~Child() {
  forget();
}

void Child::forget() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (line_ >= 0) ::close(line_);
  if (errors_ >= 0) ::close(errors_);
  pid_ = line_ = errors_ = -1;
}

void Child::tell(std::string_view line) const {
  write_line(line_, line);
}

std::string Child::hear() {
  return read_line(line_, heard_, from_now());
}

void Child::expect(std::string_view line) {
  const auto heard = hear();
  EXPECT_EQ(heard, line) << "from process " << pid_ << '\n' << (heard == line ? "" : said_so_far());
}

void Child::kill(int signal) const {
  if (pid_ <= 0) return;
  ::kill(pid_, signal);
  siginfo_t info{};
  if (signal == SIGSTOP) ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOWAIT);
}

bool Child::ended() {
  siginfo_t info{};
  return pid_ <= 0 || (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                       info.si_pid == pid_);
}

int Child::wait() {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pollfd p{fd, POLLIN, 0};
  const bool over = ::poll(&p, 1, left_ms(from_now())) > 0;
  ::close(fd);
  if (!over) ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return over ? status : -1;
}

void Child::expect_success() {
  const auto pid = pid_;
  const int status = wait();
  EXPECT_NE(status, -1) << "process " << pid << " hung";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "process " << pid << ": wait status " << status;
}

/// False: nothing came in that time, or nothing will.
bool Child::read_errors(int wait_ms) {
  char bytes[4096];
  pollfd p{errors_, POLLIN, 0};
  if (::poll(&p, 1, wait_ms) <= 0) return false;
  const auto got = ::read(errors_, bytes, sizeof bytes);
  if (got > 0) said_.append(bytes, static_cast<std::size_t>(got));
  return got > 0;
}

std::string Child::said_so_far() {
  while (errors_ >= 0 && read_errors(0)) continue;
  return said_;
}

std::string Child::wait_for_error(std::string_view text) {
  const auto deadline = from_now();
  while ((text.empty() || said_.find(text) == std::string::npos) && read_errors(left_ms(deadline))) continue;
  return said_;
}

std::string Child::errors() {
  return wait_for_error({});
}

void say(std::string_view line) {
  write_line(line_fd, line);
}

std::string listen() {
  static std::string heard;
  return read_line(line_fd, heard, from_now());
}

void await(std::string_view line) {
  const auto heard = listen();
  if (heard == line) return;
  std::fprintf(stderr, "process %d: waited for \"%s\", heard \"%s\"\n", ::getpid(), std::string(line).c_str(),
               heard.c_str());
  ::_exit(3);
}

Variables reports_soon(Variables variables) {
  variables.emplace_back("WEFT_STUCK_AFTER", "4");
  return variables;
}

void meet_the_test() {
  say("ready");
  await("go");
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = from_now();
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    (void)::poll(nullptr, 0, 1);
  }
  return true;
}

Words names_in(const std::string& directory) {
  Words out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

std::size_t open_descriptors(pid_t pid) {
  return names_in(proc_path(pid, "fd")).size();
}

Words threads_of(pid_t pid) {
  Words out;
  for (const auto& task : names_in(proc_path(pid, "task"))) {
    std::ifstream file(proc_path(pid, "task") + "/" + task + "/comm");
    std::string name;
    std::getline(file, name);
    out.push_back(name);
  }
  return out;
}

std::size_t mappings_of(std::string_view text, pid_t pid) {
  std::ifstream file(proc_path(pid, "maps"));
  std::size_t found = 0;
  for (std::string line; std::getline(file, line);) found += line.find(text) != std::string::npos ? 1 : 0;
  return found;
}

std::size_t private_kilobytes(pid_t pid) {
  std::ifstream file(proc_path(pid, "status"));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("RssAnon:")) return std::stoul(line.substr(8));
  return 0;
}

std::size_t sockets_of(pid_t pid) {
  std::ifstream file("/proc/net/unix");
  const auto name = "@weft-" + std::to_string(pid) + "-";
  std::size_t found = 0;
  for (std::string line; std::getline(file, line);) found += line.find(name) != std::string::npos ? 1 : 0;
  return found;
}

Scratch::Scratch() {
  char name[] = "/tmp/scratch-of-multiproc-XXXXXX";
  if (::mkdtemp(name) == nullptr) std::abort();
  path_ = name;
}

Scratch::~Scratch() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

namespace {

/// Other programs of this machine come and go in these, other PMIx libraries under test among them: only what
/// bears our name counts, and not what weftrun's jobs and those of unit tests (weft-test-) have: their own
/// tests run beside these and look after it. No unit test makes another file with our name.
Words ours_in(const char* directory) {
  // "weft-host-4711.0.6242b9581ae20798": the folder of a job's ranks.
  const auto is_jobs_folder = [](const std::string& name) {
    const auto dot = name.rfind('.');
    return dot != std::string::npos && name.size() - dot == 17 &&
           name.find_first_not_of("0123456789abcdef", dot + 1) == std::string::npos;
  };
  auto names = names_in(directory);
  std::erase_if(names, [&](const std::string& name) {
    return name.find("weft") == std::string::npos || name.find("weftrun") != std::string::npos ||
           name.find("weft-test-") != std::string::npos || is_jobs_folder(name);
  });
  return names;
}

}  // namespace

void Multiproc::SetUp() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  std::snprintf(test_name, sizeof test_name, "%s.%s", info->test_suite_name(), info->name());
  ::signal(SIGALRM, bark);
  ::alarm(static_cast<unsigned>(patience()));
  descriptors_ = open_descriptors();
  shared_memory_ = ours_in("/dev/shm");
  temporary_ = ours_in("/tmp");
}

void Multiproc::TearDown() {
  ::alarm(0);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(sockets_of(::getpid()), 0u) << "a socket is left";
  EXPECT_EQ(open_descriptors(), descriptors_) << "a descriptor is left";
  EXPECT_EQ(ours_in("/dev/shm"), shared_memory_);
  EXPECT_EQ(ours_in("/tmp"), temporary_);
}

void Programs::add(const std::string& name, Program program) {
  if (named_.try_emplace(name, std::move(program)).second) return;
  std::fprintf(stderr, "there are two programs '%s'\n", name.c_str());
  std::abort();
}

const Programs::Program* Programs::find(std::string_view name) const {
  const auto found = named_.find(name);
  return found == named_.end() ? nullptr : &found->second;
}

int run(int argc, char** argv, const Programs& programs) {
  if (argc > 2 && std::string_view(argv[1]) == "--program") {
    const auto* program = programs.find(argv[2]);
    return program == nullptr ? 126 : (*program)(Words(argv + 3, argv + argc));
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace weft::test
