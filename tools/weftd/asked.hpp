// SPDX-License-Identifier: BSD-3-Clause
// What processes of this node ask the launcher for (PMIx_Spawn, PMIx_Job_control, PMIx_IOF_pull,
// PMIx_IOF_push), until it has said what has become of that.
#pragma once

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "tools/channel/server_channel.hpp"
#include "tools/host/server.hpp"

namespace weft::weftd {

/// The loop's thread, but for `ask`.
class Asked {
 public:
  using Reply = host::Server::Events::Reply;
  /// launcher: the number of its server.
  Asked(asio::io_context& loop, std::uint32_t launcher) : loop_(loop), launcher_(launcher) {}

  /// Any thread. Report: with a number, and the request. to: as it is when the loop comes to it.
  template <class Report, class Request>
  void ask(Request request, Reply reply, std::optional<channel::ServerChannel>& to) {
    asio::post(loop_, [this, &to, request = std::move(request), reply = std::move(reply)]() mutable {
      const auto number = next_++;
      open_.emplace(number, std::move(reply));
      to->send({launcher_}, Report{number, std::move(request)}, [this, number](bool is_there) {
        if (!is_there) end(number, {PMIX_ERR_UNREACH, {}});
      });
    });
  }
  void end(std::uint64_t number, const job::Result& result) {
    if (const auto open = open_.extract(number)) open.mapped()(result);
  }

 private:
  asio::io_context& loop_;
  const std::uint32_t launcher_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Reply> open_;
};

}  // namespace weft::weftd
