// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mesh/contact.hpp"

#include <cstring>

namespace weft::mesh {
namespace {

template <class T>
void put(std::vector<std::byte>& to, T value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// What is left of the packed bytes; every step says whether there was enough.
struct Rest {
  Bytes bytes;

  template <class T>
  bool take(T& into) {
    if (bytes.size() < sizeof into) return false;
    std::memcpy(&into, bytes.data(), sizeof into);
    bytes = bytes.subspan(sizeof into);
    return true;
  }
  bool take(std::vector<std::byte>& into, std::size_t length) {
    if (bytes.size() < length) return false;
    into.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    bytes = bytes.subspan(length);
    return true;
  }
};

}  // namespace

std::vector<std::byte> pack(const Contact& contact) {
  std::vector<std::byte> out;
  put(out, Contact::current_version);
  put(out, static_cast<std::uint8_t>(contact.keys.size()));
  put(out, static_cast<std::uint16_t>(contact.address.bytes.size()));
  put(out, contact.incarnation);
  out.insert(out.end(), contact.address.bytes.begin(), contact.address.bytes.end());
  for (const auto& key : contact.keys) {
    put(out, static_cast<std::uint16_t>(key.size()));
    out.insert(out.end(), key.begin(), key.end());
  }
  return out;
}

Result<Contact> unpack_contact(Bytes packed) {
  Contact out;
  Rest rest{packed};
  std::uint8_t version = 0, keys = 0;
  std::uint16_t length = 0;
  if (!rest.take(version) || version != Contact::current_version)
    return fail(Errc::corrupt, "not a contact of this version");
  if (!rest.take(keys) || keys > Contact::most_keys || !rest.take(length) || length == 0 ||
      length > Address::max_bytes || !rest.take(out.incarnation) || !rest.take(out.address.bytes, length))
    return fail(Errc::corrupt, "a contact without a whole address");
  out.keys.resize(keys);
  for (auto& key : out.keys)
    if (!rest.take(length) || length == 0 || length > MemoryRegion::max_key_bytes || !rest.take(key, length))
      return fail(Errc::corrupt, "a contact without its whole keys");
  if (!rest.bytes.empty()) return fail(Errc::corrupt, "bytes behind a contact");
  return out;
}

}  // namespace weft::mesh
