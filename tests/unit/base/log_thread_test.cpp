// SPDX-License-Identifier: BSD-3-Clause
// Lines of a process whose standard error is not read.
#include "base/log_thread.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/fd.hpp"
#include "base/log.hpp"

namespace weft::base {
namespace {

constexpr int lines = 20'000;
constexpr const char* text = "a line of some length, so that a few thousand are more than may wait";

/// Logs with a full pipe as standard error, and tells by `done` that it is through; then waits for `go`.
void log_much(const Fd& error, const Fd& done, const Fd& go) {
  ::dup2(error.get(), STDERR_FILENO);
  const LogThread thread;
  for (int i = 0; i < lines; ++i) log(LogLevel::error, LogPart::api, text);
  char byte = 0;
  (void)!::write(done.get(), "x", 1);
  (void)!::read(go.get(), &byte, 1);
  log(LogLevel::error, LogPart::api, "the last one");
}

TEST(LogThread, a_reader_that_does_not_read_stops_no_writer_and_is_told_what_it_missed) {
  int error[2], done[2], go[2];
  ASSERT_TRUE(::pipe2(error, O_CLOEXEC) == 0 && ::pipe2(done, O_CLOEXEC) == 0 && ::pipe2(go, O_CLOEXEC) == 0);
  const Fd error_end(error[0]), done_end(done[0]), go_end(go[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::fcntl(error[1], F_SETPIPE_SZ, 4096);
    log_much(Fd(error[1]), Fd(done[1]), Fd(go[0]));
    ::_exit(0);
  }
  for (const int end : {error[1], done[1], go[0]}) ::close(end);
  char byte = 0;
  ASSERT_EQ(::read(done_end.get(), &byte, 1), 1);  // it is through, although no byte of its lines was read
  std::string all;
  bool has_gone = false;
  char buffer[4096];
  for (ssize_t got; (got = ::read(error_end.get(), buffer, sizeof buffer)) > 0;) {
    all.append(buffer, static_cast<std::size_t>(got));
    // Then there is room for the last line.
    if (!has_gone && all.size() > LogThread::most_waiting / 2) has_gone = ::write(go_end.get(), "x", 1) == 1;
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const std::string_view told = " lines are missing here: standard error was not read\n";
  int missing = 0;
  for (std::size_t at = 0; (at = all.find(told, at)) != std::string::npos; ++at) {
    const auto begin = all.rfind("weft: ", at) + 6;
    missing += std::stoi(all.substr(begin, at - begin));
  }
  EXPECT_NE(missing, 0);
  int came = 0;
  for (std::size_t from = 0; (from = all.find(text, from)) != std::string::npos; ++from) ++came;
  EXPECT_EQ(came + missing, lines);
  EXPECT_TRUE(all.ends_with("the last one\n")) << all.substr(all.size() - 200);
  EXPECT_LE(all.size(), LogThread::most_waiting + 4096 * 4);
}

}  // namespace
}  // namespace weft::base
