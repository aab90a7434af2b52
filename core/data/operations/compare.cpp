// SPDX-License-Identifier: BSD-3-Clause
// Order of elements of any type, and how many bytes of data they hold.
#include <sys/time.h>

#include <algorithm>

#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/number.hpp"
#include "core/data/types/opaque.hpp"
#include "core/data/types/types.hpp"
#include "core/data/types/value.hpp"

namespace weft::data {
namespace {

template <class T>
pmix_value_cmp_t order(T first, T second) noexcept {
  if (first == second) return PMIX_EQUAL;
  if (first > second) return PMIX_VALUE1_GREATER;
  return first < second ? PMIX_VALUE2_GREATER : PMIX_VALUE_COMPARISON_NOT_AVAIL;  // neither: a NaN
}

pmix_value_cmp_t order_text(const char* first, const char* second) noexcept {
  if (first == nullptr || second == nullptr) return order(first != nullptr, second != nullptr);
  return order(std::strcmp(first, second), 0);
}

pmix_value_cmp_t order_fixed(const void* first, const void* second, std::size_t size) noexcept {
  return order(fixed_text(first, size).compare(fixed_text(second, size)), 0);
}

pmix_value_cmp_t order_bytes(std::string_view first, std::string_view second) noexcept {
  if (first.size() != second.size()) return order(first.size(), second.size());
  return first.empty() ? PMIX_EQUAL : order(std::memcmp(first.data(), second.data(), first.size()), 0);
}

std::string_view view(const pmix_byte_object_t& object) noexcept {
  return object.bytes == nullptr ? std::string_view() : std::string_view(object.bytes, object.size);
}

pmix_value_cmp_t order_strings(char* const* first, char* const* second) noexcept {
  if (first == nullptr || second == nullptr) return order(first != nullptr, second != nullptr);
  for (;; ++first, ++second) {
    const pmix_value_cmp_t found = order_text(*first, *second);
    if (found != PMIX_EQUAL || *first == nullptr) return found;
  }
}

pmix_value_cmp_t order_list(pmix_data_type_t number, const void* first, std::size_t first_count,
                            const void* second, std::size_t second_count) noexcept {
  if (first == nullptr) first_count = 0;
  if (second == nullptr) second_count = 0;
  if (first_count != second_count) return order(first_count, second_count);
  const Type* type = find_type(number);
  if (type == nullptr) return PMIX_VALUE_COMPARISON_NOT_AVAIL;
  for (std::size_t i = 0; i < first_count; ++i) {
    const auto found = compare_elements(number, element(first, *type, i), element(second, *type, i));
    if (found != PMIX_EQUAL) return found;
  }
  return PMIX_EQUAL;
}

pmix_value_cmp_t order_field(const Field& f, const void* a, const void* b) noexcept {
  switch (f.role) {
    case Role::one:
      return compare_elements(f.type, &at<char>(a, f.at), &at<char>(b, f.at));
    case Role::list:
      return order_list(f.type, at<void*>(a, f.at), at<std::size_t>(a, f.count_at), at<void*>(b, f.at),
                        at<std::size_t>(b, f.count_at));
    case Role::strings:
      return order_strings(at<char**>(a, f.at), at<char**>(b, f.at));
    case Role::key:
      return order_fixed(&at<char>(a, f.at), &at<char>(b, f.at), sizeof(pmix_key_t));
  }
  return PMIX_VALUE_COMPARISON_NOT_AVAIL;
}

pmix_value_cmp_t order_opaque(Opaque kind, const OpaqueBody& a, const OpaqueBody& b) noexcept {
  const pmix_value_cmp_t source = order_text(a.source, b.source);
  if (source != PMIX_EQUAL || a.handle == b.handle) return source;
  const OpaqueOps* ops = opaque_ops(kind);
  if (ops == nullptr || a.handle == nullptr || b.handle == nullptr) return PMIX_VALUE_COMPARISON_NOT_AVAIL;
  return ops->equal(a.handle, b.handle) ? PMIX_EQUAL : PMIX_VALUE_COMPARISON_NOT_AVAIL;
}

std::size_t strings_bytes(char* const* list) noexcept {
  if (list == nullptr) return 0;
  std::size_t sum = sizeof(char*);
  for (; *list != nullptr; ++list) sum += sizeof(char*) + std::strlen(*list) + 1;
  return sum;
}

std::size_t list_bytes(pmix_data_type_t number, const void* first, std::size_t count) noexcept;

/// The bytes that an element owns outside its own structure.
std::size_t owned_bytes(const Type& type, const void* element) noexcept {
  switch (type.shape) {
    case Shape::text: {
      const char* text = at<char*>(element, 0);
      return text == nullptr ? 0 : std::strlen(text) + 1;
    }
    case Shape::blob:
      return at<pmix_byte_object_t>(element, 0).size;
    case Shape::buffer:
      return at<pmix_data_buffer_t>(element, 0).bytes_used;
    case Shape::value: {
      const auto& value = at<pmix_value_t>(element, 0);
      return element_bytes(value.type, payload_or_null(value));
    }
    case Shape::array: {
      const auto& array = at<pmix_data_array_t>(element, 0);
      return list_bytes(array.type, array.array, array.size);
    }
    case Shape::record:
    case Shape::info:
      break;
    default:
      return 0;
  }
  std::size_t sum = 0;
  for (const Field& f : type.fields) {
    if (f.role == Role::one) sum += owned_bytes(*find_type(f.type), &at<char>(element, f.at));
    if (f.role == Role::strings) sum += strings_bytes(at<char**>(element, f.at));
    if (f.role == Role::list)
      sum += list_bytes(f.type, at<void*>(element, f.at), at<std::size_t>(element, f.count_at));
  }
  return sum;
}

std::size_t list_bytes(pmix_data_type_t number, const void* first, std::size_t count) noexcept {
  const Type* type = find_type(number);
  if (type == nullptr || first == nullptr) return 0;
  std::size_t sum = type->width * count;
  if (is_plain(type->shape)) return sum;
  for (std::size_t i = 0; i < count; ++i) sum += owned_bytes(*type, element(first, *type, i));
  return sum;
}

}  // namespace

pmix_value_cmp_t compare_elements(pmix_data_type_t number, const void* first, const void* second) noexcept {
  const Type* type = find_type(number);
  if (type == nullptr) return PMIX_VALUE_COMPARISON_NOT_AVAIL;
  switch (type->shape) {
    case Shape::boolean:
      return order(at<std::uint8_t>(first, 0) != 0, at<std::uint8_t>(second, 0) != 0);
    case Shape::natural:
    case Shape::pointer:
      return order(natural_at(first, type->width), natural_at(second, type->width));
    case Shape::integer:
      return order(integer_at(first, type->width), integer_at(second, type->width));
    case Shape::real:
      return order(real_at(first, type->width), real_at(second, type->width));
    case Shape::timeval: {
      const auto &a = at<timeval>(first, 0), &b = at<timeval>(second, 0);
      return a.tv_sec != b.tv_sec ? order(a.tv_sec, b.tv_sec) : order(a.tv_usec, b.tv_usec);
    }
    case Shape::none:
      return PMIX_EQUAL;
    case Shape::text:
      return order_text(at<char*>(first, 0), at<char*>(second, 0));
    case Shape::name:
      return order_fixed(first, second, type->width);
    case Shape::blob:
      return order_bytes(view(at<pmix_byte_object_t>(first, 0)), view(at<pmix_byte_object_t>(second, 0)));
    case Shape::value:
      return compare_values(at<pmix_value_t>(first, 0), at<pmix_value_t>(second, 0));
    case Shape::array: {
      const auto &a = at<pmix_data_array_t>(first, 0), &b = at<pmix_data_array_t>(second, 0);
      if (a.type != b.type) return PMIX_VALUE_INCOMPATIBLE_OBJECTS;
      return order_list(a.type, a.array, a.size, b.array, b.size);
    }
    case Shape::buffer:
      return order_bytes(unread(at<pmix_data_buffer_t>(first, 0)), unread(at<pmix_data_buffer_t>(second, 0)));
    case Shape::topology:
      return order_opaque(Opaque::topology, at<OpaqueBody>(first, 0), at<OpaqueBody>(second, 0));
    case Shape::cpuset:
      return order_opaque(Opaque::cpuset, at<OpaqueBody>(first, 0), at<OpaqueBody>(second, 0));
    case Shape::record:
    case Shape::info:
      break;
  }
  for (const Field& f : type->fields) {
    const pmix_value_cmp_t found = order_field(f, first, second);
    if (found != PMIX_EQUAL) return found;
  }
  return PMIX_EQUAL;
}

pmix_value_cmp_t compare_values(const pmix_value_t& first, const pmix_value_t& second) noexcept {
  if (first.type != second.type) return PMIX_VALUE_TYPE_DIFFERENT;
  const pmix_data_type_t number = first.type;
  const void *a = payload_or_null(first), *b = payload_or_null(second);
  if (find_type(number) == nullptr) return PMIX_VALUE_COMPARISON_NOT_AVAIL;
  if (a == nullptr || b == nullptr) return order(a != nullptr, b != nullptr);
  return compare_elements(number, a, b);
}

std::size_t element_bytes(pmix_data_type_t number, const void* element) noexcept {
  const Type* type = find_type(number);
  if (type == nullptr || element == nullptr) return 0;
  // A text and an object are compared by their data, not by the pointer to it.
  const bool is_reference =
      type->shape == Shape::text || type->shape == Shape::blob || type->shape == Shape::value;
  return (is_reference ? 0 : type->width) + owned_bytes(*type, element);
}

}  // namespace weft::data
