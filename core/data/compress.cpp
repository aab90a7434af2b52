// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/compress.hpp"

#include <zstd.h>

#include <cstdlib>
#include <memory>

namespace weft::data {
namespace {

constexpr int level = 3;

struct Free {
  void operator()(std::byte* bytes) const noexcept { std::free(bytes); }
};
using Owned = std::unique_ptr<std::byte, Free>;

Owned allocate(std::size_t size) {
  return Owned(static_cast<std::byte*>(std::malloc(size == 0 ? 1 : size)));
}

}  // namespace

Result<Packed> compress(Bytes bytes) {
  if (bytes.size() < 2 || bytes.size() > most_expanded) return fail(Errc::invalid, "nothing to compress");
  // Room for what is smaller and no more: zstd gives up where that is not enough.
  const auto most = bytes.size() - 1;
  auto out = allocate(most);
  if (!out) return fail(Errc::no_memory);
  const auto size = ::ZSTD_compress(out.get(), most, bytes.data(), bytes.size(), level);
  if (::ZSTD_isError(size)) return fail(Errc::invalid, "it would be no smaller");
  return Packed{out.release(), size};
}

Result<Packed> expand(Bytes frame) {
  const auto claimed = ::ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (claimed == ZSTD_CONTENTSIZE_ERROR || claimed == ZSTD_CONTENTSIZE_UNKNOWN || claimed > most_expanded)
    return fail(Errc::corrupt, "length of compressed data");
  if (::ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size())
    return fail(Errc::corrupt, "bytes after compressed data");
  auto out = allocate(static_cast<std::size_t>(claimed));
  if (!out) return fail(Errc::no_memory);
  const auto size =
      ::ZSTD_decompress(out.get(), static_cast<std::size_t>(claimed), frame.data(), frame.size());
  if (size != claimed) return fail(Errc::corrupt, "compressed data");
  return Packed{out.release(), size};
}

}  // namespace weft::data
