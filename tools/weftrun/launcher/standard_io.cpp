// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/standard_io.hpp"

#include <pmix_common.h>

#include <algorithm>
#include <asio/post.hpp>
#include <memory>
#include <utility>

#include "tools/host/output_delivery.hpp"
#include "tools/messages/messages.hpp"

namespace weft::weftrun {

StandardIo::StandardIo(asio::io_context& loop, std::function<void(const std::string& line)> say,
                       std::function<void()> drained)
    : loop_(loop),
      say_(std::move(say)),
      pulls_(
          loop,
          [this](std::uint32_t node, const job::PullName& to, const io::Flow& flow, const std::string& bytes,
                 std::function<void()> delivered) { deliver(node, to, flow, bytes, std::move(delivered)); },
          {std::move(drained),
           [this](std::uint32_t node, const job::PullName& name) { on_dropped(node, name); }}) {}

// ---- what comes

template <class Request, class Handle>
auto StandardIo::on_loop(Handle handle) {
  return [this, handle](Request request, Reply reply) {
    asio::post(loop_, [this, handle, request = std::move(request), reply = std::move(reply)] {
      (this->*handle)(std::nullopt, request, reply);
    });
  };
}

void StandardIo::take_calls(host::Server::Events& events) {
  events.pull = on_loop<job::PullRequest>(&StandardIo::pull);
  events.push = on_loop<job::PushRequest>(&StandardIo::push);
}

void StandardIo::pull(Node node, const job::PullRequest& request, const Reply& reply) {
  if (node && !request.ends) has_far_readers_ = true;
  pulls_.request(node.value_or(here), request, [&reply](pmix_status_t status) { reply({status, {}}); });
}

void StandardIo::push(Node node, const job::PushRequest& request, const Reply& reply) {
  if (request.targets.size() != 1) {
    // All or none, as long as that is known at once.
    for (const auto& target : request.targets)
      if (inputs_.count(target.nspace) == 0) return reply({PMIX_ERR_NOT_SUPPORTED, {}});
  }
  // The last copy of it ends when each job has the bytes.
  const auto worst = std::make_shared<pmix_status_t>(PMIX_SUCCESS);
  const std::shared_ptr<void> all(nullptr, [worst, reply](void*) { reply({*worst, {}}); });
  for (const auto& target : request.targets) {
    const auto input = inputs_.find(target.nspace);
    if (input == inputs_.end()) {
      *worst = PMIX_ERR_NOT_SUPPORTED;
      continue;
    }
    input->second->push({request.from, node, target.ranks, request.bytes, request.ends},
                        [all, worst](pmix_status_t status) {
                          if (status != PMIX_SUCCESS) *worst = status;
                        });
  }
}

void StandardIo::lose_process(const job::ProcessName& process) {
  pulls_.lose_process(process);
  for (const auto& [nspace, input] : inputs_) input->lose_process(process);
}

void StandardIo::lose_node(std::uint32_t node) {
  pulls_.lose_node(node);
  for (const auto& [nspace, input] : inputs_) input->lose_node(node);
}

// ---- what goes

void StandardIo::deliver(std::uint32_t node, const job::PullName& to, const io::Flow& flow,
                         const std::string& bytes, std::function<void()> delivered) {
  if (node == here)
    return host::deliver_output({to, {flow.nspace, flow.rank}, flow.stream}, bytes,
                                [this, delivered = std::move(delivered)] { asio::post(loop_, delivered); });
  cluster_->deliver(node, {to, {flow.nspace, flow.rank}, flow.stream, bytes},
                    [this, node, delivered = std::move(delivered)](bool is_there) {
                      if (!is_there) pulls_.lose_node(node);
                      delivered();
                    });
}

void StandardIo::on_dropped(std::uint32_t node, const job::PullName& name) {
  say_(messages::pull_dropped(name.puller.nspace, number(name.puller.rank)));
  node == here ? host::tell_dropped(name) : cluster_->tell_dropped(node, name);
}

}  // namespace weft::weftrun
