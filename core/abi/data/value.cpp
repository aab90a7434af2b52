// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Data Structures and Types": values.
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/abi/calls/guard.hpp"
#include "core/abi/data/load.hpp"
#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/number.hpp"
#include "core/data/types/types.hpp"
#include "core/data/types/value.hpp"
#include "pmix.h"

namespace weft::abi {

using data::Place;
using data::Shape;
using data::Type;

namespace {

/// A C string as the byte object that a value keeps a regular expression in, its NUL included.
/// Observed: 4.2.2 counts the NUL (tests/unit/core/data/abi_value_test.cpp).
Result<void> load_regex(pmix_value_t& out, const char* text) {
  const std::size_t size = std::strlen(text) + 1;
  auto* bytes = static_cast<char*>(std::malloc(size));
  if (bytes == nullptr) return fail(Errc::no_memory);
  std::memcpy(bytes, text, size);
  out.data.bo = {bytes, size};
  return {};
}

Result<void> load_element(pmix_value_t& out, const Type& type, const void* data) {
  if (type.place == Place::inside) return data::copy_elements(out.type, &out.data, data, 1);
  // The namespace may be a plain C string shorter than its type, so it must not be copied as an array.
  void* held = data::new_elements(type.width, 1);
  if (held == nullptr) return fail(Errc::no_memory);
  const auto copied = data::copy_elements(out.type, held, data, 1);
  if (!copied) {
    std::free(held);
    return copied;
  }
  out.data.ptr = held;
  return {};
}

/// The number that a value holds, as wide as it gets.
struct Number {
  Shape shape;  ///< natural, integer or real
  std::uint64_t natural = 0;
  std::int64_t integer = 0;
  double real = 0;
};

bool is_number(pmix_data_type_t number, const Type* type) noexcept {
  return type != nullptr && number != PMIX_POINTER &&
         (type->shape == Shape::natural || type->shape == Shape::integer || type->shape == Shape::real);
}

template <class T>
pmix_status_t store(void* dest, std::size_t width, T number) noexcept {
  std::memcpy(dest, &number, width);  // little endian: the low bytes come first
  return PMIX_SUCCESS;
}

/// A real that is a whole number, as one; nothing: it has a fraction, or is wider than 64 bits.
std::optional<Number> whole_number(double real) noexcept {
  constexpr double past_integer = 9223372036854775808.0, past_natural = 18446744073709551616.0;
  if (std::isnan(real) || std::trunc(real) != real) return std::nullopt;
  Number out{Shape::natural};
  if (real >= 0 && real < past_natural) {
    out.natural = static_cast<std::uint64_t>(real);
  } else if (real >= -past_integer && real < 0) {
    out.shape = Shape::integer;
    out.integer = static_cast<std::int64_t>(real);
  } else {
    return std::nullopt;
  }
  return out;
}

pmix_status_t store_natural(const Number& in, void* dest, std::size_t width) noexcept {
  if (in.shape == Shape::integer && in.integer < 0) return PMIX_ERR_CHANGE_SIGN;
  const std::uint64_t number =
      in.shape == Shape::integer ? static_cast<std::uint64_t>(in.integer) : in.natural;
  if (width < 8 && (number >> (8 * width)) != 0) return PMIX_ERR_LOST_PRECISION;
  return store(dest, width, number);
}

pmix_status_t store_integer(const Number& in, void* dest, std::size_t width) noexcept {
  const auto highest = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - 8 * width));
  if (in.shape == Shape::natural) {
    if (in.natural > static_cast<std::uint64_t>(highest)) return PMIX_ERR_LOST_PRECISION;
    return store(dest, width, in.natural);
  }
  if (in.integer > highest || in.integer < -highest - 1) return PMIX_ERR_LOST_PRECISION;
  return store(dest, width, in.integer);
}

/// Whether a double holds the integer exactly: at most 53 bits between its first and its last one.
bool fits_real(std::uint64_t magnitude, int digits) noexcept {
  if (magnitude == 0) return true;
  return 64 - __builtin_clzll(magnitude) - __builtin_ctzll(magnitude) <= digits;
}

pmix_status_t store_real(const Number& in, void* dest, std::size_t width) noexcept {
  const int digits =
      width == sizeof(float) ? std::numeric_limits<float>::digits : std::numeric_limits<double>::digits;
  double number = in.real;
  if (in.shape == Shape::natural) {
    if (!fits_real(in.natural, digits)) return PMIX_ERR_LOST_PRECISION;
    number = static_cast<double>(in.natural);
  } else if (in.shape == Shape::integer) {
    const auto magnitude =
        in.integer < 0 ? 0 - static_cast<std::uint64_t>(in.integer) : static_cast<std::uint64_t>(in.integer);
    if (!fits_real(magnitude, digits)) return PMIX_ERR_LOST_PRECISION;
    number = static_cast<double>(in.integer);
  }
  if (width == sizeof(double)) return store(dest, width, number);
  // Beyond a float's range the conversion itself would be undefined.
  if (std::isfinite(number) && std::abs(number) > std::numeric_limits<float>::max()) {
    return PMIX_ERR_LOST_PRECISION;
  }
  const auto narrow = static_cast<float>(number);
  if (!std::isnan(number) && static_cast<double>(narrow) != number) return PMIX_ERR_LOST_PRECISION;
  return store(dest, width, narrow);
}

pmix_status_t get_number(const pmix_value_t& value, void* dest, pmix_data_type_t wanted) noexcept {
  const Type* from = data::find_type(value.type);
  const Type* to = data::find_type(wanted);
  if (!is_number(value.type, from) || !is_number(wanted, to)) return PMIX_ERR_BAD_PARAM;
  if (value.type == wanted) {
    std::memcpy(dest, &value.data, to->width);
    return PMIX_SUCCESS;
  }
  Number number{from->shape};
  if (from->shape == Shape::natural) number.natural = data::natural_at(&value.data, from->width);
  if (from->shape == Shape::integer) number.integer = data::integer_at(&value.data, from->width);
  if (from->shape == Shape::real) number.real = data::real_at(&value.data, from->width);
  if (from->shape == Shape::real && to->shape != Shape::real) {
    const auto whole = whole_number(number.real);
    if (!whole) return PMIX_ERR_LOST_PRECISION;
    number = *whole;
  }
  if (to->shape == Shape::natural) return store_natural(number, dest, to->width);
  if (to->shape == Shape::integer) return store_integer(number, dest, to->width);
  return store_real(number, dest, to->width);
}

/// Into the caller's memory, which `out` names.
Result<void> unload_into(void* out, const void* from, std::size_t width, std::size_t* size) {
  if (out == nullptr) return fail(Errc::invalid, "there is no place for the datum");
  std::memcpy(out, from, width);
  *size = width;
  return {};
}

Result<void> unload_bytes(const pmix_byte_object_t& object, void** out, std::size_t* size) {
  void* copy = nullptr;
  if (object.bytes != nullptr && object.size != 0) {
    copy = std::malloc(object.size);
    if (copy == nullptr) return fail(Errc::no_memory);
    std::memcpy(copy, object.bytes, object.size);
  }
  *out = copy;
  *size = copy == nullptr ? 0 : object.size;
  return {};
}

Result<void> unload_copy(const pmix_value_t& value, const Type& type, void** out, std::size_t* size) {
  const void* from = data::payload(value, type);
  void* copy = nullptr;
  if (from != nullptr) {
    copy = data::new_elements(type.width, 1);
    if (copy == nullptr) return fail(Errc::no_memory);
    if (const auto done = data::copy_elements(value.type, copy, from, 1); !done) {
      std::free(copy);
      return done;
    }
  }
  *out = copy;
  *size = copy == nullptr ? 0 : type.width;
  return {};
}

/// Observed: 4.2.2 and 5.0.7 copy numbers, procs and namespaces to where `*out` points, which must not be
/// NULL, and set `*out` to new memory for everything else. The Standard speaks of new memory only. New memory
/// for a number would be wrong for existing programs: Open MPI 5 passes the address of a size_t that is 0 as
/// `out`, and would take the address of the memory for the number (docs/design/openmpi.md).
Result<void> unload(const pmix_value_t& value, const Type& type, void** out, std::size_t* size) {
  if (value.type == PMIX_POINTER) {
    *out = value.data.ptr;
    *size = sizeof(void*);
    return {};
  }
  if (data::is_plain(type.shape)) return unload_into(*out, &value.data, type.width, size);
  switch (type.shape) {
    case Shape::none:
      return fail(Errc::invalid, "an undefined value has nothing to unload");
    case Shape::text: {
      const char* text = value.data.string;
      char* copy = text == nullptr ? nullptr : data::new_text(text);
      if (copy == nullptr && text != nullptr) return fail(Errc::no_memory);
      *out = copy;
      *size = text == nullptr ? 0 : std::strlen(text);
      return {};
    }
    case Shape::blob:
      return unload_bytes(value.data.bo, out, size);
    case Shape::name:
      if (value.data.nspace == nullptr) break;
      return unload_into(*out, value.data.nspace, type.width, size);
    case Shape::record:
      if (value.type != PMIX_PROC || value.data.proc == nullptr) break;
      return unload_into(*out, value.data.proc, type.width, size);
    default:
      break;
  }
  return unload_copy(value, type, out, size);
}

}  // namespace

Result<void> load_value(pmix_value_t& out, const void* data, pmix_data_type_t type) {
  const Type* known = data::find_type(type);
  if (known == nullptr) return fail(Errc::type_mismatch, "unknown data type");
  pmix_value_t built = data::empty_value();
  built.type = type;
  Result<void> done;
  if (type == PMIX_POINTER) {
    built.data.ptr = const_cast<void*>(data);
  } else if (data == nullptr) {
    built.data.flag = type == PMIX_BOOL;  // a directive that is merely named means true
  } else if (type == PMIX_STRING) {
    built.data.string = data::new_text(static_cast<const char*>(data));
    if (built.data.string == nullptr) done = fail(Errc::no_memory);
  } else if (type == PMIX_REGEX) {
    done = load_regex(built, static_cast<const char*>(data));
  } else if (known->shape != Shape::none) {
    done = load_element(built, *known, data);
  }
  if (done) out = built;
  return done;
}

pmix_status_t load_status(const Result<void>& done) noexcept {
  if (done) return PMIX_SUCCESS;
  return done.error().code == Errc::type_mismatch ? PMIX_ERR_UNKNOWN_DATA_TYPE : to_status(done.error());
}

}  // namespace weft::abi

using namespace weft;

extern "C" {

void PMIx_Value_construct(pmix_value_t* value) {
  if (value != nullptr) *value = data::empty_value();
}

void PMIx_Value_destruct(pmix_value_t* value) {
  if (value != nullptr) data::destroy_value(*value);
}

pmix_value_t* PMIx_Value_create(std::size_t n) {
  return n == 0 ? nullptr : static_cast<pmix_value_t*>(data::new_elements(sizeof(pmix_value_t), n));
}

void PMIx_Value_free(pmix_value_t* array, std::size_t n) {
  if (array == nullptr) return;
  data::destroy_elements(PMIX_VALUE, array, n);
  std::free(array);
}

/// PMIx_Value_load: makes a value out of a copy of the data; what the value held before is not freed.
///   data  the text itself for PMIX_STRING and PMIX_REGEX, the address for PMIX_POINTER, else where the
///         datum lies; NULL makes an empty value (true for PMIX_BOOL)
///   Errors: PMIX_ERR_BAD_PARAM (val is NULL), _UNKNOWN_DATA_TYPE, _NOMEM, _NOT_SUPPORTED (a handle of
///   another library); the value is then unchanged.
///   Source: PMIx Standard 5, chapter "Data Structures and Types". Tests: tests/unit/core/data
pmix_status_t PMIx_Value_load(pmix_value_t* value, const void* data, pmix_data_type_t type) {
  if (value == nullptr) return PMIX_ERR_BAD_PARAM;
  return abi::guarded_status([&] { return abi::load_status(abi::load_value(*value, data, type)); });
}

/// PMIx_Value_unload: a copy of the datum and its size in bytes (of a text without its NUL).
///   data  numbers, procs and namespaces are stored where *data points; everything else comes in new memory,
///         to be freed by the caller
///   Errors: PMIX_ERR_BAD_PARAM (NULL, also as the place of a number, a proc or a namespace; PMIX_UNDEF),
///   _UNKNOWN_DATA_TYPE, _NOMEM; *data and *size are then unchanged.
pmix_status_t PMIx_Value_unload(pmix_value_t* value, void** data, std::size_t* size) {
  if (value == nullptr || data == nullptr || size == nullptr) return PMIX_ERR_BAD_PARAM;
  const data::Type* type = data::find_type(value->type);
  if (type == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
  return abi::guarded([&] { return abi::unload(*value, *type, data, size); });
}

pmix_status_t PMIx_Value_xfer(pmix_value_t* dest, const pmix_value_t* src) {
  if (dest == nullptr || src == nullptr) return PMIX_ERR_BAD_PARAM;
  if (data::find_type(src->type) == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
  return abi::guarded([&] { return data::copy_value(*dest, *src); });
}

pmix_value_cmp_t PMIx_Value_compare(pmix_value_t* first, pmix_value_t* second) {
  if (first == nullptr || second == nullptr) return PMIX_VALUE_COMPARISON_NOT_AVAIL;
  return data::compare_values(*first, *second);
}

pmix_boolean_t PMIx_Value_true(const pmix_value_t* value) {
  return value == nullptr ? PMIX_NON_BOOL : data::truth(*value);
}

pmix_status_t PMIx_Value_get_size(const pmix_value_t* value, std::size_t* size) {
  if (value == nullptr || size == nullptr) return PMIX_ERR_BAD_PARAM;
  if (data::find_type(value->type) == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
  *size = data::element_bytes(value->type, data::payload_or_null(*value));
  return PMIX_SUCCESS;
}

/// PMIx_Value_get_number: the value as a number of another type, if that type can hold it exactly.
///   Errors: PMIX_ERR_BAD_PARAM (NULL, no number), _CHANGE_SIGN (negative, asked for unsigned),
///   _LOST_PRECISION (too large, or a real number asked for as an integer); *dest is then unchanged.
///   Source: PMIx Standard draft, chapter "Data Structures and Types".
pmix_status_t PMIx_Value_get_number(const pmix_value_t* value, void* dest, pmix_data_type_t type) {
  if (value == nullptr || dest == nullptr) return PMIX_ERR_BAD_PARAM;
  return abi::get_number(*value, dest, type);
}

}  // extern "C"
