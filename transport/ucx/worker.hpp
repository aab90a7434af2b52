// SPDX-License-Identifier: BSD-3-Clause
// A UCP context, its only worker, and the properties of the transports in it.
#pragma once

#include <ucp/api/ucp.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::ucx {

struct Traits {
  bool network = false;              ///< some transport reaches other nodes
  bool reads_memory = false;         ///< a network card executes reads of remote memory
  bool tcp = false;                  ///< UCX listens at a port
  std::vector<std::string> devices;  ///< network devices, as UCX_NET_DEVICES names them
};

class Worker {
 public:
  struct Options {
    std::string transports;    ///< as UCX_TLS takes it; empty: the value of UCX_TLS, or all but shared memory
    std::string networks;      ///< the value of WEFT_NET; empty: all
    bool direct_gets = false;  ///< use direct gets also where UCP emulates them
  };
  /// Errors: not_found, invalid, no_memory, os. The text of the first two may lie in why_not.
  static Result<std::unique_ptr<Worker>> open(const Options& options, std::string& why_not);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { close(); }
  /// Runs the callbacks of everything that is open.
  void close() noexcept;
  /// Leaves UCX's objects until the process ends; nothing progresses them.
  void abandon() noexcept { worker_ = nullptr, context_ = nullptr; }

  ucp_context_h context() const noexcept { return context_; }
  ucp_worker_h get() const noexcept { return worker_; }
  const Traits& traits() const noexcept { return traits_; }
  bool direct_gets() const noexcept { return direct_gets_; }
  std::optional<int> wait_fd() const noexcept { return wait_fd_; }
  /// The worker's address. With network devices present it names only these: processes of one node then
  /// connect over them too, because only network transports report at once that a peer has died.
  /// transport/shm serves the node's own memory.
  Result<std::vector<std::byte>> address() const;

 private:
  Worker() = default;
  Result<void> start(ucp_config_t* config, std::uint64_t features);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  Traits traits_;
  bool direct_gets_ = false;
  std::optional<int> wait_fd_;
};

/// The Error that fits the status best; `os` where none does.
Error error_of(ucs_status_t status, const char* what) noexcept;
/// Whether the status means that the peer is lost.
bool is_loss(ucs_status_t status) noexcept;

}  // namespace weft::ucx
