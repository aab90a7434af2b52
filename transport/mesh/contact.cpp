// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mesh/contact.hpp"

#include <algorithm>

namespace weft::mesh {

bool is_valid(const Contact& contact) {
  return !contact.address.bytes.empty() &&
         std::all_of(contact.keys.begin(), contact.keys.end(), [](const auto& key) {
           return !key.empty() && key.size() <= MemoryRegion::max_key_bytes;
         });
}

std::vector<std::byte> pack(const Contact& contact) {
  return base::encode(contact);
}

Result<Contact> unpack_contact(Bytes packed) {
  return base::decode<Contact>(packed);
}

}  // namespace weft::mesh
