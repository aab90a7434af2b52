// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/outputs.hpp"

#include <algorithm>

#include "core/events/range.hpp"
#include "core/server/host/held_call.hpp"

namespace weft::server {
namespace {

/// The pull that alone is to have the bytes. Takes what names it out of the infos.
struct Addressee {
  std::optional<pmix_proc_t> client;
  std::uint64_t handle = 0;

  static Addressee take_from(data::Infos& infos) {
    Addressee out;
    const auto* client = infos.find(Outputs::puller_key);
    const auto* handle = infos.find(Outputs::pull_key);
    if (client == nullptr || client->value.type != PMIX_PROC || client->value.data.proc == nullptr)
      return out;
    if (handle == nullptr || handle->value.type != PMIX_UINT64) return out;
    out.client = *client->value.data.proc;
    out.handle = handle->value.data.uint64;
    infos.remove(Outputs::puller_key);
    infos.remove(Outputs::pull_key);
    return out;
  }
  bool is(const Outputs::Pull& pull) const {
    return pull.handle == handle && events::covers({&*client, 1}, pull.client->proc);
  }
};

bool are_same_process(const pmix_proc_t& one, const pmix_proc_t& other) {
  return one.rank == other.rank && link::nspace_of(one) == link::nspace_of(other);
}

}  // namespace

bool Outputs::add(Pull pull) {
  const auto of_client = std::count_if(pulls_.begin(), pulls_.end(),
                                       [&](const Pull& other) { return other.client == pull.client; });
  if (static_cast<std::size_t>(of_client) >= most_of_a_client) return false;
  pulls_.push_back(std::move(pull));
  return true;
}

std::optional<Outputs::Pull> Outputs::take(const ConnectionRef& client, std::uint64_t handle) {
  const auto found = std::find_if(pulls_.begin(), pulls_.end(), [&](const Pull& pull) {
    return pull.client == client && pull.handle == handle;
  });
  if (found == pulls_.end()) return std::nullopt;
  auto taken = std::move(*found);
  pulls_.erase(found);
  return taken;
}

void Outputs::remove(const ConnectionRef& client, std::uint64_t handle) {
  std::erase_if(pulls_, [&](const Pull& pull) { return pull.client == client && pull.handle == handle; });
}

void Outputs::deliver(OutputBytes output, const Done& done) const {
  const auto addressee = Addressee::take_from(output.infos);
  // The last copy of it ends when each client has the bytes.
  const std::shared_ptr<void> waits(nullptr, [done](void*) { done(PMIX_SUCCESS); });
  for (const auto& pull : pulls_) {
    if ((pull.channels & output.channel) == 0 || !events::covers(pull.procs, output.source)) continue;
    if (addressee.client && !addressee.is(pull)) continue;
    auto infos = data::Infos::copy_of(output.infos.data(), output.infos.size());
    if (!infos) continue;
    const link::Output message{pull.handle, output.source, output.channel, output.bytes, std::move(*infos)};
    const auto held = output.is_awaited ? waits : nullptr;
    pull.queue->write(link::encode(message), [held](bool) {});
  }
}

void Outputs::ask_host(const Requester& from, link::PullOutput message, Done done) const {
  from.add_user(message.directives);
  for (const auto* key : {puller_key, pull_key}) message.directives.remove(key);  // the client's own
  message.directives.add(puller_key, data::Value::of_proc(from.proc()));
  message.directives.add(pull_key, data::Value::of(message.handle));
  const auto held = hold({}, std::move(message));
  host_.ask<OpUpcall>(
      &pmix_server_module_t::iof_pull, "iof_pull", ending(held, std::move(done)), [&](auto call, void* open) {
        const auto& [handle, procs, channels, infos] = held->message;
        return call(procs.data(), procs.size(), infos.data(), infos.size(), channels, on_op_done, open);
      });
}

void Outputs::push(const Requester& from, link::PushInput message, Done done) {
  const auto* end = message.directives.find(PMIX_IOF_COMPLETE);
  const bool is_end = message.bytes.empty() || (end != nullptr && data::is_true(end->value));
  auto& pushed = pushed_[from.connection.get()];
  for (const auto& target : message.targets) {
    std::erase_if(pushed, [&](const pmix_proc_t& each) { return are_same_process(each, target); });
    if (!is_end) pushed.push_back(target);
  }
  if (pushed.empty()) pushed_.erase(from.connection.get());
  from.add_user(message.directives);
  const auto held =
      std::make_shared<BytesCall<link::PushInput>>(from.proc(), std::move(message), &link::PushInput::bytes);
  host_.ask<OpUpcall>(&pmix_server_module_t::push_stdin, "push_stdin", ending(held, std::move(done)),
                      [&](auto call, void* open) {
                        const auto& targets = held->message.targets;
                        const auto& infos = held->message.directives;
                        return call(&held->requester, targets.data(), targets.size(), infos.data(),
                                    infos.size(), &held->object, on_op_done, open);
                      });
}

void Outputs::stop(const Pull& pull) const {
  link::PullOutput ended{pull.handle, pull.procs, pull.channels, {}};
  ended.directives.add(PMIX_IOF_STOP, data::Value::of(true));
  ask_host({pull.client}, std::move(ended), [](pmix_status_t) {});
}

void Outputs::closed(const ConnectionRef& connection) {
  for (const auto& pull : pulls_)
    if (pull.client == connection) stop(pull);
  std::erase_if(pulls_, [&](const Pull& pull) { return pull.client == connection; });
  const auto pushed = pushed_.extract(connection.get());
  if (!pushed) return;
  link::PushInput end{pushed.mapped(), {}, {}};
  end.directives.add(PMIX_IOF_COMPLETE, data::Value::of(true));
  push({connection}, std::move(end), [](pmix_status_t) {});
}

}  // namespace weft::server
