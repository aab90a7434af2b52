// SPDX-License-Identifier: BSD-3-Clause
// What others have to know of a node to talk to it. Made by the node itself, told to the others out of band (on the
// agent's standard input, in the launch message); packed it is at most Contact::max_packed_bytes.
//
//   offset  bytes
//   0       1      version
//   1       1      number of keys
//   2       2      length of the address
//   4       8      incarnation
//   12             the address, then each key: its length (2 bytes) and its bytes
#pragma once

#include <cstdint>
#include <vector>

#include "weft/bytes.hpp"
#include "weft/result.hpp"
#include "weft/transport.hpp"

namespace weft::mesh {

struct Contact {
  static constexpr std::uint8_t current_version = 1;
  static constexpr std::size_t most_keys = 8;
  static constexpr std::size_t max_packed_bytes =
      12 + Address::max_bytes + most_keys * (2 + MemoryRegion::max_key_bytes);

  std::uint64_t incarnation = 0;
  Address address;
  std::vector<std::vector<std::byte>> keys;  ///< of the regions that others may read, by RegionNumber
};

std::vector<std::byte> pack(const Contact& contact);
/// Errors: corrupt (cut, too long, another version, bytes left over).
Result<Contact> unpack_contact(Bytes packed);

}  // namespace weft::mesh
