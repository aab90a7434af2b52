// SPDX-License-Identifier: BSD-3-Clause
// A second real process: this program once more, with hidden arguments, here or on another pretend host.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "tests/conformance/fabric.hpp"

namespace weft::conformance {

/// The first of the hidden arguments; the name of the choice follows.
inline constexpr std::string_view child_argument = "--weft-conformance-child";
int run_child(std::string_view choice);

/// The child sends messages with id_echo back, and counts the others. The child exposes child_region_bytes of
/// pattern(..., child_seed), and ends when its parent is gone.
inline constexpr std::uint16_t id_echo = 1, id_count = 2;
inline constexpr std::size_t child_region_bytes = std::size_t{1} << 20;
inline constexpr unsigned child_seed = 77;

/// WEFT_TEST_CHILD_COMMAND in the environment stands before the command that starts it, for example to run it
/// on another host. It has to become that process, as `exec` does, and to keep its descriptors.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { kill(); }

  /// False: it did not start, or did not say its address in time.
  bool start(const std::string& choice, const Address& parent);
  /// Any instruction may be its last; does not wait for its end.
  void shoot();
  void kill();

  Address address;
  std::vector<std::byte> key;

 private:
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
};

}  // namespace weft::conformance
