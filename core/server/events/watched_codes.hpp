// SPDX-License-Identifier: BSD-3-Clause
// Which events the host is asked to report, because a client of this server wants them: codes of the
// environment and of programs. The host brings other codes by itself. Source: PMIx Standard, chapter
// "Server-specific interfaces", pmix_server_register_events_fn_t and pmix_server_deregister_events_fn_t. The
// loop's thread only.
#pragma once

#include <cstddef>
#include <map>

#include "core/events/registry.hpp"
#include "core/server/connections/subscription.hpp"
#include "core/server/host/host.hpp"

namespace weft::server {

class WatchedCodes {
 public:
  /// own: the handlers of the host in this process. A code that one of them names stays registered.
  WatchedCodes(Host& host, events::Registry& own) : host_(host), own_(own) {}

  /// A client wants these, and did not before. done(status): the host has heard of what no other client
  /// wants. A host that reports no events is no reason to fail.
  void add(const EventWishes& wishes, data::Infos infos, Done done);
  /// A client wants these no more: the host hears of those that no other wants.
  void remove(const EventWishes& wishes);
  /// The same of codes that were kept for a handler of the host.
  void release();

 private:
  struct Watch {
    std::size_t clients = 0;
    bool is_with_host = false;  ///< the host was asked, and has not refused
  };
  void refused(const std::vector<pmix_status_t>& codes, bool all);

  Host& host_;
  events::Registry& own_;
  std::map<pmix_status_t, Watch> codes_;
  Watch all_;  ///< default handlers: the host is called without a code
};

}  // namespace weft::server
