// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cards/far_keys.hpp"

#include <utility>

#include "core/data/names/status.hpp"
#include "core/server/jobs/localities.hpp"

namespace weft::server {

FarKeys::FarKeys(Jobs& jobs, Cluster& cluster) : jobs_(jobs), cluster_(cluster) {
  cluster_.on(RequestType::far_key, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    auto message = base::decode<FarKeyMessage>(body);
    if (!message || !store::is_reserved(message->key)) return reply(PMIX_ERR_BAD_PARAM, {});
    // This node's launch may be behind the other's.
    const auto nspace = message->nspace;
    jobs_.when_registered(nspace, [this, message = std::move(*message), reply] {
      const auto value = answer(message);
      value ? reply(PMIX_SUCCESS, *value) : reply(data::to_status(value.error()), {});
    });
  });
}

Result<store::Encoded> FarKeys::answer(const FarKeyMessage& message) const {
  auto* job = jobs_.find(message.nspace);
  if (job == nullptr) return fail(Errc::not_found);
  make_localities(*job);
  store::GetDirectives how;
  if (message.is_of_node) {
    how.realm = store::Realm::node;
    how.nodeid = job->view().my_node();
  }
  return store::lookup_encoded(job->view(), message.rank, message.key, how, {});
}

void FarKeys::ask(NodeNumber node, const FarKeyMessage& message, Told told) {
  if (node >= cluster_.servers().count() || node == cluster_.self()) return told(PMIX_ERR_UNREACH, {});
  cluster_.send(node, RequestType::far_key, base::encode(message),
                [told = std::move(told)](pmix_status_t status, Bytes body) {
                  told(status, {body.begin(), body.end()});
                });
}

}  // namespace weft::server
