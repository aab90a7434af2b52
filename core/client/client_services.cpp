// SPDX-License-Identifier: BSD-3-Clause
// Fences, and what only the server can do for a client.
#include <algorithm>
#include <future>

#include "core/client/client.hpp"
#include "core/client/tool.hpp"
#include "core/data/deadline.hpp"
#include "core/data/status.hpp"

namespace weft::client {

using link::MessageType;

namespace {

struct FenceDirectives {
  bool collect = false;
  data::Timeout timeout;

  static Result<FenceDirectives> parse(const pmix_info_t* infos, std::size_t count) {
    FenceDirectives out;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view key(infos[i].key, ::strnlen(infos[i].key, PMIX_MAX_KEYLEN));
      if (key == PMIX_COLLECT_DATA) out.collect = data::is_true(infos[i].value);
      if (key == PMIX_TIMEOUT) {
        const auto given = data::timeout_of(infos[i].value);
        if (!given) return fail(given.error());
        if (*given) out.timeout = *given;
      }
    }
    return out;
  }
  data::Deadline deadline() const { return data::deadline_after(timeout); }
};

/// The status that an answer of type done carries.
pmix_status_t status_in(const Result<link::Frame>& answer) {
  if (!answer) return data::to_status(answer.error());
  const auto done = link::decode<link::Done>(answer->payload);
  return done ? done->status : PMIX_ERR_COMM_FAILURE;
}

}  // namespace

/// Is this set of processes all of my job? Then the board serves it, however the caller spelt it.
bool Client::whole_job(const pmix_proc_t* procs, std::size_t nprocs) const noexcept {
  if (procs == nullptr || nprocs == 0) return true;
  const auto mine = link::nspace_of(self_);
  bool wildcard = false;
  for (std::size_t i = 0; i < nprocs; ++i) {
    if (link::nspace_of(procs[i]) != mine) return false;
    wildcard |= procs[i].rank == PMIX_RANK_WILDCARD;
  }
  if (wildcard) return true;
  if (!own_job_ || nprocs < own_job_.ranks()) return false;
  std::vector<bool> named(own_job_.ranks());
  for (std::size_t i = 0; i < nprocs; ++i) {
    if (procs[i].rank >= named.size()) return false;
    named[procs[i].rank] = true;
  }
  return std::all_of(named.begin(), named.end(), [](bool n) { return n; });
}

pmix_status_t Client::fence(const pmix_proc_t* procs, std::size_t nprocs, const pmix_info_t* infos,
                            std::size_t ninfo) {
  const auto how = FenceDirectives::parse(infos, ninfo);
  if (!how) return PMIX_ERR_BAD_PARAM;
  if (board_fence_ && !connection_->on_thread() && whole_job(procs, nprocs))
    return board_fence_->enter(how->deadline(), how->collect);
  const auto ended = std::make_shared<std::promise<pmix_status_t>>();
  const auto started =
      fence_later(procs, nprocs, infos, ninfo, [ended](pmix_status_t s) { ended->set_value(s); });
  return started == PMIX_SUCCESS ? await(ended->get_future()) : started;
}

pmix_status_t Client::fence_later(const pmix_proc_t* procs, std::size_t nprocs, const pmix_info_t* infos,
                                  std::size_t ninfo, std::function<void(pmix_status_t)> done) {
  const auto how = FenceDirectives::parse(infos, ninfo);
  if (!how) return PMIX_ERR_BAD_PARAM;
  const bool whole = whole_job(procs, nprocs);
  if (singleton_) {
    if (!whole) return PMIX_ERR_UNREACH;
    connection_->run_later([done = std::move(done)] { done(PMIX_SUCCESS); });
    return PMIX_SUCCESS;
  }
  if (whole && board_fence_) {
    board_fence_->enter_later(how->deadline(), how->collect, std::move(done));
    return PMIX_SUCCESS;
  }
  return fence_through_server(procs, nprocs, infos, ninfo, std::move(done));
}

pmix_status_t Client::fence_through_server(const pmix_proc_t* procs, std::size_t nprocs,
                                           const pmix_info_t* infos, std::size_t ninfo,
                                           std::function<void(pmix_status_t)> done) {
  link::Fence message;
  if (nprocs == 0)
    message.procs.push_back(link::make_proc(link::nspace_of(self_), PMIX_RANK_WILDCARD));
  else
    message.procs.assign(procs, procs + nprocs);
  auto directives = data::Infos::copy_of(infos, ninfo);
  if (!directives) return PMIX_ERR_BAD_PARAM;
  message.directives = std::move(*directives);
  connection_->request(MessageType::fence, link::encode(message),
                       [done = std::move(done)](Result<link::Frame> answer) { done(status_in(answer)); });
  return PMIX_SUCCESS;
}

pmix_status_t Client::abort(int status, std::string_view message, const pmix_proc_t* procs,
                            std::size_t nprocs) {
  if (singleton_) return PMIX_ERR_UNREACH;
  link::Abort request{status, std::string(message), {}};
  if (nprocs != 0) request.procs.assign(procs, procs + nprocs);
  return status_in(connection_->ask(MessageType::abort, link::encode(request)));
}

void Client::log_later(data::Infos records, data::Infos directives, std::function<void(pmix_status_t)> done) {
  const link::Log message{std::move(records), std::move(directives)};
  connection_->request(MessageType::log, link::encode(message),
                       [done = std::move(done)](Result<link::Frame> answer) { done(status_in(answer)); });
}

void Client::query_later(link::Query query, std::function<void(pmix_status_t, data::Infos)> done) {
  query_through(*connection_, query, std::move(done));
}

pmix_status_t Client::cleanup(const pmix_info_t* infos, std::size_t ninfo) {
  if (singleton_) return PMIX_ERR_UNREACH;
  auto copy = data::Infos::copy_of(infos, ninfo);
  if (!copy) return PMIX_ERR_BAD_PARAM;
  const auto sent = connection_->send(MessageType::cleanup, link::encode(link::Cleanup{std::move(*copy)}));
  return sent ? PMIX_SUCCESS : PMIX_ERR_LOST_CONNECTION;
}

}  // namespace weft::client
