// SPDX-License-Identifier: BSD-3-Clause
// By what processes of jobs are known.
#include "tools/node/marks.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

namespace weft::node {
namespace {

/// A process that waits for its end, with these variables.
class Marked {
 public:
  explicit Marked(std::vector<std::string> variables) {
    pid_ = ::fork();
    if (pid_ == 0) {
      std::vector<char*> envp;
      for (auto& each : variables) envp.push_back(each.data());
      envp.push_back(nullptr);
      char* const argv[] = {const_cast<char*>("sleep"), const_cast<char*>("100"), nullptr};
      ::execve("/bin/sleep", argv, envp.data());
      ::_exit(1);
    }
    // Until it is the program, whose variables these are.
    for (int i = 0; i < 10'000 && has_variable(pid_, variables.back()) != HasMark::yes; ++i) ::usleep(1000);
  }
  ~Marked() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const noexcept { return pid_; }

 private:
  pid_t pid_;
};

TEST(Marks, tell_a_job_from_others_of_its_node_and_a_node_from_others_of_its_launch) {
  const Marked one({"A=1", Mark::variable("weft-a.b-7", 0, 3), "Z=2"});
  EXPECT_EQ(has_variable(one.pid(), Mark::variable("weft-a.b-7", 0, 3)), HasMark::yes);
  EXPECT_EQ(has_variable(one.pid(), Mark::variable("weft-a.b-7", 1, 3)), HasMark::no);
  EXPECT_EQ(has_mark(one.pid(), Mark::of_node("weft-a.b-7", 3)), HasMark::yes);
  for (const auto& other : {Mark::of_node("weft-a.b-7", 33), Mark::of_node("weft-a.b-7", 0),
                            Mark::of_node("weft-a.b", 3), Mark::of_node("weft-a.b-77", 3)})
    EXPECT_EQ(has_mark(one.pid(), other), HasMark::no) << other.begin << other.end;
}

TEST(Marks, of_a_process_without_variables_nothing_is_known) {
  const pid_t zombie = ::fork();
  if (zombie == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(has_mark(zombie, Mark::of_node("weft", 0)), HasMark::unknown);
  ::waitpid(zombie, nullptr, 0);
}

}  // namespace
}  // namespace weft::node
