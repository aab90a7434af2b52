// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/outputs.hpp"

#include <algorithm>

#include "core/events/range.hpp"

namespace weft::server {

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
