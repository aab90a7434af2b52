// SPDX-License-Identifier: BSD-3-Clause
// The API half: any thread in, the loop thread does it.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/server/host/launch_info.hpp"
#include "core/server/server.hpp"

namespace weft::server {

void Server::run_later(std::function<void()> task) {
  asio::post(loop_, std::move(task));
}

pmix_status_t Server::wait_for(const std::function<void(Done)>& work) {
  std::promise<pmix_status_t> promise;
  auto status = promise.get_future();
  if (!on_loop()) {
    run_later([&] { work([&](pmix_status_t s) { promise.set_value(s); }); });
    return status.get();
  }
  work([&](pmix_status_t s) { promise.set_value(s); });
  while (status.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    drain_notices();
    if (nodes_) turn_nodes();
    loop_.run_one_for(std::chrono::milliseconds(1));
  }
  return status.get();
}

void Server::register_nspace(std::string nspace, int local_size, data::Infos infos, Done done) {
  auto held = std::make_shared<data::Infos>(std::move(infos));
  run_later([this, nspace = std::move(nspace), local_size, held, done = std::move(done)]() mutable {
    if (nspace.empty() || nspace.size() > PMIX_MAX_NSLEN || local_size < 0) return done(PMIX_ERR_BAD_PARAM);
    build_job(job_entry(nspace), local_size, *held, std::move(done));
  });
}

void Server::deregister_nspace(std::string nspace, Done done) {
  run_later([this, nspace = std::move(nspace), done = std::move(done)] {
    if (is_somebody_at_the_door()) return deregister_nspace(nspace, done);
    const auto* job = find_job(nspace);
    if (job == nullptr) return done(PMIX_ERR_NOT_FOUND);
    // Begins with one more than there are, for this function itself.
    const auto left = std::make_shared<std::size_t>(job->sessions.size() + 1);
    const auto one_less = [this, nspace, done, left] {
      if (--*left == 0) forget_nspace(nspace, done);
    };
    std::vector<SessionRef> open;
    for (const auto& [index, session] : job->sessions) open.push_back(session);
    for (const auto& session : open) {
      session->finalized = session->leaving =
          true;  // the host knows what it does: nobody is to be told of a loss
      session->close_after_last_words(one_less);
    }
    one_less();
  });
}

void Server::forget_nspace(const std::string& nspace, const Done& done) {
  auto* job = find_job(nspace);
  if (job == nullptr) return done(PMIX_ERR_NOT_FOUND);
  // Who came in while the others were leaving comes too late.
  while (!job->sessions.empty()) {
    const auto late = job->sessions.begin()->second;
    late->finalized = true;
    late->close();
  }
  // Processes of other namespaces may be in a fence with it.
  std::vector<SetFence*> with_it;
  for (const auto& fence : fences_)
    if (std::any_of(fence->signature.begin(), fence->signature.end(),
                    [&](const pmix_proc_t& p) { return link::nspace_of(p) == nspace; }))
      with_it.push_back(fence.get());
  for (auto* fence : with_it) step_fence(*fence, FenceEvent::lost, PMIX_ERR_UNREACH);
  if (modex_) modex_->withdraw(nspace);
  if (node_fences_) node_fences_->forget(nspace);
  if (job->writer) job->writer->retire(*segment_);
  tokens_.forget(nspace);
  events_->forget_namespace(nspace);
  board_clocks_.erase(nspace);
  for (auto& [signature, cards] : sent_)
    std::erase_if(cards, [&](const auto& card) { return card.first.first == nspace; });
  std::erase_if(sent_, [](const auto& set) { return set.second.empty(); });
  jobs_.erase(nspace);
  retry_gets_of(nspace);  // whoever waits for its data waits for nothing
  done(PMIX_SUCCESS);
}

void Server::register_client(pmix_proc_t proc, Registered client, Done done) {
  run_later([this, proc, client, done = std::move(done)] {
    auto& job = job_entry(std::string(link::nspace_of(proc)));
    job.clients[proc.rank] = client;
    if (!job.writer) return done(PMIX_SUCCESS);
    done(job.writer->add_local(proc.rank) ? PMIX_SUCCESS : PMIX_ERR_OUT_OF_RESOURCE);
  });
}

/// In the backlog, or accepted with a greeting not yet read. Of a process that has ended the end of the socket can be
/// read until its greeting has been dealt with, so it is not missed in between.
bool Server::is_somebody_at_the_door() {
  const auto has_something = [](int fd) {
    pollfd p{fd, POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
  };
  if (full_since_) return false;  // without descriptors nobody comes in
  if (has_something(acceptor_->native_handle())) return true;
  return std::any_of(sessions_.begin(), sessions_.end(), [&](const SessionRef& session) {
    return !session->greeted && has_something(session->native_handle());
  });
}

void Server::deregister_client(pmix_proc_t proc, Done done) {
  run_later([this, proc, done = std::move(done)] {
    // A process that has ended may have connected without our having looked; the host hears of it before `done`.
    if (is_somebody_at_the_door()) return deregister_client(proc, done);
    auto* job = find_job(link::nspace_of(proc));
    if (job == nullptr || job->clients.erase(proc.rank) == 0) return done(PMIX_ERR_NOT_FOUND);
    const auto index = job->writer ? job->view().local_index(proc.rank) : store::none;
    if (index == store::none) return done(PMIX_SUCCESS);
    // Nobody is to wait for it: not for one that is thrown out, and not for one that never came.
    const auto gone = [this, nspace = job->nspace, index, done] {
      if (auto* open = find_job(nspace); open != nullptr && open->writer && open->sessions.count(index) == 0)
        leave(*open, index, store::Local::gone, PMIX_ERR_PROC_ABORTED);
      done(PMIX_SUCCESS);
    };
    const auto session = job->sessions.find(index);
    if (session == job->sessions.end())
      return job->view().local(index).state.load() == store::Local::registered ? gone() : done(PMIX_SUCCESS);
    const auto open = session->second;
    const bool finalized = std::exchange(open->finalized, true);
    open->leaving = true;
    open->close_after_last_words(finalized ? std::function<void()>([done] { done(PMIX_SUCCESS); }) : gone);
  });
}

pmix_status_t Server::setup_fork(const pmix_proc_t& proc, char*** env) {
  using link::env_nspace, link::env_rank, link::env_server, link::env_token;
  std::vector<std::pair<std::string, std::string>> variables{
      {env_nspace, std::string(link::nspace_of(proc))},
      {env_rank, std::to_string(proc.rank)},
      {env_server, name_},
      {link::env_segment, std::to_string(::getpid()) + ":" + std::to_string(segment_->fd())},
      {env_token, tokens_.token_of(proc).hex()}};
  {
    const std::lock_guard lock(launch_mutex_);
    const auto found = launch_variables_.find(link::nspace_of(proc));
    if (found != launch_variables_.end())
      variables.insert(variables.end(), found->second.begin(), found->second.end());
  }
  for (const auto& [name, value] : variables)
    if (!set_variable(env, name, value)) return PMIX_ERR_NOMEM;
  return PMIX_SUCCESS;
}

void Server::setup_local_support(std::string nspace, data::Infos infos, Done done) {
  auto variables = read_launch_info(infos.data(), infos.size());
  const auto status = variables ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
  if (variables) {
    const std::lock_guard lock(launch_mutex_);
    launch_variables_[std::move(nspace)] = std::move(*variables);
  }
  run_later([status, done = std::move(done)] { done(status); });
}

void Server::dmodex_request(pmix_proc_t proc, std::function<void(pmix_status_t, Blob)> done) {
  run_later([this, proc, done = std::move(done)] { serve_card(proc, done); });
}

void Server::get(pmix_proc_t proc, std::string key, data::Infos infos,
                 std::function<void(pmix_status_t, data::Value)> done) {
  auto held = std::make_shared<data::Infos>(std::move(infos));
  run_later([this, proc, key = std::move(key), held, done = std::move(done)] {
    const auto how = store::GetDirectives::parse(held->data(), held->size());
    if (!how) return done(PMIX_ERR_BAD_PARAM, {});
    if (key.empty()) {
      data::Infos all;
      private_.collect(link::nspace_of(proc), proc.rank, all);
      const auto* job = find_job(link::nspace_of(proc));
      auto value = job != nullptr && job->writer ? store::lookup_all(job->view(), proc.rank, {})
                                                 : fail(Errc::not_found);
      if (!value && all.size() != 0) value = store::array_of(all);
      return value ? done(PMIX_SUCCESS, std::move(*value)) : done(PMIX_ERR_NOT_FOUND, {});
    }
    if (auto value = private_.find(link::nspace_of(proc), proc.rank, key))
      return done(PMIX_SUCCESS, std::move(*value));
    auto get = std::make_unique<ParkedGet>();
    get->proc = proc;
    get->key = key;
    get->hostname = how->hostname;
    get->how = *how;
    get->how.hostname = get->hostname;
    get->done = [done](pmix_status_t status, data::Value value, Blob) { done(status, std::move(value)); };
    serve_get(std::move(get));
  });
}

pmix_status_t Server::store_internal(const pmix_proc_t& proc, std::string_view key,
                                     const pmix_value_t& value) {
  if (key.empty() || key.size() > PMIX_MAX_KEYLEN) return PMIX_ERR_BAD_PARAM;
  return private_.store(link::nspace_of(proc), proc.rank, key, value) ? PMIX_SUCCESS
                                                                      : PMIX_ERR_UNKNOWN_DATA_TYPE;
}

pmix_status_t Server::resolve_peers(std::string_view node, std::string_view nspace,
                                    std::vector<pmix_proc_t>& out) {
  return wait_for([&](const Done& done) {
    const auto* job = find_job(nspace);
    if (job == nullptr || !job->writer) return done(PMIX_ERR_NOT_FOUND);
    const auto id = node.empty() ? job->view().my_node() : store::node_by_name(job->view(), node);
    for (const auto rank : store::ranks_on(job->view(), id)) out.push_back(link::make_proc(nspace, rank));
    done(out.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS);
  });
}

pmix_status_t Server::resolve_nodes(std::string_view nspace, std::string& out) {
  return wait_for([&](const Done& done) {
    const auto* job = find_job(nspace);
    if (job == nullptr || !job->writer) return done(PMIX_ERR_NOT_FOUND);
    out = store::node_names(job->view());
    done(out.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS);
  });
}

pmix_value_t* Server::keep(data::Value value) {
  const std::lock_guard lock(kept_mutex_);
  kept_.push_back(std::make_unique<data::Value>(std::move(value)));
  return &kept_.back()->get();
}

}  // namespace weft::server
