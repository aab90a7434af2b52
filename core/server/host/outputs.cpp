// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/outputs.hpp"

#include <algorithm>

#include "core/events/range.hpp"

namespace weft::server {

void Outputs::pull(const Requester& from, link::PullOutput message) {
  const auto mine = std::count_if(pulls_.begin(), pulls_.end(),
                                  [&](const Pull& pull) { return pull.client == from.connection; });
  if (message.procs.empty() || message.channels == 0) return from.reply(PMIX_ERR_BAD_PARAM);
  if (static_cast<std::size_t>(mine) >= most_of_a_client) return from.reply(PMIX_ERR_OUT_OF_RESOURCE);
  // Before the host answers: output may come first.
  pulls_.push_back({from.connection, message.handle, message.procs, message.channels});
  from.add_user(message.directives);
  host_.pull_output(std::move(message), [this, from, handle = message.handle](pmix_status_t status) {
    if (status != PMIX_SUCCESS)
      std::erase_if(
          pulls_, [&](const Pull& pull) { return pull.client == from.connection && pull.handle == handle; });
    from.reply(status);
  });
}

void Outputs::stop(const Requester& from, link::StopOutput message) {
  const auto found = std::find_if(pulls_.begin(), pulls_.end(), [&](const Pull& pull) {
    return pull.client == from.connection && pull.handle == message.handle;
  });
  if (found == pulls_.end()) return from.reply(PMIX_ERR_NOT_FOUND);
  link::PullOutput ended{message.handle, std::move(found->procs), found->channels,
                         std::move(message.directives)};
  pulls_.erase(found);
  ended.directives.add(PMIX_IOF_STOP, data::Value::of(true));
  from.add_user(ended.directives);
  host_.pull_output(std::move(ended), [from](pmix_status_t status) { from.reply(status); });
}

void Outputs::deliver(const OutputBytes& output) const {
  for (const auto& pull : pulls_) {
    if ((pull.channels & output.channel) == 0 || !events::covers(pull.procs, output.source)) continue;
    auto infos = data::Infos::copy_of(output.infos.data(), output.infos.size());
    if (!infos) continue;
    pull.client->send_push(link::MessageType::output,
                           link::encode(link::Output{pull.handle, output.source, output.channel, output.bytes,
                                                     std::move(*infos)}));
  }
}

void Outputs::closed(const ConnectionRef& connection) {
  std::erase_if(pulls_, [&](const Pull& pull) { return pull.client == connection; });
}

}  // namespace weft::server
