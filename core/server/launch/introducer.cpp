// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/launch/introducer.hpp"

#include <algorithm>
#include <utility>

#include "base/log_format.hpp"

namespace weft::server {

Introducer::Opened Introducer::open(Loop& loop, std::string host, FabricPlan& plan) {
  const auto names = plan.nodes();
  if (!names) return {nullptr, "the node map cannot be read"};
  const auto key = mesh::JobKey::random();
  ClusterSpec spec;
  spec.self = static_cast<NodeNumber>(names->size());
  spec.nodes = spec.self + 1;
  spec.key = key;
  std::unique_ptr<Introducer> made(new Introducer(loop, std::move(host), plan.members));
  auto& cluster = made->cluster_;
  cluster.on(RequestType::introduce,
             [here = made.get()](NodeNumber from, Bytes body, const Rpc::Reply& reply) {
               here->take(from, body, reply);
             });
  auto opened = cluster.open(spec);
  if (!opened.is_open) return {nullptr, std::move(opened.note)};
  std::copy_n(key.data(), plan.key.size(), plan.key.begin());
  plan.transport = cluster.fabric().transport();
  plan.introducer = cluster.contacts().own();
  return {std::move(made), std::move(opened.note)};
}

Introducer::~Introducer() {
  cluster_.say_goodbye();
  waiting_.clear();
  cluster_.stop(nullptr);
}

/// A server that asks again, for its first call has timed out, gets the later reply.
void Introducer::take(NodeNumber from, Bytes contact, const Rpc::Reply& reply) {
  const auto is_member = std::binary_search(members_.begin(), members_.end(), from);
  const auto why_not =
      is_member ? cluster_.contacts().add(contact) : "it is of a node without ranks of the job";
  if (!why_not.empty()) {
    base::warn(base::LogPart::mesh, "the server of {} is not introduced: {}",
               cluster_.servers().name_of(from), why_not);
    return reply(PMIX_ERR_BAD_PARAM, {});
  }
  contacts_[from].assign(contact.begin(), contact.end());
  waiting_[from] = reply;
  if (has_lost_one_) return end_waiting(PMIX_ERR_UNREACH, {});
  if (contacts_.size() < members_.size()) return;
  Introductions all;
  for (const auto& [node, bytes] : contacts_) all.contacts.push_back(bytes);
  end_waiting(PMIX_SUCCESS, base::encode(all));
}

void Introducer::end_waiting(pmix_status_t status, Bytes body) {
  for (const auto& [node, reply] : std::exchange(waiting_, {})) reply(status, body);
}

bool Introducer::turn() {
  const bool has_moved = cluster_.turn();
  for (const auto& lost : cluster_.take_lost()) {
    if (lost.has_left || contacts_.size() == members_.size()) continue;
    base::warn(base::LogPart::mesh,
               "the server of {} is lost before all servers of its job were introduced: {}",
               cluster_.servers().name_of(lost.node), lost.why);
    has_lost_one_ = true;
    end_waiting(PMIX_ERR_UNREACH, {});
  }
  return has_moved;
}

bool Introducer::is_over() const noexcept {
  return std::all_of(members_.begin(), members_.end(), [this](NodeNumber node) {
    return cluster_.servers().has_left(node) || cluster_.servers().is_lost(node);
  });
}

// ---- all of a server

std::string Introducers::open(Loop& loop, const std::string& nspace, std::string host, FabricPlan& plan) {
  auto opened = Introducer::open(loop, std::move(host), plan);
  if (!opened.introducer) return std::move(opened.note);
  all_[nspace] = std::move(opened.introducer);
  return {};
}

bool Introducers::turn() {
  bool has_moved = false;
  for (const auto& [nspace, one] : all_) has_moved |= one->turn();
  std::erase_if(all_, [](const auto& entry) { return entry.second->is_over(); });
  return has_moved;
}

bool Introducers::sleep() noexcept {
  return std::all_of(all_.begin(), all_.end(), [](const auto& entry) { return entry.second->sleep(); });
}

void Introducers::forget(std::string_view nspace) {
  if (const auto found = all_.find(nspace); found != all_.end()) all_.erase(found);
}

}  // namespace weft::server
