// SPDX-License-Identifier: BSD-3-Clause
// Agents that are small shell scripts: what they get, what is reported of them, and that no process stays.
#include "tools/launch/agents.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/unit/tools/launch/sample_messages.hpp"
#include "tools/launch/agent_words.hpp"

namespace weft::launch {
namespace {

using namespace std::chrono_literals;

class AgentsTest : public testing::Test {
 protected:
  AgentsTest() {
    std::signal(SIGPIPE, SIG_IGN);
    char path[] = "/tmp/agents_test_XXXXXX";
    directory = ::mkdtemp(path);
  }
  ~AgentsTest() override { std::filesystem::remove_all(directory); }

  /// A daemon that is this script; words of its agent are `words` and then host and daemon.
  StartMessage message(const std::string& script, std::size_t nodes, Agent::Kind kind = Agent::Kind::fork) {
    auto made = message_for(nodes);
    const std::string path = directory + "/daemon";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    made.agent = {kind, {}, 0, path};
    return made;
  }
  Agents::Events events() {
    return {
        [this](const Agents::Failure& failure) { failures.push_back(failure); },
        [this](const NodeName& node, const std::string& line) { lines.push_back(node.host + ": " + line); },
        [this] { all_ended = true; }};
  }
  /// Runs the loop until `condition` holds.
  template <class Condition>
  void wait_for(Condition&& condition) {
    const auto watchdog = std::chrono::steady_clock::now() + 30s;
    loop.restart();
    while (!condition() && std::chrono::steady_clock::now() < watchdog) loop.run_one_for(100ms);
    ASSERT_TRUE(condition());
  }
  void end(Agents& agents, std::chrono::milliseconds patience = 10s) {
    agents.end(patience);
    EXPECT_FALSE(all_ended);  // not from inside
    wait_for([this] { return all_ended; });
    EXPECT_EQ(agents.running(), 0U);
  }

  std::string directory;
  const process::Spawner spawner;
  asio::io_context loop;
  std::vector<Agents::Failure> failures;
  std::vector<std::string> lines;
  bool all_ended = false;
};

constexpr const char* echo_its_part = "sed -u -n 's/^\\(node\\|audience\\) //p'";  // until the input ends

TEST_F(AgentsTest, each_is_told_its_part_and_keeps_its_input_until_the_end) {
  Agents agents(loop, spawner, events());
  agents.start(message(echo_its_part, 3), "1.0");
  wait_for([this] { return lines.size() == 6; });
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines,
            (std::vector<std::string>{"n0: 0 n0", "n0: one", "n1: 1 n1", "n1: one", "n2: 2 n2", "n2: one"}));
  EXPECT_EQ(agents.running(), 3U);
  end(agents);
  EXPECT_TRUE(failures.empty());
}

TEST_F(AgentsTest, a_long_message_goes_through_whole) {
  Agents agents(loop, spawner, events());
  auto large = message("sed -n '/^end$/q; p' | cksum; exec cat", 20'000, Agent::Kind::remote);
  large.agent.words = {"sh", "-c", "exec {command}"};
  large.agent.arity = 1;
  agents.start(large, "1.0");
  wait_for([this] { return !lines.empty(); });
  const auto text = encode(parts_of(large).at(0), "1.0");
  std::ofstream(directory + "/expected") << text.substr(0, text.size() - 4);
  FILE* pipe = ::popen(("cksum < " + directory + "/expected").c_str(), "r");
  char expected[128] = {};
  ASSERT_NE(std::fgets(expected, sizeof expected, pipe), nullptr);
  ::pclose(pipe);
  EXPECT_EQ(lines[0] + "\n", std::string("n0: ") + expected);
  end(agents);
}

TEST_F(AgentsTest, one_that_ends_early_is_reported_with_its_last_line) {
  Agents agents(loop, spawner, events());
  agents.start(message("echo first; printf 'the last one' >&2; exit 3", 1), "1.0");
  wait_for([this] { return !failures.empty(); });
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].nodes.size(), 1U);
  EXPECT_NE(failures[0].line.find("node 'n0'"), std::string::npos);
  EXPECT_NE(failures[0].line.find("exited with status 3; the last it said was: the last one"),
            std::string::npos)
      << failures[0].line;
  EXPECT_EQ(lines, (std::vector<std::string>{"n0: first", "n0: the last one"}));
  EXPECT_EQ(agents.running(), 0U);
  end(agents);
}

TEST_F(AgentsTest, a_stack_that_a_library_prints_is_no_last_line) {
  Agents agents(loop, spawner, events());
  agents.start(
      message(
          "echo why; echo '==== backtrace (tid: 1) ===='; echo ' 0 /lib/one.so'; echo '=====' >&2; exit 3",
          1),
      "1.0");
  wait_for([this] { return !failures.empty(); });
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_NE(failures[0].line.find("the last it said was: why."), std::string::npos) << failures[0].line;
  EXPECT_EQ(lines.size(), 4U);
  end(agents);
}

TEST_F(AgentsTest, a_process_that_keeps_its_output_open_is_not_waited_for) {
  Agents agents(loop, spawner, events());
  agents.start(message("sleep 1000 & echo $!; exit 1", 1), "1.0");
  wait_for([this] { return !failures.empty() && !lines.empty(); });
  const pid_t left = std::stoi(lines[0].substr(4));
  EXPECT_EQ(::kill(left, SIGKILL), 0);
}

TEST_F(AgentsTest, a_missing_program_is_one_failure_for_all) {
  Agents agents(loop, spawner, events());
  auto none = message("", 5);
  none.agent.weftd = directory + "/absent";
  agents.start(none, "1.0");
  EXPECT_TRUE(failures.empty());  // not from inside
  wait_for([this] { return !failures.empty(); });
  loop.run_for(0ms);
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].nodes.size(), 5U);
  EXPECT_NE(failures[0].line.find(directory + "/absent"), std::string::npos);
}

TEST_F(AgentsTest, a_program_that_cannot_run_is_reported_for_each) {
  Agents agents(loop, spawner, events());
  auto broken = message("", 2);
  std::ofstream(broken.agent.weftd) << "#!/no/such/interpreter\n";
  agents.start(broken, "1.0");
  wait_for([this] { return failures.size() == 2; });
  EXPECT_NE(failures[0].line.find("No such file"), std::string::npos) << failures[0].line;
}

TEST_F(AgentsTest, expected_ends_are_no_failures) {
  ASSERT_EQ(::mkfifo((directory + "/fifo").c_str(), 0600), 0);
  Agents agents(loop, spawner, events());
  agents.start(message("read line; echo up; read line2 < " + directory + "/fifo; exit 9", 1), "1.0");
  wait_for([this] { return !lines.empty(); });
  agents.expect_end();
  std::ofstream(directory + "/fifo") << "go\n";
  wait_for([&] { return agents.running() == 0; });
  loop.restart();
  loop.poll();
  EXPECT_TRUE(failures.empty());
}

TEST_F(AgentsTest, one_that_does_not_obey_is_killed) {
  Agents agents(loop, spawner, events());
  agents.start(message("trap '' TERM HUP; echo up; while :; do sleep 1000; done", 2), "1.0");
  wait_for([this] { return lines.size() == 2; });
  end(agents, 20ms);
  EXPECT_TRUE(failures.empty());
}

TEST_F(AgentsTest, a_stopped_one_gets_its_signal) {
  Agents agents(loop, spawner, events());
  agents.start(
      message("trap 'echo told; exit 0' TERM; echo up $$; kill -STOP $$; while :; do read x; done", 1),
      "1.0");
  wait_for([this] { return !lines.empty(); });
  end(agents, 20ms);
}

TEST_F(AgentsTest, lines_are_bounded) {
  Agents agents(loop, spawner, events());
  agents.start(message("head -c 1000000 /dev/zero | tr '\\0' x; echo; echo short; exec cat > /dev/null", 1),
               "1.0");
  wait_for([this] { return lines.size() == 2; });
  EXPECT_EQ(lines[0], "n0: " + std::string(4096, 'x'));
  EXPECT_EQ(lines[1], "n0: short");
  end(agents);
}

TEST_F(AgentsTest, another_collector_of_children_may_tell_of_it) {
  Agents agents(loop, spawner, events());
  agents.start(message("exit 7", 1), "1.0");
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, 0)) < 0 && errno == EINTR) continue;
  EXPECT_TRUE(agents.on_child_exit(pid, status));
  EXPECT_FALSE(agents.on_child_exit(1, 0));
  wait_for([this] { return !failures.empty(); });
  EXPECT_NE(failures[0].line.find("status 7"), std::string::npos);
}

TEST_F(AgentsTest, none_outlives_the_object) {
  {
    Agents agents(loop, spawner, events());
    agents.start(message("trap '' TERM HUP PIPE; echo up; while :; do sleep 1000; done", 3), "1.0");
    wait_for([this] { return lines.size() == 3; });
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  loop.restart();
  loop.poll();
  EXPECT_TRUE(failures.empty());
}

TEST_F(AgentsTest, none_outlives_the_process) {
  ASSERT_EQ(::mkfifo((directory + "/fifo").c_str(), 0600), 0);
  // The agent holds the fifo open for writing until it dies; its end is then read here.
  const auto message_ = message(
      "trap '' TERM HUP PIPE; echo up > " + directory + "/fifo; exec sleep 1000 > " + directory + "/fifo", 1);
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    asio::io_context own_loop;
    Agents agents(own_loop, spawner, {});
    agents.start(message_, "1.0");
    own_loop.run();
    ::_exit(0);
  }
  std::ifstream fifo(directory + "/fifo");
  std::string line;
  ASSERT_TRUE(std::getline(fifo, line));
  ::kill(launcher, SIGKILL);
  ::waitpid(launcher, nullptr, 0);
  while (std::getline(fifo, line))
    continue;  // ends when no process can write any more; the test's watchdog sees to it
}

}  // namespace
}  // namespace weft::launch
