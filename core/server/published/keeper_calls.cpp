// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/published/keeper_calls.hpp"

namespace weft::server {

void KeeperCalls::send(NodeNumber home, RequestType type, std::vector<std::byte> body, Rpc::Replied done,
                       Ref* kept) {
  const auto call = std::make_shared<Call>(Call{home, type, std::move(body), std::move(done)});
  if (kept != nullptr) *kept = call;
  open_.push_back(call);
  call->place = std::prev(open_.end());
  send(call);
}

void KeeperCalls::send(const Ref& call) {
  call->pause.reset();
  call->keeper = places_.keeper_of(call->home);
  const auto sent = ++call->sent;
  const auto replied = [this, call, sent](pmix_status_t status, Bytes body) {
    this->replied(call, sent, status, body);
  };
  if (call->keeper != places_.self()) return cluster_.send(call->keeper, call->type, call->body, replied);
  const auto body = call->body;  // a call may be changed, and dropped, while it is served
  keeper_.serve(places_.self(), call->type, body, replied);
}

void KeeperCalls::replied(const Ref& call, unsigned sent, pmix_status_t status, Bytes body) {
  if (!call->done || sent != call->sent) return;
  const bool has_moved = places_.keeper_of(call->home) != call->keeper;
  // What was done at a keeper that has left meanwhile the next one does not know, which may be this server
  // and have begun. What a lookup has got is with no other server.
  const bool is_done_there = status == PMIX_SUCCESS && call->type == RequestType::name_look_up;
  if (has_moved && !is_done_there && (status == PMIX_ERR_UNREACH || status == PMIX_SUCCESS))
    return send(call);
  if (status == PMIX_ERR_UNREACH && ++call->misses < most_misses && cluster_.is_open()) {
    call->pause = std::make_unique<Timer>(loop_, retry_pause, [this, weak = std::weak_ptr(call)] {
      if (const auto open = weak.lock(); open && open->done) send(open);
    });
    return;
  }
  const auto done = std::exchange(call->done, nullptr);
  open_.erase(call->place);
  done(status, body);
}

void KeeperCalls::tell(NodeNumber node, RequestType type, std::vector<std::byte> body) {
  if (node != places_.self()) return cluster_.send(node, type, std::move(body), nullptr);
  keeper_.serve(node, type, body, [](pmix_status_t, Bytes) {});
}

void KeeperCalls::drop(const Ref& call) {
  if (!call->done) return;
  call->done = nullptr;
  call->pause.reset();
  open_.erase(call->place);
}

void KeeperCalls::follow(NodeNumber home) {
  const auto now = open_;
  for (const auto& call : now)
    if (call->home == home && call->done && places_.keeper_of(home) != call->keeper) send(call);
}

}  // namespace weft::server
