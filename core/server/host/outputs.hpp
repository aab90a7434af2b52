// SPDX-License-Identifier: BSD-3-Clause
// Which clients pull the output of which processes, the way of bytes that the host delivers to them, and
// whose input clients push. A client that ends pulls and pushes no more: the host is told so. The loop's
// thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/server/connections/requester.hpp"
#include "core/server/host/host.hpp"
#include "core/server/host/output_queue.hpp"

namespace weft::server {

/// What the host delivers.
struct OutputBytes {
  pmix_proc_t source{};
  pmix_iof_channel_t channel = 0;
  Blob bytes;
  data::Infos infos;
  bool is_awaited = true;  ///< the host has a callback, which can wait for slow clients
};

class Outputs {
 public:
  struct Pull {
    ConnectionRef client;
    std::uint64_t handle;  ///< the client's name for it
    std::vector<pmix_proc_t> procs;
    pmix_iof_channel_t channels;
    std::shared_ptr<OutputQueue> queue;
  };
  static constexpr std::size_t most_of_a_client = 256;
  /// Beside what the Standard has the host told of a pull, and back with bytes that are for this pull alone:
  /// the client, and its name for the pull.
  static constexpr const char* puller_key = "weft.puller";
  static constexpr const char* pull_key = "weft.pull";

  explicit Outputs(Host& host) : host_(host) {}

  /// False: the client has as many as it may.
  bool add(Pull pull);
  /// Removes a pull. Nothing: this client pulls nothing under that handle.
  std::optional<Pull> take(const ConnectionRef& client, std::uint64_t handle);
  /// The host has refused it.
  void remove(const ConnectionRef& client, std::uint64_t handle);
  /// done: each client that is to have the bytes has them in its socket or its cache, or has ended.
  void deliver(OutputBytes output, const Done& done) const;
  /// message: a pull that begins, or ends (PMIX_IOF_STOP).
  void ask_host(const Requester& from, link::PullOutput message, Done done) const;

  void push(const Requester& from, link::PushInput message, Done done);

  void closed(const ConnectionRef& connection);

 private:
  void stop(const Pull& pull) const;

  Host& host_;
  std::vector<Pull> pulls_;
  /// Of clients that have pushed bytes and not their end.
  std::map<const ClientConnection*, std::vector<pmix_proc_t>> pushed_;
};

}  // namespace weft::server
