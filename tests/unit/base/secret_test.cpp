// SPDX-License-Identifier: BSD-3-Clause
#include "base/secret.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <vector>

namespace weft::base {
namespace {

/// The flags of the mapping that holds an address, as /proc/self/smaps has them: "rd wr mr mw me lo ac dd".
std::string flags_at(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_in = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t first = 0, last = 0;
    char dash = 0, space = 0;
    std::istringstream in(line);
    if (in >> std::hex >> first >> dash >> last >> std::noskipws >> space && dash == '-' && space == ' ') {
      const auto at = reinterpret_cast<std::uintptr_t>(address);
      is_in = first <= at && at < last;
    } else if (is_in && line.rfind("VmFlags:", 0) == 0) {
      return line;
    }
  }
  return {};
}

TEST(Secret, lies_in_one_place_for_all_copies) {
  const std::array text{std::byte{1}, std::byte{2}, std::byte{3}};
  const Secret first(text);
  const auto copy = first;
  EXPECT_EQ(first.bytes().data(), copy.bytes().data());
  EXPECT_TRUE(std::equal(text.begin(), text.end(), copy.bytes().begin(), copy.bytes().end()));
  EXPECT_EQ(first, Secret(text));
  EXPECT_FALSE(first == Secret());
  EXPECT_TRUE(Secret().bytes().empty());
}

TEST(Secret, is_in_no_core_file_and_no_child) {
  const auto secret = Secret::random(32);
  EXPECT_EQ(secret.bytes().size(), 32U);
  EXPECT_FALSE(secret == Secret::random(32));
  const auto flags = flags_at(secret.bytes().data());
  EXPECT_NE(flags.find(" dd"), std::string::npos) << flags;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose mlock() does nothing
  EXPECT_NE(flags.find(" lo"), std::string::npos) << flags;
#endif
  const pid_t child = ::fork();
  if (child == 0) {
    const auto bytes = secret.bytes();
    ::_exit(std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Wipe, leaves_zeros) {
  std::vector<char> place(64, 'x');
  wipe(place.data(), place.size());
  EXPECT_EQ(std::count(place.begin(), place.end(), '\0'), 64);
}

}  // namespace
}  // namespace weft::base
