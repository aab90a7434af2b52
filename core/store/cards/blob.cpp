// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/cards/blob.hpp"

#include <utility>

namespace weft::store {
namespace {

constexpr std::size_t length_at = 4;

bool is_known(BlobKind kind) noexcept {
  return kind == BlobKind::cards || kind == BlobKind::generated || kind == BlobKind::group ||
         kind == BlobKind::failure;
}

}  // namespace

data::Writer begin_blob(BlobKind kind) {
  data::Writer out;
  out.scalar(kind);
  out.u32(0);
  return out;
}

std::vector<std::byte> finish_blob(data::Writer blob) {
  blob.patch_u32(length_at, static_cast<std::uint32_t>(blob.size() - length_at - 4));
  return std::move(blob).take();
}

std::vector<std::byte> failure_blob(std::int32_t status) {
  auto out = begin_blob(BlobKind::failure);
  out.scalar(status);
  return finish_blob(std::move(out));
}

Result<void> read_blobs(Bytes blobs, const std::function<void(BlobKind, Bytes)>& see) {
  data::Reader all(blobs);
  while (all.left() != 0) {
    const auto kind = all.scalar<BlobKind>();
    const auto body = all.bytes();
    if (!all.ok()) return fail(Errc::corrupt, "blob length");
    if (!is_known(kind)) return fail(Errc::corrupt, "kind of a blob");
    see(kind, body);
  }
  return {};
}

std::size_t count_blobs(Bytes blobs, BlobKind kind) {
  std::size_t count = 0;
  const auto seen = read_blobs(blobs, [&](BlobKind is, Bytes) { count += is == kind ? 1 : 0; });
  return seen ? count : 0;
}

std::int32_t failure_in(Bytes blobs) {
  std::int32_t status = 0;
  (void)read_blobs(blobs, [&](BlobKind kind, Bytes body) {
    data::Reader in(body);
    const auto said = in.scalar<std::int32_t>();
    if (kind == BlobKind::failure && in.ok() && status == 0) status = said;
  });
  return status;
}

}  // namespace weft::store
