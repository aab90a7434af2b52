// SPDX-License-Identifier: BSD-3-Clause
// Which clients pull the output of which processes, and the way of bytes that the host delivers to them. The
// loop's thread only.
#pragma once

#include <vector>

#include "core/server/connections/requester.hpp"
#include "core/server/host/host.hpp"

namespace weft::server {

/// What the host delivers.
struct OutputBytes {
  pmix_proc_t source{};
  pmix_iof_channel_t channel = 0;
  Blob bytes;
  data::Infos infos;
};

class Outputs {
 public:
  /// Of one client; more are PMIX_ERR_OUT_OF_RESOURCE.
  static constexpr std::size_t most_of_a_client = 256;

  explicit Outputs(Host& host) : host_(host) {}

  void pull(const Requester& from, link::PullOutput message);
  /// PMIX_ERR_NOT_FOUND: this client pulls nothing under that handle.
  void stop(const Requester& from, link::StopOutput message);
  void deliver(const OutputBytes& output) const;
  void closed(const ConnectionRef& connection);

 private:
  struct Pull {
    ConnectionRef client;
    std::uint64_t handle;
    std::vector<pmix_proc_t> procs;
    pmix_iof_channel_t channels;
  };
  Host& host_;
  std::vector<Pull> pulls_;
};

}  // namespace weft::server
