// SPDX-License-Identifier: BSD-3-Clause
// What the tests with real processes share. One program is everything: a test runs in it as a host (a PMIx
// server with a module), and starts itself again, under another name, as the clients of that server.
//
// Nothing here sleeps. Every wait has a deadline, and a watchdog ends a test that outlives its time.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

/// Seconds that anything may take here; only a hang does.
int patience();

using Words = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

/// With a report of what is stuck soon, but only after ranks that come together have come, also on a machine
/// that is busy.
Variables reports_soon(Variables variables);

/// The programs that a test may start instead of itself, by name. Their return value is the exit status.
class Programs {
 public:
  using Program = std::function<int(const Words&)>;
  /// Ends the test program where the name is taken: one of the two would never run.
  void add(const std::string& name, Program program);
  /// Null where there is none of that name.
  const Program* find(std::string_view name) const;

 private:
  std::map<std::string, Program, std::less<>> named_;
};
void add_asks_programs(Programs& programs);
void add_launcher_programs(Programs& programs);
void add_launch_fabric_programs(Programs& programs);
void add_listener_programs(Programs& programs);
void add_attribute_programs(Programs& programs);
void add_client_programs(Programs& programs);
void add_data_programs(Programs& programs);
void add_event_programs(Programs& programs);
void add_fence_programs(Programs& programs);
void add_foreign_host_programs(Programs& programs);
void add_get_programs(Programs& programs);
void add_group_board_programs(Programs& programs);
void add_group_programs(Programs& programs);
void add_group_soak_programs(Programs& programs);
void add_group_death_programs(Programs& programs);
void add_group_loss_programs(Programs& programs);
void add_construct_programs(Programs& programs);
void add_invitation_programs(Programs& programs);
void add_membership_programs(Programs& programs);
void add_host_event_programs(Programs& programs);
void add_host_fence_programs(Programs& programs);
void add_host_group_programs(Programs& programs);
void add_info_programs(Programs& programs);
void add_key_programs(Programs& programs);
void add_limit_programs(Programs& programs);
void add_log_programs(Programs& programs);
void add_node_programs(Programs& programs);
void add_process_set_programs(Programs& programs);
void add_progress_programs(Programs& programs);
void add_published_programs(Programs& programs);
void add_large_job_programs(Programs& programs);
void add_realm_programs(Programs& programs);
void add_segment_programs(Programs& programs);
void add_cluster_card_programs(Programs& programs);
void add_cluster_fence_programs(Programs& programs);
void add_cluster_loss_programs(Programs& programs);
void add_cluster_node_program(Programs& programs);
void add_set_fence_programs(Programs& programs);
void add_slow_file_programs(Programs& programs);
void add_singleton_programs(Programs& programs);
void add_topology_programs(Programs& programs);
void add_tool_role_programs(Programs& programs);
void add_tool_server_programs(Programs& programs);

/// One process that a test started, with a line of text to and from it. Killed and reaped with this object.
class Child {
 public:
  struct Options {
    Words before;               ///< words of a program that is to run ours: strace, prlimit
    Variables variables;        ///< added to the environment
    bool clean = false;         ///< start from an empty environment instead of ours
    int keep_fd = -1;           ///< inherited as descriptor 4
    bool catch_errors = false;  ///< stderr comes to errors()
  };
  Child() = default;
  Child(const std::string& program, const Words& words, const Options& options);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return pid_; }
  /// Writes one line to the child.
  void tell(std::string_view line) const;
  /// Reads one line from the child; "" when it ended or time is up.
  std::string hear();
  /// A failure of the test unless the next line is this one.
  void expect(std::string_view line);
  /// Sends the signal. After SIGSTOP all its threads stand when this returns.
  void kill(int signal = 9) const;
  /// Waits for its end. The wait status; -1: it did not end in time and was killed.
  int wait();
  /// Waits for its end, and fails the test unless it exited with 0.
  void expect_success();
  /// The process's stderr as far as it has come, where it is caught.
  std::string said_so_far();
  /// All that it wrote to stderr, after its end.
  std::string errors();
  bool ended();
  /// Waits until its stderr holds `text`; all that came so far.
  std::string wait_for_error(std::string_view text);

 private:
  bool read_errors(int wait_ms);
  void forget();
  pid_t pid_ = -1;
  int line_ = -1;
  int errors_ = -1;
  std::string heard_, said_;
};

/// The child's side of that line.
void say(std::string_view line);
std::string listen();
/// Ends a child unless the parent's next line is this one.
void await(std::string_view line);
/// Says "ready" and goes on with the test's "go".
void meet_the_test();

/// Waits until condition() under the deadline; looks again after each millisecond of poll().
bool eventually(const std::function<bool()>& condition);

/// Number of open descriptors, of threads, of lines of /proc/<pid>/maps that name `text`.
std::size_t open_descriptors(pid_t pid = 0);
Words threads_of(pid_t pid = 0);
std::size_t mappings_of(std::string_view text, pid_t pid = 0);
/// Memory of the process that no other one shares: RssAnon of /proc/<pid>/status.
std::size_t private_kilobytes(pid_t pid = 0);
/// Abstract sockets of servers in process `pid`.
std::size_t sockets_of(pid_t pid);
/// Names in a directory.
Words names_in(const std::string& directory);

/// A directory of the test's own, removed with the object.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The base of all tests: the watchdog, and the proof that nothing is left afterwards.
class Multiproc : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

 private:
  std::size_t descriptors_ = 0;
  Words shared_memory_, temporary_;
};

int run(int argc, char** argv, const Programs& programs);

}  // namespace weft::test
