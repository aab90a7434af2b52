// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/rooms.hpp"

#include "core/data/names/status.hpp"

namespace weft::server {

pmix_status_t Rooms::register_nspace(const std::string& nspace, int local_size, const data::Infos& infos) {
  if (nspace.empty() || nspace.size() > PMIX_MAX_NSLEN || local_size < 0) return PMIX_ERR_BAD_PARAM;
  ends.make_room_for(nspace);
  auto& job = jobs.announce(nspace);
  job.card_key = card_key(cluster, nspace);
  bool is_new = false;
  if (const auto ok = jobs.register_job(job, local_size, infos, is_new); !ok) {
    if (!job.writer && job.clients.empty()) jobs.erase(nspace);  // nothing stays of it
    const auto status = data::to_status(ok.error());
    const bool is_of_memory = status == PMIX_ERR_OUT_OF_RESOURCE || status == PMIX_ERR_NOMEM;
    return is_of_memory ? status : PMIX_ERR_BAD_PARAM;  // else what the host says makes no sense
  }
  if (!is_new) return PMIX_SUCCESS;
  // Processes of other namespaces know it, and may name it.
  job.has_met = data::is_set(infos, PMIX_SPAWNED);
  cards.offer(job);
  fences.open_job(job);
  jobs.announce_registered(nspace);
  return PMIX_SUCCESS;
}

bool Rooms::end_nspace(const std::string& nspace) {
  auto* job = jobs.find_announced(nspace);
  if (job == nullptr || job->has_ended) return false;
  // A client that came in while the others were leaving comes too late.
  while (!job->connections.empty()) {
    const auto late = job->connections.begin()->second;
    late->finalized = true;
    late->close();
  }
  clients.forget(nspace);
  ends.namespace_ended(*job);
  return true;
}

void Rooms::connection_closed(const ConnectionRef& connection, bool is_expected) {
  ends.connection_closed(connection);
  tool_entry.closed(connection);
  clients.closed(connection, is_expected);
}

void Rooms::leave_cluster() {
  fences.stop_exchanging();
  operations.stop_exchanging();
  cluster.stop([this] { cards.close(); });
}

}  // namespace weft::server
