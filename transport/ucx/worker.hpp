// SPDX-License-Identifier: BSD-3-Clause
// A UCP context with its only worker, and what is known of the transports in it.
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
  bool network = false;              ///< some transport leaves the node
  bool reads_memory = false;         ///< a network card reads remote memory by itself
  std::vector<std::string> devices;  ///< of the network, as UCX_NET_DEVICES takes them
};

class Worker {
 public:
  struct Wish {
    std::string transports;    ///< as UCX_TLS takes it; empty: what UCX_TLS says, or all but shared memory
    std::string networks;      ///< as WEFT_NET has it; empty: all
    bool direct_gets = false;  ///< also where UCP emulates them
  };
  /// Errors: not_found, invalid, no_memory, os; the text of the first two may lie in why_not.
  static Result<std::unique_ptr<Worker>> open(const Wish& wish, std::string& why_not);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { close(); }
  /// Calls back for what was open.
  void close() noexcept;

  ucp_context_h context() const noexcept { return context_; }
  ucp_worker_h get() const noexcept { return worker_; }
  const Traits& traits() const noexcept { return traits_; }
  bool direct_gets() const noexcept { return direct_gets_; }
  std::optional<int> wait_fd() const noexcept { return wait_fd_; }
  /// Of the network devices where there are any: processes of one node then meet there too, because only these notice
  /// at once that a peer is gone; the node's own memory is the business of transport/shm.
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

/// An `os` error with the number that fits the status best.
Error error_of(ucs_status_t status, const char* what) noexcept;
/// Whether the status says that nobody is at the other end any more.
bool is_loss(ucs_status_t status) noexcept;

}  // namespace weft::ucx
