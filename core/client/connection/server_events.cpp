// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/connection/server_events.hpp"

#include <memory>

#include "core/client/connection/request.hpp"
#include "core/link/requests.hpp"

namespace weft::client {

using link::MessageType;

namespace {

/// A failed request is told as the loss of the server.
pmix_status_t status_in(const Result<link::Frame>& answer) {
  const auto ended = answer ? link::decode<link::Done>(answer->payload) : fail(answer.error());
  return ended ? ended->status : PMIX_ERR_LOST_CONNECTION;
}

}  // namespace

/// False: the server sends these already. A default handler is no reason to leave out a code: events may be
/// for those alone that name it.
bool ServerEvents::add(std::size_t handler, const std::vector<pmix_status_t>& codes) {
  const std::lock_guard lock(mutex_);
  codes_of_.emplace(handler, codes);
  bool is_new = false;
  const auto count = [&](Interest& interest) {
    ++interest.handlers;
    is_new |= !interest.is_confirmed;
  };
  if (codes.empty()) count(in_all_);
  for (const auto code : codes) count(by_code_[code]);
  return is_new;
}

/// The codes that no handler wants any more; no code: default handlers. Nothing: other handlers want all of
/// its codes, or none was wanted.
std::optional<std::vector<pmix_status_t>> ServerEvents::remove(std::size_t handler) {
  const std::lock_guard lock(mutex_);
  const auto known = codes_of_.extract(handler);
  if (known.empty()) return std::nullopt;
  std::vector<pmix_status_t> unwanted;
  if (known.mapped().empty()) {
    if (--in_all_.handlers != 0) return std::nullopt;
    in_all_.is_confirmed = false;
    return unwanted;
  }
  for (const auto code : known.mapped()) {
    const auto interest = by_code_.find(code);
    if (interest == by_code_.end() || --interest->second.handlers != 0) continue;
    by_code_.erase(interest);
    unwanted.push_back(code);
  }
  return unwanted.empty() ? std::nullopt : std::optional(std::move(unwanted));
}

void ServerEvents::confirm(const std::vector<pmix_status_t>& codes) {
  const std::lock_guard lock(mutex_);
  if (codes.empty()) in_all_.is_confirmed = in_all_.handlers != 0;
  for (const auto code : codes)
    if (const auto interest = by_code_.find(code); interest != by_code_.end())
      interest->second.is_confirmed = true;
}

void ServerEvents::subscribe(std::size_t handler, std::vector<pmix_status_t> codes, Done done) {
  const std::lock_guard lock(sending_);
  if (!add(handler, codes)) return connection_.run_later([done = std::move(done)] { done(PMIX_SUCCESS); });
  const auto message = link::encode(link::Subscribe{codes});
  connection_.request(
      MessageType::subscribe, message,
      [this, codes = std::move(codes), done = std::move(done)](const Result<link::Frame>& answer) {
        const auto status = status_in(answer);
        if (status == PMIX_SUCCESS) confirm(codes);
        done(status);
      });
}

void ServerEvents::unsubscribe(std::size_t handler) {
  const std::lock_guard lock(sending_);
  auto unwanted = remove(handler);
  if (unwanted)
    (void)connection_.send(MessageType::unsubscribe, link::encode(link::Unsubscribe{std::move(*unwanted)}));
}

/// The call ends before its handlers run: the caller may hold a lock that a handler takes, as Python's module
/// pmix holds the interpreter's.
void ServerEvents::notify_here(events::Event event, Done done) {
  events::stamp(event);
  auto shared = std::make_shared<events::Event>(std::move(event));
  connection_.run_later([done = std::move(done)] { done(PMIX_SUCCESS); });
  connection_.run_later([this, shared] { handlers_.deliver(std::move(*shared)); });
}

void ServerEvents::notify(events::Event event, Done done) {
  if (event.range == PMIX_RANGE_PROC_LOCAL) return notify_here(std::move(event), std::move(done));
  const bool is_for_host = event.range == PMIX_RANGE_RM;
  auto message = link::EventMessage{event.code, event.source, event.range, {}};
  if (auto copy = data::Infos::copy_of(event.infos.data(), event.infos.size()))
    message.infos = std::move(*copy);  // the server says when it came
  events::stamp(event);
  // Our own handlers on our thread, in the order in which events are raised.
  auto shared = std::make_shared<events::Event>(std::move(event));
  if (!is_for_host) connection_.run_later([this, shared] { handlers_.deliver(std::move(*shared)); });
  connection_.request(
      MessageType::notify, link::encode(message),
      [done = std::move(done)](const Result<link::Frame>& answer) { done(status_in(answer)); });
}

void ServerEvents::deliver(const link::Frame& frame) {
  auto message = link::decode<link::EventMessage>(frame.payload);
  if (message)
    handlers_.deliver({message->code, message->source, message->range, std::move(message->infos),
                       std::nullopt, frame.payload.size()});
}

/// The verdict may be due when the process has long finalized: then nothing is sent.
void ServerEvents::answer(const link::Frame& frame) {
  auto question = link::decode<link::GroupQuestion>(frame.payload);
  if (!question || question->codes.empty()) return;
  auto code = question->codes.front();
  for (const auto each : question->codes)
    if (handlers_.names(each)) {
      code = each;
      break;
    }
  question->infos.add(PMIX_EVENT_NON_DEFAULT, data::Value::of(true));
  question->infos.add(PMIX_EVENT_DO_NOT_CACHE, data::Value::of(true));
  events::Event event{code, question->source, PMIX_RANGE_SESSION, std::move(question->infos)};
  events::stamp(event);
  handlers_.deliver(std::move(event), [this, number = question->number](events::End end) {
    if (end.outcome == events::Outcome::closed) return;
    using By = link::GroupVerdict::By;
    const auto by = end.outcome == events::Outcome::no_handler ? By::no_handler : By::handlers;
    (void)connection_.send(MessageType::group_verdict,
                           link::encode(link::GroupVerdict{number, by, end.verdict, std::move(end.results)}));
  });
}

}  // namespace weft::client
