// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Log: the caller's own channels, the syslog of its node, directives.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

// ---- clients

int logs(const Words&) {
  Client client;
  Infos text;
  text.text(PMIX_LOG_STDERR, "to the standard error\n");
  check_status(PMIx_Log(text.data(), text.size(), nullptr, 0), PMIX_SUCCESS);
  Waiter waiter;
  check_status(PMIx_Log_nb(text.data(), text.size(), nullptr, 0, Waiter::on_status, &waiter), PMIX_SUCCESS);
  check_status(waiter.wait(), PMIX_SUCCESS);
  Infos wrong;
  wrong.number(PMIX_LOG_STDERR, 7);
  check_status(PMIx_Log(wrong.data(), wrong.size(), nullptr, 0), PMIX_ERR_BAD_PARAM);
  Infos elsewhere;
  elsewhere.text(PMIX_LOG_MSG, "to any channel");
  check_status(PMIx_Log(elsewhere.data(), elsewhere.size(), nullptr, 0), PMIX_ERR_NOT_SUPPORTED);
  client.finalize();
  return 0;
}

/// By directives, in a process with a server or without.
int logs_in_style(const Words&) {
  pmix_proc_t me{};
  check(PMIx_Init(&me, nullptr, 0) != PMIX_ERROR, "PMIx_Init");
  Infos text, tagged, timed, xml, once, several, none;
  text.text(PMIX_LOG_STDERR, "a < b\n");
  tagged.flag(PMIX_LOG_TAG_OUTPUT);
  check_status(PMIx_Log(text.data(), text.size(), tagged.data(), tagged.size()), PMIX_SUCCESS);
  timed.flag(PMIX_LOG_TIMESTAMP_OUTPUT);
  check_status(PMIx_Log(text.data(), text.size(), timed.data(), timed.size()), PMIX_SUCCESS);
  xml.flag(PMIX_LOG_XML_OUTPUT);
  check_status(PMIx_Log(text.data(), text.size(), xml.data(), xml.size()), PMIX_SUCCESS);
  once.flag(PMIX_LOG_ONCE);
  several.text(PMIX_LOG_MSG, "to a channel that is not there")
      .text(PMIX_LOG_STDERR, "once\n")
      .text(PMIX_LOG_STDERR, "twice\n");
  check_status(PMIx_Log(several.data(), several.size(), once.data(), once.size()), PMIX_SUCCESS);
  none.text(PMIX_LOG_MSG, "to no channel");
  check_status(PMIx_Log(none.data(), none.size(), once.data(), once.size()), PMIX_ERR_NOT_SUPPORTED);
  check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  return 0;
}

/// Makes this process see a folder /dev of its own, with nothing but /dev/shm and /dev/null, which ends with
/// the process.
void get_own_devices() {
  check(::unshare(CLONE_NEWNS) == 0, "unshare");
  check(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
  const base::Fd shm(::open("/dev/shm", O_PATH | O_CLOEXEC));
  const base::Fd null(::open("/dev/null", O_PATH | O_CLOEXEC));
  check(::mount("none", "/dev", "tmpfs", 0, "mode=755") == 0, "a folder /dev");
  check(::mkdir("/dev/shm", 01777) == 0 && ::close(::creat("/dev/null", 0666)) == 0, "places in /dev");
  const auto bind = [](const base::Fd& from, const char* to) {
    return ::mount(("/proc/self/fd/" + std::to_string(from.get())).c_str(), to, nullptr, MS_BIND, nullptr);
  };
  check(bind(shm, "/dev/shm") == 0 && bind(null, "/dev/null") == 0, "the old ones in their places");
}

/// The text of the next record; none within a second: "".
std::string next_record(int listener) {
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  (void)::setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char text[512];
  const auto got = ::recv(listener, text, sizeof text, 0);
  return got > 0 ? std::string(text, static_cast<std::size_t>(got)) : "";
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The test listens where a syslog does.
int logs_to_the_syslog(const Words&) {
  get_own_devices();
  pmix_proc_t me{};
  check(PMIx_Init(&me, nullptr, 0) != PMIX_ERROR, "PMIx_Init");
  Infos text, both, loud, wild, once;
  text.text(PMIX_LOG_SYSLOG, "to the syslog");
  const auto log = [](const Infos& data, const Infos& how) {
    return PMIx_Log(data.data(), data.size(), how.data(), how.size());
  };
  check(log(text, {}) != PMIX_SUCCESS, "a syslog that is not there takes nothing");
  both.text(PMIX_LOG_SYSLOG, "to the syslog").text(PMIX_LOG_STDERR, "to the standard error\n");
  check_status(log(both, {}), PMIX_ERR_PARTIAL_SUCCESS);

  const base::Fd listener(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::strcpy(at.sun_path, "/dev/log");
  check(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0, "bind");
  check_status(log(text, {}), PMIX_SUCCESS);
  const auto quiet = next_record(listener.get());
  check(quiet.starts_with("<11>") && ends_with(quiet, ": to the syslog"), quiet);  // user.err
  loud.integer(PMIX_LOG_SYSLOG_PRI, 6);
  check_status(log(both, loud), PMIX_SUCCESS);
  check(next_record(listener.get()).starts_with("<14>"), "user.info");
  wild.integer(PMIX_LOG_SYSLOG_PRI, 8);
  check_status(log(text, wild), PMIX_ERR_BAD_PARAM);
  once.flag(PMIX_LOG_ONCE);
  check_status(log(both, once), PMIX_SUCCESS);
  check(ends_with(next_record(listener.get()), ": to the syslog"), "the first channel took it");
  check_status(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  return 0;
}

}  // namespace

void add_log_programs(Programs& programs) {
  programs.add("logs", logs);
  programs.add("logs_in_style", logs_in_style);
  programs.add("logs_to_the_syslog", logs_to_the_syslog);
}

// ---- tests

class LogTest : public Multiproc {};

TEST_F(LogTest, to_the_own_channels) {
  Host host;
  host.add_job("job", 1);
  Child::Options options;
  options.catch_errors = true;
  auto child = host.start("job", 0, "logs", {}, options);
  child.expect_success();
  EXPECT_EQ(child.errors(), "to the standard error\nto the standard error\n");
}

TEST_F(LogTest, obeys_directives_with_a_server_and_without) {
  Host host;
  host.add_job("job", 1);
  Child::Options options;
  options.catch_errors = true;
  Child alone("logs_in_style", {}, options);
  auto member = host.start("job", 0, "logs_in_style", {}, options);
  for (Child* child : {&alone, &member}) {
    child->expect_success();
    std::istringstream lines(child->errors());
    std::vector<std::string> said;
    for (std::string line; std::getline(lines, line);) said.push_back(line);
    ASSERT_EQ(said.size(), 5u) << child->errors();
    EXPECT_EQ(said[0], "stderr: a < b");
    EXPECT_TRUE(
        std::regex_match(said[1], std::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[-+][0-9]{4} a < b")))
        << said[1];
    EXPECT_EQ(said[2] + said[3], "<stderr>a &lt; b</stderr>");
    EXPECT_EQ(said[4], "once");
  }
}

TEST_F(LogTest, the_syslog_takes_what_no_host_does) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting a file system needs root";
  Host host;
  host.add_job("job", 1);
  Child::Options options;
  options.catch_errors = true;
  Child alone("logs_to_the_syslog", {}, options);
  auto member = host.start("job", 0, "logs_to_the_syslog", {}, options);
  for (Child* child : {&alone, &member}) {
    child->expect_success();
    EXPECT_EQ(child->errors(), "to the standard error\nto the standard error\n");
  }
}

}  // namespace weft::test
