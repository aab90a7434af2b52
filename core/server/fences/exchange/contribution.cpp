// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/exchange/contribution.hpp"

#include <zstd.h>

#include <new>
#include <utility>

#include "core/data/types/wire.hpp"

namespace weft::server {
namespace {

enum class Form : std::uint8_t { plain = 0, compressed = 1 };

/// zstd's level -1 makes cards as small as level 1 does, in half to a third of the time.
constexpr int level = -1;

/// Once it is packed, it is worth expanding at all other nodes if it is smaller by an eighth.
constexpr std::size_t worth_sending(std::size_t bytes) {
  return bytes - bytes / 8;
}
/// A large body is tried on its beginning first, which holds several cards: going on pays if that is smaller
/// by a quarter.
constexpr std::size_t sample_bytes = std::size_t{16} << 10;
constexpr std::size_t worth_going_on = sample_bytes - sample_bytes / 4;

}  // namespace

void Packer::Free::operator()(ZSTD_CCtx_s* context) const noexcept {
  ::ZSTD_freeCCtx(context);
}
void Packer::Free::operator()(ZSTD_DCtx_s* context) const noexcept {
  ::ZSTD_freeDCtx(context);
}

std::vector<std::byte> Packer::pack(const Contribution& parts) {
  data::Writer plain;
  plain.reserve(1 + 4 + parts.place.size() + parts.cards.size());
  plain.scalar(Form::plain);
  plain.bytes(parts.place);
  plain.raw(parts.cards);
  std::vector<std::byte> packed;
  const bool is_smaller = compress(plain.view().subspan(1), packed);
  counters_.plain += plain.size();
  counters_.packed += is_smaller ? packed.size() : plain.size();
  if (is_smaller) return packed;
  return std::move(plain).take();
}

/// The whole contribution into `out`; false: it is to travel plain.
bool Packer::compress(Bytes body, std::vector<std::byte>& out) {
  if (body.size() < least_compressed || body.size() > most_compressed) return false;
  if (!compressor_) compressor_.reset(::ZSTD_createCCtx());
  if (!compressor_) return false;
  // Room for what is worth it and no more: zstd gives up where that is not enough.
  const auto fits = [&](Bytes part, std::size_t most) {
    out.resize(1 + most);
    const auto length =
        ::ZSTD_compressCCtx(compressor_.get(), &out[1], most, part.data(), part.size(), level);
    if (::ZSTD_isError(length)) return false;
    out.resize(1 + length);
    return true;
  };
  if (body.size() > 4 * sample_bytes && !fits(body.first(sample_bytes), worth_going_on)) return false;
  if (!fits(body, worth_sending(body.size()))) return false;
  out[0] = static_cast<std::byte>(Form::compressed);
  return true;
}

Result<Packer::Unpacked> Packer::unpack(Bytes bytes) {
  data::Reader in(bytes);
  const auto form = in.scalar<Form>();
  Bytes body = in.raw(in.left());
  Unpacked out;
  if (form == Form::compressed) {
    std::size_t length = 0;
    auto expanded = expand(body, length);
    if (!expanded) return fail(expanded.error());
    out.memory = std::move(*expanded);
    body = {out.memory.get(), length};
  } else if (form != Form::plain) {
    return fail(Errc::corrupt, "form of a contribution");
  }
  data::Reader parts(body);
  out.parts.place = parts.bytes();
  out.parts.cards = parts.raw(parts.left());
  if (!parts.ok()) return fail(Errc::corrupt, "place in a contribution");
  return out;
}

Result<std::unique_ptr<std::byte[]>> Packer::expand(Bytes frame, std::size_t& length) {
  const auto claimed = ::ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (claimed == ZSTD_CONTENTSIZE_ERROR || claimed == ZSTD_CONTENTSIZE_UNKNOWN || claimed > most_compressed)
    return fail(Errc::corrupt, "length of a compressed contribution");
  // The frame must end where the contribution does: further frames might follow else.
  if (::ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size())
    return fail(Errc::corrupt, "frame of a compressed contribution");
  if (!expander_) expander_.reset(::ZSTD_createDCtx());
  length = static_cast<std::size_t>(claimed);
  // Not zeroed: of what a frame claims and does not hold, no page is touched.
  std::unique_ptr<std::byte[]> out(new (std::nothrow) std::byte[length]);
  if (!expander_ || !out) return fail(Errc::no_memory);
  if (::ZSTD_decompressDCtx(expander_.get(), out.get(), length, frame.data(), frame.size()) != length)
    return fail(Errc::corrupt, "compressed contribution");
  return out;
}

}  // namespace weft::server
