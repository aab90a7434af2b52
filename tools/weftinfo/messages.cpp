// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftinfo/messages.hpp"

#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <csignal>

namespace weft::weftinfo::messages {
namespace {

bool is_running(long pid) {
  return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

std::string server_text(std::optional<long> pid) {
  return pid ? fmt::format("the server of process {}", *pid) : "a server of this machine";
}

std::string line(const std::string& text) {
  return "weftinfo: " + text;
}

}  // namespace

Stop usage(std::string_view what) {
  return Stop(exit_status::usage, line(fmt::format("{}; try weftinfo --help", what)));
}

Stop no_cluster() {
  return Stop(
      exit_status::nothing_there,
      line(fmt::format("no job of user {} is running here under Weft; run weftinfo where its launcher or one "
                       "of its daemons runs (in a container or network namespace: inside of it)",
                       ::getuid())));
}

Stop several_clusters(std::size_t count) {
  return Stop(exit_status::nothing_there,
              line(fmt::format("{} launches of Weft are running here; name one: weftinfo PID", count)));
}

Stop cannot_attach(std::optional<long> pid, pmix_status_t status) {
  switch (status) {
    case PMIX_ERR_UNREACH:
      if (!pid) return no_cluster();
      if (!is_running(*pid))
        return Stop(exit_status::nothing_there,
                    line(fmt::format(
                        "there is no process {} (any more); weftinfo --list shows what is running", *pid)));
      return Stop(exit_status::nothing_there,
                  line(fmt::format(
                      "process {} is no PMIx server of Weft that can be reached from here; if it is one, "
                      "it runs in another network namespace: nsenter -t {} -n weftinfo {}. "
                      "weftinfo --list shows what is running",
                      *pid, *pid, *pid)));
    case PMIX_ERR_NO_PERMISSIONS:
      return Stop(
          exit_status::nothing_there,
          line(fmt::format("{} belongs to another user; ask as that user, or as root", server_text(pid))));
    case PMIX_ERR_NOT_SUPPORTED:
      return Stop(
          exit_status::nothing_there,
          line(fmt::format(
              "{} is of another release of Weft: use the weftinfo that was installed with it; or its host "
              "lets no tools in",
              server_text(pid))));
    case PMIX_ERR_TIMEOUT:
      return Stop(exit_status::nothing_there,
                  line(fmt::format("{} does not answer: is it stopped? Look with ps -o stat= -p {}",
                                   server_text(pid), pid ? std::to_string(*pid) : "PID")));
    default:
      return Stop(exit_status::own_failure,
                  line(fmt::format("{} cannot be asked: {}", server_text(pid), PMIx_Error_string(status))));
  }
}

Stop no_answer(std::optional<long> pid, pmix_status_t status) {
  if (status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_UNREACH)
    return Stop(exit_status::nothing_there, line(fmt::format("{} has ended meanwhile", server_text(pid))));
  return cannot_attach(pid, status);
}

Stop unreadable_report() {
  return Stop(exit_status::own_failure,
              line("the server's answer is no report; is it of another release of Weft?"));
}

}  // namespace weft::weftinfo::messages
