// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/launch/launch_blob.hpp"

#include <xxhash.h>

namespace weft::server {
namespace {

std::uint64_t checksum(Bytes content) {
  return XXH3_64bits(content.data(), content.size());
}

}  // namespace

std::vector<std::byte> seal_launch(Bytes content) {
  base::Writer out;
  out.raw(content);
  out.u64(checksum(content));
  return std::move(out).take();
}

std::vector<std::byte> encode_launch(const LaunchBlob& blob) {
  return seal_launch(base::encode(blob));
}

Result<LaunchBlob> decode_launch(Bytes bytes) {
  constexpr auto tail = sizeof(std::uint64_t);
  if (bytes.size() < tail) return fail(Errc::corrupt, "it was cut on its way");
  const Bytes content = bytes.first(bytes.size() - tail);
  if (base::Reader(bytes.last(tail)).u64() != checksum(content))
    return fail(Errc::corrupt, "it was cut or changed on its way");
  if (base::Reader(content).u16() != LaunchBlob::wire_version)
    return fail(Errc::corrupt, "it was made by another version of Weft");
  auto blob = base::decode<LaunchBlob>(content);
  return blob ? std::move(blob) : fail(Errc::corrupt, "its fields do not fit together");
}

}  // namespace weft::server
