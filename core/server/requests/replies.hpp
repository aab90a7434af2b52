// SPDX-License-Identifier: BSD-3-Clause
// The replies to a client that are made of the host's answer.
#pragma once

#include <utility>

#include "core/server/connections/requester.hpp"
#include "core/server/host/host.hpp"

namespace weft::server {

inline Done replying(const Requester& from) {
  return [from](pmix_status_t status) { from.reply(status); };
}

inline Host::Answered answering(const Requester& from) {
  return [from](pmix_status_t status, data::Infos infos) { from.answer({status, {}, std::move(infos)}); };
}

inline Host::GotValue giving(const Requester& from) {
  return [from](pmix_status_t status, data::Value value) { from.answer({status, std::move(value), {}}); };
}

}  // namespace weft::server
