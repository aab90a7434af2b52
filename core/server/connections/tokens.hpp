// SPDX-License-Identifier: BSD-3-Clause
// What each local rank proves its identity with: the MAC of its name under a key that only this server has.
// Nothing is remembered, so a host may ask for a token in a child that it has forked, which tells the server
// nothing.
//
// Any thread, also in the child of a fork: no lock is taken.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/threads/published.hpp"
#include "core/link/rendezvous.hpp"
#include "pmix_common.h"

namespace weft::server {

class Tokens {
 public:
  Tokens();
  ~Tokens();
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

  link::Token token_of(const pmix_proc_t& proc) const;
  bool accepts(std::string_view nspace, std::uint32_t rank, const link::Token& token) const;
  /// The namespace has ended: its tokens are worth nothing, also where a later one has its name.
  void forget(std::string_view nspace);

 private:
  /// How often a namespace of that name has ended; the latest to end is the last.
  using Ended = std::vector<std::pair<std::string, std::uint32_t>>;
  static constexpr std::size_t most_ended = 256;  ///< names beyond are forgotten, oldest first

  std::array<unsigned char, 32> key_;
  base::Published<Ended> ended_;
};

}  // namespace weft::server
