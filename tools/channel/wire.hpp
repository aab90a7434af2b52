// SPDX-License-Identifier: BSD-3-Clause
// Structures as bytes and back. A structure lists its fields once, in `template <class Archive> void
// fields(Archive&)`; writing and reading are two archives. Integers are little-endian, strings and lists
// begin with their length.
//
// Reading is bounded: a length that the bytes at hand cannot hold is refused, so a damaged message costs no
// more memory than a right one of its size. A message that is cut, too long, or of another version is
// refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weft::channel {

/// Of all messages between weftrun and weftd: their first byte.
inline constexpr std::uint8_t wire_version = 1;

class WireWriter {
 public:
  template <class Integer>
  requires std::is_integral_v<Integer>
  void operator()(const Integer& value) {
    auto rest = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(Integer); ++i, rest >>= 8) bytes_ += static_cast<char>(rest & 0xff);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void operator()(const Enum& value) { (*this)(static_cast<std::underlying_type_t<Enum>>(value)); }
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }
  template <class T>
  void operator()(const std::vector<T>& list) {
    (*this)(static_cast<std::uint32_t>(list.size()));
    for (const auto& element : list) (*this)(element);
  }
  template <class T>
  void operator()(const std::optional<T>& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
  }
  template <class T>
  requires requires(T& value, WireWriter& writer) { fields(writer, value); }
  void operator()(const T& value) {
    fields(*this, const_cast<T&>(value));  // fields() serves both directions; this archive changes nothing
  }
  std::string take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) noexcept : rest_(bytes) {}

  template <class Integer>
  requires std::is_integral_v<Integer>
  void operator()(Integer& value) {
    std::uint64_t read = 0;
    const auto bytes = next(sizeof(Integer));
    for (std::size_t i = bytes.size(); i-- > 0;) read = read << 8 | static_cast<unsigned char>(bytes[i]);
    if constexpr (std::is_same_v<Integer, bool>) {
      if (read > 1) is_right_ = false;
      value = read == 1;
    } else {
      value = static_cast<Integer>(read);
    }
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void operator()(Enum& value) {  // its range is for the reader of the structure to check
    std::underlying_type_t<Enum> number{};
    (*this)(number);
    value = static_cast<Enum>(number);
  }
  void operator()(std::string& text) {
    std::uint32_t length = 0;
    (*this)(length);
    text = next(length);
  }
  template <class T>
  void operator()(std::vector<T>& list) {
    std::uint32_t count = 0;
    (*this)(count);
    if (count > rest_.size()) is_right_ = false;  // each element takes a byte at least
    list.clear();
    for (std::uint32_t i = 0; i < count && is_right_; ++i) (*this)(list.emplace_back());
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    bool is_there = false;
    (*this)(is_there);
    if (is_there)
      (*this)(value.emplace());
    else
      value.reset();
  }
  template <class T>
  requires requires(T& value, WireReader& reader) { fields(reader, value); }
  void operator()(T& value) { fields(*this, value); }
  /// Everything was there and nothing is left.
  bool is_complete() const noexcept { return is_right_ && rest_.empty(); }

 private:
  std::string_view next(std::size_t length) noexcept {
    if (!is_right_ || length > rest_.size()) {
      is_right_ = false;
      return {};
    }
    const auto bytes = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return bytes;
  }
  std::string_view rest_;
  bool is_right_ = true;
};

template <class Message>
std::string encode(const Message& message) {
  WireWriter writer;
  writer(wire_version);
  writer(message);
  return std::move(writer).take();
}

template <class Message>
std::optional<Message> decode(std::string_view bytes) {
  WireReader reader(bytes);
  std::uint8_t version = 0;
  reader(version);
  Message message;
  if (version != wire_version) return std::nullopt;
  reader(message);
  if (!reader.is_complete()) return std::nullopt;
  return message;
}

}  // namespace weft::channel
