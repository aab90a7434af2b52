// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/table/peer_calls.hpp"

#include "core/server/jobs/registration_wait.hpp"

#include "core/link/messages.hpp"

namespace weft::server {

std::vector<NodeNumber> PeerCalls::nodes() const {
  std::vector<NodeNumber> out{self()};
  for (const auto node : cluster_.servers().others()) out.push_back(node);
  return out;
}

std::optional<NodeNumber> PeerCalls::node_of(const pmix_proc_t& proc) const {
  const auto* job = jobs_.known(link::nspace_of(proc));
  if (job == nullptr || proc.rank >= job->view().ranks()) return std::nullopt;
  if (job->view().local_index(proc.rank) != store::none) return self();
  if (!cluster_.is_open()) return std::nullopt;
  const auto nodes = jobs_.nodes_of({proc});
  return nodes.empty() ? std::nullopt : std::optional(nodes.front());
}

void PeerCalls::when_known(const pmix_proc_t& proc, std::function<void()> then) {
  await_registration(loop_, jobs_, std::string(link::nspace_of(proc)), registration_wait,
                     [then = std::move(then)](bool) { then(); });
}

std::map<NodeNumber, Procs> PeerCalls::by_node(const Procs& procs) const {
  std::map<NodeNumber, Procs> out;
  for (const auto& proc : procs)
    if (const auto node = node_of(proc)) out[*node].push_back(proc);
  return out;
}

void PeerCalls::on(RequestType type, Rpc::Handler handler) {
  const auto settled = [this, handler = std::move(handler)](NodeNumber from, Bytes body,
                                                            const Rpc::Reply& reply) {
    table_.settle();
    handler(from, body, reply);
  };
  cluster_.on(type, settled);
  handlers_.insert_or_assign(type, settled);
}

void PeerCalls::send(NodeNumber to, RequestType type, std::vector<std::byte> body, Rpc::Replied replied) {
  if (replied)
    replied = [this, replied = std::move(replied)](pmix_status_t status, Bytes answer) {
      table_.settle();
      replied(status, answer);
    };
  if (to == self()) return call_here(type, std::move(body), std::move(replied));
  if (cluster_.servers().is_there(to)) return cluster_.send(to, type, std::move(body), std::move(replied));
  if (replied) loop_.post([replied = std::move(replied)] { replied(PMIX_ERR_UNREACH, {}); });
}

void PeerCalls::ask(const std::shared_ptr<KeptRequest>& request, NodeNumber keeper, RequestType type,
                    std::vector<std::byte> body, Rpc::Replied replied) {
  const auto number = ++request->sent;
  request->keeper = keeper;
  request->waits_for_view = is_gone(keeper);
  if (request->waits_for_view) return want_view();
  send(keeper, type, std::move(body),
       [this, weak = std::weak_ptr(request), number, replied = std::move(replied)](pmix_status_t status,
                                                                                   Bytes answer) {
         const auto open = weak.lock();
         if (!open || number != open->sent) return;
         // A server that has left in good order may have replied before.
         open->waits_for_view = status == PMIX_SUCCESS ? is_lost(open->keeper) : is_gone(open->keeper);
         open->waits_for_view ? want_view() : replied(status, answer);
       });
}

/// Posted, as a message would come: the caller is in the middle of its own work.
void PeerCalls::call_here(RequestType type, std::vector<std::byte> body, Rpc::Replied replied) {
  loop_.post([this, type, body = std::move(body), replied = std::move(replied)] {
    handlers_.at(type)(self(), body, [this, replied](pmix_status_t status, Bytes answer) {
      if (!replied) return;
      loop_.post([replied, status, copy = std::vector<std::byte>(answer.begin(), answer.end())] {
        replied(status, copy);
      });
    });
  });
}

}  // namespace weft::server
