// SPDX-License-Identifier: BSD-3-Clause
// The one request of several lines: mcmd=spawn, a block of lines "name=value" for each program, endcmd. The
// bytes are a stranger's.
//   Source: the observed conversation of MPICH 4.0.2 with Hydra; Flux RFC 13.
#pragma once

#include <cstddef>
#include <string_view>

#include "pmi/spawn/spawn_order.hpp"

namespace weft::pmi {

class SpawnReader {
 public:
  enum class Step { more, block_ends, order_ends, is_wrong };
  /// A line of a block, without its newline, from behind mcmd=spawn to endcmd. block_ends: the next program's
  /// mcmd=spawn comes now.
  Step take(std::string_view line);
  /// The order that has ended, and forgets it.
  SpawnOrder release();
  /// A block of a program has ended, and those of others are to come.
  bool is_between_blocks() const noexcept { return !order_.commands.empty(); }

 private:
  bool take_word(std::string_view name, std::string_view value);
  bool take_count(std::string_view name, std::string_view value);
  bool take_argument(std::string_view number, std::string_view value);
  Step end_block();

  SpawnOrder order_;
  SpawnCommand command_;
  std::size_t programs_ = 1, bytes_ = 0;
};

}  // namespace weft::pmi
