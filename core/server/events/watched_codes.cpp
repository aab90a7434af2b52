// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/events/watched_codes.hpp"

namespace weft::server {
namespace {

/// A code of the environment, or none of the Standard's.
bool is_of_host(pmix_status_t code) {
  return code > 0 || code < PMIX_EXTERNAL_ERR_BASE ||
         (code <= PMIX_EVENT_SYS_BASE && code >= PMIX_EVENT_SYS_OTHER);
}

}  // namespace

void WatchedCodes::add(const EventWishes& wishes, data::Infos infos, Done done) {
  const bool may_ask = host_.offers(&pmix_server_module_t::register_events);
  std::vector<pmix_status_t> added;
  for (const auto code : wishes.codes) {
    if (!is_of_host(code)) continue;
    auto& watch = codes_[code];
    ++watch.clients;
    if (watch.is_with_host || !may_ask) continue;
    watch.is_with_host = true;
    added.push_back(code);
  }
  const bool adds_all = wishes.all && ++all_.clients != 0 && !all_.is_with_host && may_ask;
  if (adds_all) all_.is_with_host = true;
  if (added.empty() && !adds_all) return done(PMIX_SUCCESS);
  auto names = added;
  host_.register_events(
      std::move(names), std::move(infos),
      [this, added = std::move(added), adds_all, done = std::move(done)](pmix_status_t status) {
        if (status != PMIX_SUCCESS) refused(added, adds_all);
        done(status == PMIX_ERR_NOT_SUPPORTED ? PMIX_SUCCESS : status);
      });
}

/// The next client that wants one of these asks again, and no end is told of them.
void WatchedCodes::refused(const std::vector<pmix_status_t>& codes, bool all) {
  for (const auto code : codes)
    if (const auto found = codes_.find(code); found != codes_.end()) found->second.is_with_host = false;
  if (all) all_.is_with_host = false;
}

void WatchedCodes::remove(const EventWishes& wishes) {
  for (const auto code : wishes.codes)
    if (const auto found = codes_.find(code); found != codes_.end()) --found->second.clients;
  if (wishes.all && all_.clients != 0) --all_.clients;
  release();
}

void WatchedCodes::release() {
  std::vector<pmix_status_t> unwanted;
  std::erase_if(codes_, [&](const auto& entry) {
    const auto& [code, watch] = entry;
    if (watch.clients != 0 || (watch.is_with_host && own_.names(code))) return false;
    if (watch.is_with_host) unwanted.push_back(code);
    return true;
  });
  if (!unwanted.empty()) host_.deregister_events(std::move(unwanted), [](pmix_status_t) {});
  if (all_.clients != 0 || !all_.is_with_host) return;
  all_.is_with_host = false;
  host_.deregister_events({}, [](pmix_status_t) {});
}

}  // namespace weft::server
