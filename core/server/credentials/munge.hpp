// SPDX-License-Identifier: BSD-3-Clause
// The library of munge, which certifies users between the machines that have its daemon and its key. Nothing
// is linked to it: it is loaded when a credential first needs it, and where it is not there, there is no
// munge (docs/decisions/0014-munge.md).
//
// Threads   One at a time. A call waits for the daemon.
#pragma once

#include <sys/types.h>

#include <string>

#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::server {

class Munge {
 public:
  static constexpr std::string_view prefix = "MUNGE:";
  /// A longer text is none: the payload of ours is a run token.
  static constexpr std::size_t most_bytes = std::size_t{64} << 10;

  /// socket: of the daemon; empty: where libmunge looks for it.
  explicit Munge(std::string socket) : socket_(std::move(socket)) {}
  Munge(const Munge&) = delete;
  Munge& operator=(const Munge&) = delete;

  struct Decoded {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string payload;
  };
  /// A credential of this process's effective user. Errors: not_supported (no library, no daemon), no_memory,
  /// os (the daemon does not make one).
  Result<std::string> encode(const std::string& payload);
  /// A credential that was decoded before is good: a run token is not used up either. Errors: not_supported,
  /// no_memory, denied (no credential of this daemon's key, changed, or of a restricted use), timeout
  /// (expired, or of a time to come).
  Result<Decoded> decode(const std::string& credential);

 private:
  class Context;
  /// Of libmunge.so.2, which stays loaded.
  struct Functions {
    void* (*create)() = nullptr;
    void (*destroy)(void*) = nullptr;
    int (*set)(void*, int option, ...) = nullptr;
    int (*encode)(char** credential, void*, const void* payload, int bytes) = nullptr;
    int (*decode)(const char* credential, void*, void** payload, int* bytes, uid_t*, gid_t*) = nullptr;
    bool are_there() const noexcept {
      return create != nullptr && destroy != nullptr && set != nullptr && encode != nullptr &&
             decode != nullptr;
    }
  };
  bool load();
  bool has_daemon() const noexcept;

  const std::string socket_;
  Functions functions_;
  bool has_looked_ = false;
};

}  // namespace weft::server
