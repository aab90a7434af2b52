// SPDX-License-Identifier: BSD-3-Clause
// Bytes of a message or record: little endian, no padding, every read checked against the end.
//
// A Reader that ran past its end, or met a length that cannot be, is spoilt: it answers zeros and empty
// spans from then on and ok() is false. So a decoder reads all its fields and asks once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/bytes.hpp"

namespace weft::data {

/// Of everything below core/data (docs/design/wire.md). Whoever opens a channel or a segment states it once
/// there.
inline constexpr std::uint8_t wire_version = 1;

static_assert(std::endian::native == std::endian::little, "the wire is little endian and copied as it is");

class Writer {
 public:
  void u8(std::uint8_t v) { scalar(v); }
  void u16(std::uint16_t v) { scalar(v); }
  void u32(std::uint32_t v) { scalar(v); }
  void u64(std::uint64_t v) { scalar(v); }
  void i32(std::int32_t v) { scalar(v); }

  /// Any trivially copyable number.
  template <class T>
  void scalar(T v) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    raw({reinterpret_cast<const std::byte*>(&v), sizeof v});
  }
  /// u32 length, then the bytes; the caller has made sure that they are fewer than 4 GiB.
  void bytes(Bytes b) {
    u32(static_cast<std::uint32_t>(b.size()));
    raw(b);
  }
  void text(std::string_view s) { bytes(as_bytes(s)); }
  void raw(Bytes b) { out_.insert(out_.end(), b.begin(), b.end()); }

  /// Overwrites an earlier u32, for lengths that are known last.
  void patch_u32(std::size_t at, std::uint32_t v) { std::memcpy(out_.data() + at, &v, sizeof v); }

  std::size_t size() const noexcept { return out_.size(); }
  Bytes view() const noexcept { return out_; }
  void clear() noexcept { out_.clear(); }
  /// Takes back what was written after `size` bytes, so that a failed encoding leaves no half record.
  void truncate(std::size_t size) { out_.resize(size); }
  void reserve(std::size_t bytes) { out_.reserve(bytes); }
  std::vector<std::byte> take() && { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

class Reader {
 public:
  explicit Reader(Bytes in) noexcept : in_(in) {}

  std::uint8_t u8() noexcept { return scalar<std::uint8_t>(); }
  std::uint16_t u16() noexcept { return scalar<std::uint16_t>(); }
  std::uint32_t u32() noexcept { return scalar<std::uint32_t>(); }
  std::uint64_t u64() noexcept { return scalar<std::uint64_t>(); }
  std::int32_t i32() noexcept { return scalar<std::int32_t>(); }

  template <class T>
  T scalar() noexcept {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    T v{};
    if (in_.size() < sizeof v) {
      spoil();
    } else {
      std::memcpy(&v, in_.data(), sizeof v);
      in_ = in_.subspan(sizeof v);
    }
    return v;
  }
  Bytes raw(std::size_t n) noexcept {
    if (n > in_.size()) {
      spoil();
      return {};
    }
    const Bytes out = in_.first(n);
    in_ = in_.subspan(n);
    return out;
  }
  Bytes bytes() noexcept { return raw(u32()); }
  std::string_view text() noexcept { return as_text(bytes()); }

  std::size_t left() const noexcept { return in_.size(); }
  bool ok() const noexcept { return ok_; }
  bool done() const noexcept { return ok_ && in_.empty(); }
  void spoil() noexcept {
    ok_ = false;
    in_ = {};
  }

 private:
  Bytes in_;
  bool ok_ = true;
};

}  // namespace weft::data
