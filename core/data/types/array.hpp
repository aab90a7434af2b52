// SPDX-License-Identifier: BSD-3-Clause
// C arrays of one type as values: applications, published data, queries. So they travel by the decoder of all
// values.
#pragma once

#include <cstddef>
#include <span>

#include "core/data/types/value.hpp"

namespace weft::data {

/// A copy of the array as a value of type PMIX_DATA_ARRAY. Errors: as copy_value.
template <class Element>
Result<Value> value_of_array(pmix_data_type_t type, const Element* elements, std::size_t count) {
  pmix_data_array_t array{type, count, const_cast<Element*>(elements)};
  pmix_value_t raw{};
  raw.type = PMIX_DATA_ARRAY;
  raw.data.darray = &array;
  return Value::copy_of(raw);
}

/// The elements of an array of that type, which Element is in C; none where the value is anything else.
template <class Element>
std::span<Element> elements_of(pmix_value_t& value, pmix_data_type_t type) {
  if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) return {};
  const auto& array = *value.data.darray;
  if (array.type != type || array.array == nullptr) return {};
  return {static_cast<Element*>(array.array), array.size};
}

template <class Element>
std::span<const Element> elements_of(const pmix_value_t& value, pmix_data_type_t type) {
  return elements_of<Element>(const_cast<pmix_value_t&>(value), type);
}

}  // namespace weft::data
