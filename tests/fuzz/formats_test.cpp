// SPDX-License-Identifier: BSD-3-Clause
// What servers say to each other changes with its version, and with nothing else.
#include <gtest/gtest.h>

#include "tests/fuzz/decoders.hpp"
#include "transport/mesh/version.hpp"

namespace weft::fuzz {
namespace {

/// FNV-1a.
std::uint64_t digest(std::uint64_t of, Bytes bytes) {
  for (const auto byte : bytes) of = (of ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return of;
}

TEST(Formats, of_what_servers_say_to_each_other_are_those_of_this_version) {
  std::uint64_t all = 0xcbf29ce484222325;
  std::size_t formats = 0;
  for (const auto& decoder : all_decoders()) {
    if (!decoder.is_between_servers) continue;
    ++formats;
    for (const auto& sample : decoder.samples) all = digest(all, sample);
  }
  EXPECT_GT(formats, 10u);
  EXPECT_EQ(all, 15520575209632968130u)
      << "A sample has other bytes, or there is another sample. If a format has changed, raise\n"
         "mesh::protocol_version; in any case write this number here.";
  EXPECT_EQ(mesh::protocol_version, 31);
}

}  // namespace
}  // namespace weft::fuzz
