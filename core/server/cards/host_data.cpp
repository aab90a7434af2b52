// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cards/host_data.hpp"

#include "core/data/names/status.hpp"
#include "core/server/jobs/job_level.hpp"
#include "core/server/loop/waits.hpp"

namespace weft::server {

Result<data::Value> HostData::look_up(const pmix_proc_t& proc, std::string_view key,
                                      const store::GetDirectives& how) const {
  const auto nspace = link::nspace_of(proc);
  if (!key.empty())
    if (auto value = private_.find(nspace, proc.rank, key)) return value;
  const auto bytes = segment_.bytes();
  const auto at = store::find_job(bytes, nspace);
  const auto job = at ? store::JobView::open(bytes, *at) : fail(Errc::not_found);
  if (!key.empty()) {
    auto value = job ? store::lookup(*job, proc.rank, key, how, {}) : fail(Errc::not_found);
    if (value || how.realm != store::Realm::session || !how.session) return value;
    return store::lookup_session(bytes, *how.session, key);
  }
  auto all = job ? store::lookup_all(*job, proc.rank, {}) : fail(Errc::not_found);
  if (all) return all;
  data::Infos mine;
  private_.collect(nspace, proc.rank, mine);
  return mine.size() != 0 ? store::array_of(mine) : fail(Errc::not_found);
}

void HostData::get(pmix_proc_t proc, std::string key, data::Infos infos,
                   std::function<void(pmix_status_t, data::Value)> done) {
  auto held = std::make_shared<data::Infos>(std::move(infos));
  calls_.run_later([this, proc, key = std::move(key), held, done = answered_once(std::move(done))] {
    if (key.empty()) {
      auto value = look_up(proc, key, {});
      return value ? done(PMIX_SUCCESS, std::move(*value)) : done(PMIX_ERR_NOT_FOUND, {});
    }
    if (auto value = private_.find(link::nspace_of(proc), proc.rank, key))
      return done(PMIX_SUCCESS, std::move(*value));
    gets_.get({proc, key, std::move(*held), {}, true},
              [done](pmix_status_t status, const store::Encoded& bytes) {
                data::Reader in(bytes);
                auto value = status == PMIX_SUCCESS ? data::Value::decode(in) : fail(Errc::not_found);
                if (value) return done(status, std::move(*value));
                done(status == PMIX_SUCCESS ? data::to_status(value.error()) : status, {});
              });
  });
}

pmix_status_t HostData::store(const pmix_proc_t& proc, std::string_view key, const pmix_value_t& value) {
  if (key.empty() || key.size() > PMIX_MAX_KEYLEN) return PMIX_ERR_BAD_PARAM;
  if (key == PMIX_PROC_PID && value.type == PMIX_PID) {
    note_pid(proc, value.data.pid);
    return PMIX_SUCCESS;
  }
  return private_.store(link::nspace_of(proc), proc.rank, key, value) ? PMIX_SUCCESS
                                                                      : PMIX_ERR_UNKNOWN_DATA_TYPE;
}

/// A process has a pid before it connects, and for a debugger that counts.
void HostData::note_pid(const pmix_proc_t& proc, pid_t pid) {
  calls_.run_later([this, proc, pid] {
    auto* const job = jobs_.find_announced(link::nspace_of(proc));
    if (job == nullptr) return;
    const auto client = job->clients.find(proc.rank);
    if (client != job->clients.end()) client->second.pid = pid;
  });
}

pmix_value_t* HostData::keep(data::Value value) {
  const std::lock_guard lock(kept_mutex_);
  kept_.push_back(std::make_unique<data::Value>(std::move(value)));
  return &kept_.back()->get();
}

void HostData::card(pmix_proc_t proc, std::function<void(pmix_status_t, Blob)> done) {
  calls_.run_later([this, proc, done = answered_once(std::move(done))] {
    if (proc.rank == PMIX_RANK_WILDCARD) {
      const auto* job = jobs_.find(link::nspace_of(proc));
      auto all = job != nullptr ? encode_job_level(job->view()) : fail(Errc::not_found);
      return all ? done(PMIX_SUCCESS, std::move(*all)) : done(data::to_status(all.error()), {});
    }
    gets_.card({proc}, [done](Gets::CardReply reply) { done(reply.status, std::move(reply.card)); });
  });
}

void HostData::peers_on(std::string node, std::string nspace,
                        std::function<void(pmix_status_t, std::vector<pmix_proc_t>)> done) {
  calls_.run_later(
      [this, node = std::move(node), nspace = std::move(nspace), done = answered_once(std::move(done))] {
        const auto* job = jobs_.find(nspace);
        if (job == nullptr) return done(PMIX_ERR_NOT_FOUND, {});
        const auto id = node.empty() ? job->view().my_node() : store::node_by_name(job->view(), node);
        std::vector<pmix_proc_t> out;
        for (const auto rank : store::ranks_on(job->view(), id)) out.push_back(link::make_proc(nspace, rank));
        const auto status = out.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
        done(status, std::move(out));
      });
}

void HostData::nodes_of(std::string nspace, std::function<void(pmix_status_t, std::string)> done) {
  calls_.run_later([this, nspace = std::move(nspace), done = answered_once(std::move(done))] {
    const auto* job = jobs_.find(nspace);
    auto names = job == nullptr ? std::string() : store::node_names(job->view());
    const auto status = names.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
    done(status, std::move(names));
  });
}

}  // namespace weft::server
