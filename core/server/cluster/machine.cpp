// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cluster/machine.hpp"

#include <charconv>
#include <fstream>
#include <string>

namespace weft::server {

std::uint64_t machine_number() {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  std::erase(text, '-');
  // The first half of a UUID has 60 bits of chance.
  constexpr std::size_t digits = 16;
  std::uint64_t number = 0;
  if (text.size() < digits ||
      std::from_chars(text.data(), text.data() + digits, number, 16).ec != std::errc())
    return 0;
  return number;
}

}  // namespace weft::server
