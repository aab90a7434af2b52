// SPDX-License-Identifier: BSD-3-Clause
// Structures as bytes and back: every message between processes passes here.
//
// Fields    A structure lists its fields once, for both directions, in a function beside it:
//               template <class Archive> void fields(Archive& archive, Hello& m) {
//                 archive(m.wire, m.nspace, m.token);
//               }
//           A field is a number, an enumerator, a string, a vector, an array, an optional, a pair, or another
//           such structure. A type that can have no fields() has a Coding (core/data/types/fields.hpp).
// Format    Little endian, no padding. Strings and lists begin with their length as u32, arrays have none; a
//           bool is one byte, 0 or 1, and stands before what an optional holds.
// Bounds    W1  A Reader that ran past its end, or met a length that cannot be, is spoilt: it answers zeros
//               and empty spans from then on and ok() is false. So a decoder reads all its fields and asks
//               once.
//           W2  Nothing is allocated for a length that the bytes at hand cannot hold: each element takes a
//               byte at least, and a list grows element by element.
//           W3  Beside a structure `bool is_valid(const Message&)` says what must hold besides: ranges of
//               enumerators, counts that belong together. A structure that breaks it spoils the Reader.
// Versions  A structure with a `wire_version` begins with that number; bytes of another version are refused.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::base {

static_assert(std::endian::native == std::endian::little, "the wire is little endian and copied as it is");

class Writer;
class Reader;

/// Specialized for a type without fields(): `static void write(Writer&, const T&)` and
/// `static void read(Reader&, T&)`.
template <class T>
struct Coding;

/// A field of at most that many elements: a longer one spoils the Reader. archive(at_most(message.list, 8)).
template <class T>
struct AtMost {
  T& value;
  std::size_t most;
};
template <class T>
constexpr AtMost<T> at_most(T& value, std::size_t most) noexcept {
  return {value, most};
}

namespace detail {

template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T>
inline constexpr bool is_byte = is_number<T> && sizeof(T) == 1 && !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t n>
inline constexpr bool is_array<std::array<T, n>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;
template <class T>
inline constexpr bool is_bounded = false;
template <class T>
inline constexpr bool is_bounded<AtMost<T>> = true;
template <class T>
concept coded = requires(Writer& out, Reader& in, T& value) {
  Coding<T>::write(out, value);
  Coding<T>::read(in, value);
};
template <class T>
concept constrained = requires(const T& value) {
  { is_valid(value) } -> std::same_as<bool>;
};

/// The functions that all writers have in common. Self has scalar() and raw().
template <class Self>
class FieldWriter {
 public:
  template <class... T>
  constexpr void operator()(const T&... values) {
    (write(values), ...);
  }

 private:
  template <class T>
  constexpr void write(const T& value) {
    Self& self = static_cast<Self&>(*this);
    if constexpr (is_number<T>) {
      self.scalar(value);
    } else if constexpr (coded<T>) {
      Coding<T>::write(self, value);
    } else if constexpr (is_bounded<T>) {
      write(value.value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      self.text(value);
    } else if constexpr (is_vector<T>) {
      self.scalar(static_cast<std::uint32_t>(value.size()));
      if constexpr (is_byte<typename T::value_type>)
        self.raw(std::as_bytes(std::span(value)));
      else
        for (const auto& element : value) write(element);
    } else if constexpr (is_array<T>) {
      for (const auto& element : value) write(element);
    } else if constexpr (is_optional<T>) {
      self.scalar(value.has_value());
      if (value) write(*value);
    } else if constexpr (is_pair<T>) {
      (*this)(value.first, value.second);
    } else {
      fields(self,
             const_cast<T&>(value));  // one list of fields serves both directions; this one changes none
    }
  }
};

/// Counts what a structure of fixed size takes.
class Counter : public FieldWriter<Counter> {
 public:
  template <class T>
  constexpr void scalar(T) noexcept {
    bytes_ += sizeof(T);
  }
  constexpr std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

template <class T>
constexpr std::size_t count() {
  Counter counter;
  counter(T{});
  return counter.bytes();
}

}  // namespace detail

/// Bytes of a structure that has numbers only; its fields() is constexpr.
template <class T>
inline constexpr std::size_t fixed_bytes = detail::count<T>();

class Writer : public detail::FieldWriter<Writer> {
 public:
  void u8(std::uint8_t v) { scalar(v); }
  void u16(std::uint16_t v) { scalar(v); }
  void u32(std::uint32_t v) { scalar(v); }
  void u64(std::uint64_t v) { scalar(v); }
  void i32(std::int32_t v) { scalar(v); }

  /// Any trivially copyable number.
  template <class T>
  void scalar(T v) {
    static_assert(detail::is_number<T>);
    raw({reinterpret_cast<const std::byte*>(&v), sizeof v});
  }
  /// u32 length, then the bytes; the caller has made sure that they are fewer than 4 GiB.
  void bytes(Bytes b) {
    u32(static_cast<std::uint32_t>(b.size()));
    raw(b);
  }
  void text(std::string_view s) { bytes(as_bytes(s)); }
  void raw(Bytes b) {
    // Not by insert(): g++ 12 takes its inlined copy for one past the end (-Wstringop-overflow).
    const auto at = out_.size();
    out_.resize(at + b.size());
    if (!b.empty()) std::memcpy(out_.data() + at, b.data(), b.size());
  }

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

/// Into memory of the caller's, for the headers of messages: no heap, no checks (write_fixed).
class FixedWriter : public detail::FieldWriter<FixedWriter> {
 public:
  explicit FixedWriter(std::byte* to) noexcept : to_(to) {}
  template <class T>
  void scalar(T v) noexcept {
    std::memcpy(to_, &v, sizeof v);
    to_ += sizeof v;
  }
  std::byte* end() const noexcept { return to_; }

 private:
  std::byte* to_;
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
    static_assert(detail::is_number<T>);
    if constexpr (std::is_same_v<T, bool>) {
      const auto byte = u8();
      if (byte > 1) spoil();
      return byte == 1;
    } else {
      T v{};
      if (in_.size() < sizeof v) {
        spoil();
      } else {
        std::memcpy(&v, in_.data(), sizeof v);
        in_ = in_.subspan(sizeof v);
      }
      return v;
    }
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
  /// All that is left.
  Bytes rest() noexcept { return raw(in_.size()); }

  template <class... T>
  void operator()(T&&... values) {
    (read(values), ...);
  }

  std::size_t left() const noexcept { return in_.size(); }
  bool ok() const noexcept { return ok_; }
  /// Everything was there and nothing is left.
  bool done() const noexcept { return ok_ && in_.empty(); }
  void spoil() noexcept {
    ok_ = false;
    in_ = {};
  }

 private:
  template <class T>
  void read(T& value) {
    if constexpr (detail::is_number<T>) {
      value = scalar<T>();
    } else if constexpr (detail::coded<T>) {
      Coding<T>::read(*this, value);
    } else if constexpr (detail::is_bounded<std::remove_const_t<T>>) {
      if (Reader(in_).u32() > value.most) return spoil();
      read(value.value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = text();
    } else if constexpr (detail::is_vector<T>) {
      read_list(value);
    } else if constexpr (detail::is_array<T>) {
      for (auto& element : value) read(element);
    } else if constexpr (detail::is_optional<T>) {
      if (scalar<bool>())
        read(value.emplace());
      else
        value.reset();
    } else if constexpr (detail::is_pair<T>) {
      (*this)(value.first, value.second);
    } else {
      fields(*this, value);
      if constexpr (detail::constrained<T>)
        if (ok_ && !is_valid(value)) spoil();
    }
  }
  template <class T>
  void read_list(std::vector<T>& list) {
    list.clear();
    const auto count = u32();
    if (count > in_.size()) return spoil();  // W2
    if constexpr (detail::is_byte<T>) {
      const Bytes from = raw(count);
      const auto* first = reinterpret_cast<const T*>(from.data());
      list.assign(first, first + from.size());
    } else {
      for (std::uint32_t i = 0; i < count && ok_; ++i) read(list.emplace_back());
    }
  }

  Bytes in_;
  bool ok_ = true;
};

template <class Message>
concept versioned = requires {
  Message::wire_version;
};

/// A message as the whole of its bytes.
template <class Message>
std::vector<std::byte> encode(const Message& message) {
  Writer out;
  if constexpr (versioned<Message>) out.scalar(Message::wire_version);
  out(message);
  return std::move(out).take();
}

/// Errors: corrupt: anything but exactly one valid message of this version.
template <class Message>
Result<Message> decode(Bytes bytes) {
  Reader in(bytes);
  if constexpr (versioned<Message>) {
    if (in.scalar<std::remove_const_t<decltype(Message::wire_version)>>() != Message::wire_version)
      return fail(Errc::corrupt, "a message of another version");
  }
  Result<Message> message(in_place);
  in(*message);
  if (!in.done()) message = fail(Errc::corrupt, "malformed message");
  return message;
}

/// Structures of fixed size to memory that has room for their fixed_bytes. Returns where they end.
template <class... T>
std::byte* write_fixed(std::byte* to, const T&... values) noexcept {
  FixedWriter out(to);
  out(values...);
  return out.end();
}
/// A message that is such a structure, as the whole of its bytes.
template <class Message>
std::array<std::byte, fixed_bytes<Message>> encode_fixed(const Message& message) noexcept {
  std::array<std::byte, fixed_bytes<Message>> out;
  write_fixed(out.data(), message);
  return out;
}

}  // namespace weft::base
