// SPDX-License-Identifier: BSD-3-Clause
// What other nodes need to reach a node. The node makes it; it travels to the others out of band (on the
// agent's standard input, in the launch message) inside of what tells its version; packed it is at most
// Contact::max_packed_bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/wire.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"
#include "weft/transport.hpp"

namespace weft::mesh {

struct Contact {
  static constexpr std::size_t most_keys = 8;
  static constexpr std::size_t max_packed_bytes =
      sizeof(std::uint64_t) + 4 + Address::max_bytes + 4 + most_keys * (4 + MemoryRegion::max_key_bytes);

  std::uint64_t incarnation = 0;
  Address address;
  std::vector<std::vector<std::byte>> keys;  ///< of the regions that others may read, by RegionNumber
};
template <class Archive>
void fields(Archive& archive, Contact& m) {
  archive(m.incarnation, base::at_most(m.address.bytes, Address::max_bytes),
          base::at_most(m.keys, Contact::most_keys));
}
bool is_valid(const Contact& contact);

std::vector<std::byte> pack(const Contact& contact);
/// Errors: corrupt (cut, too long, no address, a key that is empty or too long).
Result<Contact> unpack_contact(Bytes packed);

}  // namespace weft::mesh
