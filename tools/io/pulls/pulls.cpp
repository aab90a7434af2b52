// SPDX-License-Identifier: BSD-3-Clause
#include "tools/io/pulls/pulls.hpp"

#include <algorithm>
#include <utility>

namespace weft::io {

using job::Rank;
using job::Stream;

Pulls::Pulls(asio::io_context& loop, Deliver deliver, Events events, std::chrono::milliseconds patience)
    : deliver_(std::move(deliver)), events_(std::move(events)), patience_(patience), timer_(loop) {}

// ---- jobs

void Pulls::add_job(const std::string& nspace, Job job) {
  jobs_.emplace(nspace, Flows{std::move(job)});
}

void Pulls::remove_job(const std::string& nspace) {
  const auto job = jobs_.find(nspace);
  if (job == jobs_.end()) return;
  if (!job->second.kept.is_awaited()) return forget(nspace);
  for (const auto stream : {Stream::out, Stream::error}) end(nspace, stream);
  job->second.is_past = true;
  past_.push_back(nspace);
  if (past_.size() > most_past_jobs) forget(past_.front());
}

void Pulls::forget(const std::string& nspace) {
  const auto name = nspace;  // it may be one of those that go
  std::erase(past_, name);
  jobs_.erase(name);
}

void Pulls::lose_process(const job::ProcessName& process) {
  const auto past = past_;
  for (const auto& nspace : past)
    if (jobs_.at(nspace).kept.is_for(process)) forget(nspace);
}

void Pulls::drain(const std::string& nspace) {
  const auto job = jobs_.find(nspace);
  if (job == jobs_.end()) return;
  job->second.is_draining = true;
  watch();
}

bool Pulls::is_drained(const std::string& nspace) const {
  return std::all_of(readers_.begin(), readers_.end(),
                     [&](const Reader& reader) { return reader.pull->is_drained(nspace); });
}

// ---- pulls

void Pulls::request(std::uint32_t node, const job::PullRequest& request,
                    const std::function<void(pmix_status_t)>& reply) {
  if (!request.ends) {
    const auto status = check(request);
    reply(status);
    return status == PMIX_SUCCESS ? begin(node, request) : void();
  }
  // One that is over already has ended.
  remove_readers([&](const Reader& reader) { return reader.pull->name() == request.name; });
  reply(PMIX_SUCCESS);
}

pmix_status_t Pulls::check(const job::PullRequest& request) const {
  if (request.targets.empty() || (!request.out && !request.error)) return PMIX_ERR_BAD_PARAM;
  for (const auto& target : request.targets) {
    const auto job = jobs_.find(target.nspace);
    if (job == jobs_.end()) return PMIX_ERR_NOT_FOUND;
    const bool has_all = std::all_of(target.ranks.begin(), target.ranks.end(),
                                     [&](Rank rank) { return number(rank) < job->second.ranks; });
    if (!has_all) return PMIX_ERR_BAD_PARAM;
    if (job->second.is_in_files) return PMIX_ERR_NOT_SUPPORTED;
  }
  return readers_.size() < most_pulls ? PMIX_SUCCESS : PMIX_ERR_OUT_OF_RESOURCE;
}

void Pulls::begin(std::uint32_t node, const job::PullRequest& request) {
  const auto deliver = [this, node, name = request.name](const Flow& flow, const std::string& bytes,
                                                         std::function<void()> delivered) {
    deliver_(node, name, flow, bytes, std::move(delivered));
  };
  const auto pull =
      std::make_shared<Pull>(request, deliver, [this](const std::string&) { events_.drained(); });
  readers_.push_back({node, pull});
  for (auto& [nspace, flows] : jobs_)
    if (pull->is_of(nspace)) tell_past(*pull, nspace, flows);
  const auto past = past_;
  for (const auto& nspace : past)
    if (!jobs_.at(nspace).kept.is_awaited()) forget(nspace);
}

/// What was kept for this reader, and which streams have ended.
void Pulls::tell_past(Pull& pull, const std::string& nspace, Flows& flows) {
  if (flows.kept.is_for(pull.name().puller))
    for (auto& [flow, bytes] : flows.kept.take(pull.request().out, pull.request().error))
      if (pull.covers(flow)) pull.write(flow, std::make_shared<const std::string>(std::move(bytes)), [] {});
  const auto nothing = std::make_shared<const std::string>();
  for (const auto& flow : flows.ended)
    if (pull.covers(flow)) pull.write(flow, nothing, [] {});
  if (flows.is_draining && !pull.is_drained(nspace)) watch();
}

void Pulls::lose_node(std::uint32_t node) {
  remove_readers([node](const Reader& reader) { return reader.node == node; });
}

/// The readers go first: what waits for them may bring the next chunk.
template <class Which>
void Pulls::remove_readers(Which&& which) {
  const auto kept = std::stable_partition(readers_.begin(), readers_.end(),
                                          [&](const Reader& reader) { return !which(reader); });
  const std::vector<Reader> removed(kept, readers_.end());
  readers_.erase(kept, readers_.end());
  for (const auto& reader : removed) reader.pull->close();
}

// ---- flows

bool Pulls::want(const Flow& flow) const {
  return std::any_of(readers_.begin(), readers_.end(),
                     [&](const Reader& reader) { return reader.pull->covers(flow); });
}

bool Pulls::redirect(const Flow& flow) const {
  return std::any_of(readers_.begin(), readers_.end(), [&](const Reader& reader) {
    return reader.pull->redirects() && reader.pull->covers(flow);
  });
}

void Pulls::write(const Flow& flow, const std::string& bytes, const std::function<void()>& taken) {
  const auto job = jobs_.find(flow.nspace);
  const bool is_open = job != jobs_.end() && job->second.ended.count(flow) == 0;
  if (is_open && bytes.empty()) job->second.ended.insert(flow);
  if (is_open) job->second.kept.add(flow, bytes);
  std::vector<std::shared_ptr<Pull>> readers;  // one may go meanwhile
  for (const auto& reader : readers_)
    if (is_open && reader.pull->covers(flow)) readers.push_back(reader.pull);
  if (readers.empty()) return taken();
  // The last copy of it ends when each reader may get more.
  const std::shared_ptr<void> all_taken(nullptr, [taken](void*) { taken(); });
  const auto shared = std::make_shared<const std::string>(bytes);
  for (const auto& pull : readers) pull->write(flow, shared, [all_taken] {});
  watch();
}

void Pulls::end(const std::string& nspace, Stream stream) {
  const auto job = jobs_.find(nspace);
  if (job == jobs_.end()) return;
  for (std::uint32_t rank = 0; rank < job->second.ranks; ++rank)
    write({nspace, Rank{rank}, stream}, {}, [] {});
}

// ---- slow readers

/// Ranks wait for it, or the end of a job does.
bool Pulls::is_awaited(const Reader& reader) const {
  return reader.pull->is_full() || std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& job) {
           return job.second.is_draining && !reader.pull->is_drained(job.first);
         });
}

void Pulls::watch() {
  const auto is_awaited_one = [this](const Reader& reader) { return is_awaited(reader); };
  if (is_watching_ || std::none_of(readers_.begin(), readers_.end(), is_awaited_one)) return;
  is_watching_ = true;
  for (const auto& reader : readers_) reader.pull->has_moved();
  timer_.expires_after(patience_);
  timer_.async_wait([this](const asio::error_code& error) {
    if (error) return;
    is_watching_ = false;
    drop_idle();
    watch();
  });
}

void Pulls::drop_idle() {
  std::vector<Reader> idle;
  for (const auto& reader : readers_)
    if (is_awaited(reader) && !reader.pull->has_moved()) idle.push_back(reader);
  for (const auto& [node, pull] : idle) {
    remove_readers([&](const Reader& reader) { return reader.pull == pull; });
    events_.dropped(node, pull->name());
  }
}

}  // namespace weft::io
