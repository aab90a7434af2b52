// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/wire2/conversation.hpp"

#include <pmix.h>

#include <algorithm>
#include <utility>

#include "pmi/job/attributes.hpp"
#include "pmi/job/opening.hpp"
#include "pmi/spawn/preput.hpp"

namespace weft::pmi::wire2 {
namespace {

constexpr std::chrono::milliseconds first_pause{1}, longest_pause{64};
constexpr std::size_t most_waits = 64;

std::string end(Reply reply, Code code, std::string_view text = {}) {
  return reply.end(static_cast<int>(code), text);
}

std::string end(Reply reply, pmix_status_t status) {
  if (status == PMIX_SUCCESS) return end(std::move(reply), Code::success);
  return end(std::move(reply), status == PMIX_ERR_NOMEM ? Code::no_memory : Code::other,
             PMIx_Error_string(status));
}

/// A text that is not there is no error: flag says so in MPICH's documents, and found to its client. A rank
/// may have put a longer text by another interface.
std::string end_with_text(Reply reply, const std::optional<std::string>& text, std::size_t room) {
  if (text && text->size() >= room)
    return end(std::move(reply), Code::invalid_value_length, "the value is too long for PMI-2");
  reply.add("flag", text.has_value()).add("found", text.has_value());
  if (text) reply.add("value", *text);
  return end(std::move(reply), Code::success);
}

}  // namespace

Conversation::Step Conversation::next(std::string_view& bytes) {
  auto [message, is_error, text] = reader_.next(bytes);
  if (is_error) return {.is_error = true, .bytes = std::move(text)};
  return message ? answer(*message) : Step{};
}

Conversation::Step Conversation::answer(const Message& message) {
  const auto [request, code, text] = read_request(message);
  if (request) return answer(*request, message);
  return {.reply = end(Reply(answered_command(message), thread_of(message)), code, text)};
}

Conversation::Step Conversation::answer(const Request& request, const Message& message) {
  Reply reply(answered_command(message), thread_of(message));
  if (request.command == Command::fullinit) return init(std::move(reply));
  if (!job_.is_open())
    return {.reply = end(std::move(reply), Code::not_initialized, "a request before fullinit")};
  switch (request.command) {
    case Command::abort:
      // No reply: the program waits for its end. What ends one process alone is that process's exit status.
      if (request.is_whole_job) (void)job_.abort(1, request.text.empty() ? nullptr : request.text.c_str());
      return {};
    case Command::finalize:
      return {.reply = finalize(std::move(reply)), .is_over = true};
    case Command::spawn:
    case Command::spawn_command:
      return {.reply = spawn(message)};
    case Command::info_getnodeattr:
      return {.reply = get_of_node(request, std::move(reply), thread_of(message))};
    default:
      return {.reply = reply_to(request, std::move(reply))};
  }
}

std::string Conversation::reply_to(const Request& request, Reply reply) {
  switch (request.command) {
    case Command::job_getid:
      return end(std::move(reply.add("jobid", job_.name())), Code::success);
    case Command::job_connect:
      return connect(request, std::move(reply));
    case Command::job_disconnect:
      return end(std::move(reply), job_.disconnect(request.job));
    case Command::kvs_put:
      return end(std::move(reply), job_.put(request.key, request.value));
    case Command::kvs_get:
      return get(request, std::move(reply));
    case Command::kvs_fence:
      return end(std::move(reply), job_.fence());
    case Command::info_putnodeattr:
      pause_ = first_pause;
      return end(std::move(reply), job_.put_on_node(request.key, request.value));
    case Command::info_getjobattr:
      return end_with_text(std::move(reply), attribute_of_job(job_, request.key), value_room);
    case Command::name_publish:
      return end(std::move(reply), job_.publish(request.service, request.port));
    case Command::name_lookup:
      return look_up(request, std::move(reply));
    case Command::name_unpublish:
      return end(std::move(reply), job_.unpublish(request.service));
    default:
      return {};  // see answer()
  }
}

/// A child of an order that came by PMIx itself is not told of its parent: it would ask for that job's port,
/// which was not put.
Conversation::Step Conversation::init(Reply reply) {
  auto failure = open_job(job_, told_size_);
  reply.add("pmi-version", "2").add("pmi-subversion", "0");
  if (!failure.empty()) {
    auto text = end(std::move(reply), Code::other, failure);
    return {.reply = std::move(text), .complaint = std::move(failure)};
  }
  reply.add("rank", std::to_string(job_.rank())).add("size", std::to_string(job_.size()));
  reply.add("appnum", std::to_string(job_.app_number()));
  const auto parent = own_preput() ? job_.parent() : std::nullopt;
  if (parent) reply.add("spawner-jobid", *parent);
  reply.add("debugged", false).add("pmiverbose", false);
  return {.reply = end(std::move(reply), Code::success)};
}

/// Threads that still wait are told first, for nothing is read after the end.
std::string Conversation::finalize(Reply reply) {
  std::string replies;
  for (const auto& wait : std::exchange(waits_, {}))
    replies += end(Reply("info-getnodeattr", wait.thread), Code::not_initialized, "finalize has come");
  return replies + end(std::move(reply), job_.close());
}

/// The reply comes when the children run; none: programs of the order are to come.
std::string Conversation::spawn(const Message& message) {
  const auto step = message.command == "spawn" ? spawn_.begin(message) : spawn_.add(message);
  if (step == SpawnFields::Step::more) return {};
  Reply reply("spawn", thread_of(message));
  if (step == SpawnFields::Step::is_wrong)
    return end(std::move(reply), Code::invalid_argument, "the fields are no programs to start");
  const auto spawned = job_.spawn(spawn_.release());
  if (spawned.status == PMIX_SUCCESS) reply.add("jobid", spawned.job).add("nerrs", "0");
  return end(std::move(reply), spawned.status);
}

std::string Conversation::get(const Request& request, Reply reply) const {
  const bool is_own = request.job.empty() || request.job == job_.name();
  if (!is_own && !job_.is_connected(request.job))
    return end(std::move(reply), Code::invalid_argument, "the job is not connected");
  const auto found =
      is_own ? job_.get(request.key, request.source) : job_.get_of(request.job, request.key, request.source);
  return end_with_text(std::move(reply), found, value_room);
}

/// The servers see the values of all jobs, so the program has none to copy.
std::string Conversation::connect(const Request& request, Reply reply) {
  const auto status = job_.connect(request.job);
  if (status == PMIX_SUCCESS) reply.add("kvscopy", false);
  return end(std::move(reply), status);
}

std::string Conversation::get_of_node(const Request& request, Reply reply, std::string thread) {
  const auto found = attribute_of_node(job_, request.key);
  if (found || !request.is_waiting) return end_with_text(std::move(reply), found, value_room);
  if (waits_.size() == most_waits) return end(std::move(reply), Code::other, "too many requests wait");
  waits_.push_back({std::move(thread), request.key});
  pause_ = first_pause;
  return {};
}

/// The port is a value in MPICH's documents, and a port to its client.
std::string Conversation::look_up(const Request& request, Reply reply) const {
  const auto port = job_.look_up(request.service);
  if (port && port->size() < port_room) reply.add("port", *port);
  return end_with_text(std::move(reply), port, port_room);
}

std::string Conversation::answer_waits() {
  std::string replies;
  std::erase_if(waits_, [&](const Wait& wait) {
    const auto found = attribute_of_node(job_, wait.key);
    if (found) replies += end_with_text(Reply("info-getnodeattr", wait.thread), found, value_room);
    return found.has_value();
  });
  pause_ = std::min(pause_ * 2, longest_pause);
  return replies;
}

std::optional<std::chrono::milliseconds> Conversation::pause() const {
  return waits_.empty() ? std::nullopt : std::optional(pause_);
}

}  // namespace weft::pmi::wire2
