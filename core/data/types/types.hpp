// SPDX-License-Identifier: BSD-3-Clause
// What every pmix_data_type_t looks like in memory. Copy, end, encode, decode, compare and print all walk
// this one table, so a new type of the Standard is a row here and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pmix_common.h"

namespace weft::data {

/// The kinds of elements. Everything up to `timeval` is `width` plain bytes that own nothing.
enum class Shape : std::uint8_t {
  boolean,   ///< bool; on the wire only 0 and 1
  natural,   ///< unsigned, 1 to 8 bytes
  pointer,   ///< void*; bytes that another process sent decode to NULL
  integer,   ///< signed, 1 to 8 bytes
  real,      ///< float or double
  timeval,   ///< struct timeval
  none,      ///< PMIX_UNDEF: no bytes at all
  text,      ///< char*, may be NULL
  name,      ///< char[width] in place, always ended by a NUL
  blob,      ///< pmix_byte_object_t
  record,    ///< a struct of `fields`
  info,      ///< pmix_info_t: a record whose flags say whether it owns the value
  value,     ///< pmix_value_t
  array,     ///< pmix_data_array_t
  buffer,    ///< pmix_data_buffer_t; its unread part is what counts
  topology,  ///< {char* source; void* handle} that only core/topology can read
  cpuset,    ///< likewise
};

/// How a field of a record holds its elements.
enum class Role : std::uint8_t {
  one,      ///< one element of `type` in place
  list,     ///< a pointer to elements of `type`; their size_t count lies at `count_at`
  strings,  ///< char**, ended by NULL
  key,      ///< pmix_key_t in place
};

struct Field {
  const char* name;
  pmix_data_type_t type;
  Role role;
  std::uint16_t at;        ///< bytes from the start of the record
  std::uint16_t count_at;  ///< role list only
};

/// Where a pmix_value_t keeps an element: in its union, or in memory of its own that the union points to.
enum class Place : std::uint8_t { inside, pointer };

struct Type {
  const char* name;  ///< of the constant; nullptr in the gaps between the types
  Shape shape;
  Place place;
  std::uint16_t width;     ///< sizeof one element
  std::uint16_t min_wire;  ///< fewest bytes of one encoded element: bounds how many can follow
  std::span<const Field> fields;
};

/// nullptr for a type that Weft does not know.
const Type* find_type(pmix_data_type_t type) noexcept;

constexpr bool is_plain(Shape shape) noexcept {
  return shape <= Shape::timeval;
}

}  // namespace weft::data
