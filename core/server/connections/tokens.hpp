// SPDX-License-Identifier: BSD-3-Clause
// What each local rank proves its identity with. Any thread: PMIx_server_setup_fork makes tokens on the host's, the handshake
// checks them on the loop's.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "core/link/rendezvous.hpp"
#include "pmix_common.h"

namespace weft::server {

class Tokens {
 public:
  /// The rank's token, made when it is first wanted.
  link::Token token_of(const pmix_proc_t& proc);
  bool accepts(std::string_view nspace, std::uint32_t rank, const link::Token& token) const;
  void forget(std::string_view nspace);

 private:
  using Name = std::pair<std::string, std::uint32_t>;
  mutable std::mutex mutex_;
  std::map<Name, link::Token> tokens_;
};

}  // namespace weft::server
