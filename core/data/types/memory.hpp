// SPDX-License-Identifier: BSD-3-Clause
// Memory that a C caller may free(), and views of bytes inside the C structures.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/data/types/types.hpp"

namespace weft::data {

/// {source, handle}: how pmix_topology_t and pmix_cpuset_t both lie in memory.
struct OpaqueBody {
  char* source;
  void* handle;
};
static_assert(sizeof(OpaqueBody) == sizeof(pmix_topology_t) && sizeof(OpaqueBody) == sizeof(pmix_cpuset_t));

/// NULL if there is no memory; free() it.
inline char* new_text(std::string_view text) noexcept {
  auto* out = static_cast<char*>(std::malloc(text.size() + 1));
  if (out == nullptr) return nullptr;
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
  return out;
}

/// All bytes zero: `= {}` promises that only for the first member of the union.
inline pmix_value_t empty_value() noexcept {
  pmix_value_t value;
  std::memset(&value, 0, sizeof value);
  return value;
}

/// `count` zeroed elements; never NULL for want of a size, only of memory.
inline void* new_elements(std::size_t width, std::size_t count) noexcept {
  return std::calloc(count == 0 ? 1 : count, width == 0 ? 1 : width);
}

template <class T>
T& at(void* base, std::size_t offset) noexcept {
  return *reinterpret_cast<T*>(static_cast<std::byte*>(base) + offset);
}
template <class T>
const T& at(const void* base, std::size_t offset) noexcept {
  return *reinterpret_cast<const T*>(static_cast<const std::byte*>(base) + offset);
}
inline void* element(void* first, const Type& type, std::size_t index) noexcept {
  return static_cast<std::byte*>(first) + index * type.width;
}
inline const void* element(const void* first, const Type& type, std::size_t index) noexcept {
  return static_cast<const std::byte*>(first) + index * type.width;
}

/// Text of a fixed array of `size` chars. C callers do forget the final NUL.
inline std::string_view fixed_text(const void* chars, std::size_t size) noexcept {
  const auto* text = static_cast<const char*>(chars);
  return {text, strnlen(text, size - 1)};
}

/// What a value carries: its union, or what the union points to (may be NULL).
inline const void* payload(const pmix_value_t& value, const Type& type) noexcept {
  return type.place == Place::inside ? static_cast<const void*>(&value.data) : value.data.ptr;
}

inline const void* payload_or_null(const pmix_value_t& value) noexcept {
  const Type* type = find_type(value.type);
  return type == nullptr ? nullptr : payload(value, *type);
}

/// The bytes of a buffer that are not unpacked yet.
inline std::string_view unread(const pmix_data_buffer_t& buffer) noexcept {
  if (buffer.base_ptr == nullptr) return {};
  const char* from = buffer.unpack_ptr == nullptr ? buffer.base_ptr : buffer.unpack_ptr;
  const char* end = buffer.base_ptr + buffer.bytes_used;
  return from < end ? std::string_view(from, static_cast<std::size_t>(end - from)) : std::string_view();
}

}  // namespace weft::data
