// SPDX-License-Identifier: BSD-3-Clause
// The order of a spawn: programs as fields of the message itself (subcmd), which is what MPICH sends, or in
// messages of their own (spawn-cmd), as its documents have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pmi/spawn/spawn_order.hpp"
#include "pmi/wire2/frames.hpp"

namespace weft::pmi::wire2 {

class SpawnFields {
 public:
  enum class Step { more, order_ends, is_wrong };
  /// A message spawn, which forgets an order that was not whole.
  Step begin(const Message& message);
  /// A message spawn-cmd.
  Step add(const Message& message);
  /// The order that has ended, and forgets it.
  SpawnOrder release();
  /// Programs of an order are to come, all with that order's thrid.
  bool is_open() const noexcept { return is_open_; }
  const std::string& thread() const noexcept { return thread_; }

 private:
  bool take(const KeyValue& field);
  bool take_of_order(std::string_view name, std::string_view value);
  bool take_of_program(std::string_view name, std::string_view value);
  bool take_argument(std::string_view number, std::string_view value);
  bool begin_program(std::string_view name);
  bool end_program();
  Step end_message();
  Step fail();

  SpawnOrder order_;
  std::string thread_;
  std::uint32_t programs_ = 0;
  std::size_t bytes_ = 0;
  bool is_open_ = false;
  // Of the program that is being read.
  bool is_in_program_ = false;
  std::optional<std::uint32_t> arguments_, first_argument_;
};

}  // namespace weft::pmi::wire2
