// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/agent.hpp"

#include <fmt/format.h>
#include <pmix.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "pmi/job/opening.hpp"
#include "pmi/spawn/spawn.hpp"

namespace weft::pmi {
namespace {

/// How a request about a service has ended; clients of MPICH read "info" or "rc", by their release.
std::string end_of(pmix_status_t status) {
  return status == PMIX_SUCCESS ? std::string("info=ok rc=0 msg=success")
                                : fmt::format("info=failed rc=-1 msg={}", PMIx_Error_string(status));
}

/// A stranger's bytes, for a terminal.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 80)) out += c >= ' ' && c <= '~' ? c : '?';
  return out;
}

std::string no_request(std::string_view bytes, int version) {
  return fmt::format(
      "the program wrote '{}' to PMI_FD, which is no request of PMI-{}. What to do: see which process "
      "manager "
      "its MPI library was built for",
      printable(bytes), version);
}

}  // namespace

void Agent::complain(std::string_view what) const {
  fmt::print(stderr, "weftpmi: {}: {}\n", name_, what);
  (void)std::fflush(stderr);
}

void Agent::run(int program) {
  std::array<pollfd, 2> watched{{{socket_.get(), POLLIN, 0}, {program, POLLIN, 0}}};
  for (;;) {
    const auto pause = version2_ ? version2_->pause() : std::nullopt;
    if (::poll(watched.data(), watched.size(), pause ? static_cast<int>(pause->count()) : -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    // Requests that the program had written before its end are read first.
    if (watched[0].revents != 0) {
      if (!read_some()) return;
    } else if (watched[1].revents != 0) {
      return;
    }
    if (pause && version2_ && !send(version2_->answer_waits())) return;
  }
}

bool Agent::read_some() {
  std::array<char, RequestReader::longest_line> buffer;
  const auto length = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (length < 0) return errno == EINTR || errno == EAGAIN;
  std::string_view bytes(buffer.data(), static_cast<std::size_t>(length));
  while (!bytes.empty())
    if (!(version2_ ? take_frame(bytes) : take_line(bytes))) return false;
  return length != 0;
}

bool Agent::take_line(std::string_view& bytes) {
  const auto [request, is_error, line] = reader_.next(bytes);
  if (is_error) complain(no_request(line, 1));
  return !is_error && (!request || answer(*request));
}

bool Agent::take_frame(std::string_view& bytes) {
  const auto step = version2_->next(bytes);
  if (step.is_error) complain(no_request(step.bytes, 2));
  if (!step.complaint.empty()) complain(step.complaint);
  if (step.is_over) version2_.reset();
  return !step.is_error && send(step.reply);
}

bool Agent::send_line(std::string_view line) {
  return send(std::string(line) + "\n");
}

bool Agent::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto length = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return false;  // the program has ended
    bytes.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

bool Agent::answer(const Request& request) {
  if (request.command != Command::init && !job_.is_open()) {
    complain("the program made a request of PMI-1 before cmd=init");
    return false;
  }
  if (request.command == Command::abort) {
    // No reply: the program waits for its end.
    (void)job_.abort(request.exit_status, nullptr);
    return true;
  }
  // No value of a barrier's reply says that it failed, and a program that goes on would read what is not
  // there.
  if (request.command == Command::barrier_in && !fence()) return false;
  return send_line(reply_to(request));
}

bool Agent::fence() {
  const auto status = job_.fence();
  if (status == PMIX_SUCCESS) return true;
  complain(fmt::format("a PMI barrier failed: {}", PMIx_Error_string(status)));
  return false;
}

std::string Agent::reply_to(const Request& request) {
  switch (request.command) {
    case Command::init:
      return init(request);
    case Command::get_maxes:
      return fmt::format("cmd=maxes kvsname_max={} keylen_max={} vallen_max={}", name_room, key_room,
                         value_room);
    case Command::get_appnum:
      return fmt::format("cmd=appnum appnum={}", job_.app_number());
    case Command::get_my_kvsname:
      return fmt::format("cmd=my_kvsname kvsname={}", job_.name());
    case Command::get_universe_size:
      return fmt::format("cmd=universe_size size={}", job_.universe_size());
    case Command::barrier_in:
      return "cmd=barrier_out";
    case Command::put: {
      const auto status =
          request.space == job_.name() ? job_.put(request.key, request.value) : PMIX_ERR_NOT_FOUND;
      return status == PMIX_SUCCESS ? "cmd=put_result rc=0 msg=success"
                                    : fmt::format("cmd=put_result rc=-1 msg={}", PMIx_Error_string(status));
    }
    case Command::get:
      return get(request);
    case Command::finalize:
      (void)job_.close();
      return "cmd=finalize_ack";
    case Command::publish_name:
      return "cmd=publish_result " + end_of(job_.publish(request.service, request.port));
    case Command::unpublish_name:
      return "cmd=unpublish_result " + end_of(job_.unpublish(request.service));
    case Command::lookup_name:
      return look_up(request);
    case Command::spawn:
      return spawn(request);
    case Command::abort:
      break;  // see answer()
  }
  return {};
}

/// The form of the bytes that follow is that of the version, if it is one that is known.
std::string Agent::init(const Request& request) {
  if (request.version == 2) {
    version2_.emplace(job_, told_size_);
    return "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0";
  }
  constexpr std::string_view reply = "cmd=response_to_init pmi_version=1 pmi_subversion=1";
  if (request.version != 1) return fmt::format("{} rc=-1", reply);
  const auto failure = open_job(job_, told_size_);
  if (!failure.empty()) complain(failure);
  return fmt::format("{} rc={}", reply, failure.empty() ? 0 : -1);
}

std::string Agent::look_up(const Request& request) const {
  const auto port = job_.look_up(request.service);
  return port && port->size() < port_room && is_value(*port)
             ? fmt::format("cmd=lookup_result {} port={}", end_of(PMIX_SUCCESS), *port)
             : "cmd=lookup_result " + end_of(PMIX_ERR_NOT_FOUND);
}

std::string Agent::spawn(const Request& request) const {
  const auto status = job_.spawn(request.spawn).status;
  return status == PMIX_SUCCESS ? "cmd=spawn_result rc=0"
                                : fmt::format("cmd=spawn_result rc=-1 msg={}", PMIx_Error_string(status));
}

std::string Agent::get(const Request& request) const {
  std::optional<std::string> value;
  if (request.space == job_.name())
    value = request.key == "PMI_process_mapping" ? job_.process_mapping() : job_.get(request.key);
  return value && is_value(*value) ? fmt::format("cmd=get_result rc=0 msg=success value={}", *value)
                                   : "cmd=get_result rc=-1 msg=key_not_found value=unknown";
}

}  // namespace weft::pmi
