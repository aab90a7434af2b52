// SPDX-License-Identifier: BSD-3-Clause
// Which clients pull the output of which processes, and the way of bytes that the host delivers to them. The
// loop's thread only.
#pragma once

#include <optional>
#include <vector>

#include "core/server/connections/requester.hpp"

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
  struct Pull {
    ConnectionRef client;
    std::uint64_t handle;  ///< the client's name for it
    std::vector<pmix_proc_t> procs;
    pmix_iof_channel_t channels;
  };
  static constexpr std::size_t most_of_a_client = 256;

  /// False: the client has as many as it may.
  bool add(Pull pull);
  /// Removes a pull. Nothing: this client pulls nothing under that handle.
  std::optional<Pull> take(const ConnectionRef& client, std::uint64_t handle);
  /// The host has refused it.
  void remove(const ConnectionRef& client, std::uint64_t handle);
  void deliver(const OutputBytes& output) const;
  void closed(const ConnectionRef& connection);

 private:
  std::vector<Pull> pulls_;
};

}  // namespace weft::server
