// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/core/data/samples.hpp"

#include <string>

#include "core/data/types/memory.hpp"

namespace weft::data::test {
namespace {
constexpr unsigned deepest = 3;
}

std::vector<pmix_data_type_t> all_types() {
  std::vector<pmix_data_type_t> out;
  for (pmix_data_type_t type = 0; type < PMIX_DATA_TYPE_MAX; ++type) {
    if (find_type(type) != nullptr) out.push_back(type);
  }
  return out;
}

char* Samples::text() {
  if (number(8) == 0) return nullptr;
  std::string out;
  for (std::uint64_t length = number(20); out.size() < length;) out += static_cast<char>('a' + number(26));
  return new_text(out);
}

pmix_data_type_t Samples::element_type(unsigned depth) {
  const auto types = all_types();
  for (;;) {
    const pmix_data_type_t type = types[number(types.size())];
    if (type == PMIX_UNDEF) continue;  // such an array holds nothing to compare
    if (depth < deepest || is_plain(find_type(type)->shape)) return type;
  }
}

pmix_value_t Samples::value(pmix_data_type_t type, unsigned depth) {
  pmix_value_t out = empty_value();
  out.type = type;
  const Type& known = *find_type(type);
  if (known.place == Place::inside) {
    fill(type, &out.data, depth);
  } else if (known.shape == Shape::array ||
             number(10) != 0) {  // the copy of an array that is not there is an empty one
    out.data.ptr = new_elements(known.width, 1);
    fill(type, out.data.ptr, depth);
  }
  return out;
}

void Samples::fill_record(const Type& type, void* record, unsigned depth) {
  for (const Field& f : type.fields) {
    switch (f.role) {
      case Role::one:
        fill(f.type, &at<char>(record, f.at), depth);
        break;
      case Role::list: {
        const std::uint64_t count = depth < deepest ? number(3) : 0;
        if (count == 0) break;
        const Type& of = *find_type(f.type);
        at<void*>(record, f.at) = new_elements(of.width, count);
        at<std::size_t>(record, f.count_at) = count;
        for (std::uint64_t i = 0; i < count; ++i)
          fill(f.type, element(at<void*>(record, f.at), of, i), depth + 1);
        break;
      }
      case Role::strings: {
        if (number(4) == 0) break;
        const std::uint64_t count = number(3);
        auto** list = static_cast<char**>(new_elements(sizeof(char*), count + 1));
        for (std::uint64_t i = 0; i < count; ++i) {
          list[i] = text();
          if (list[i] == nullptr) list[i] = new_text("");
        }
        at<char**>(record, f.at) = list;
        break;
      }
      case Role::key:
        std::memcpy(&at<char>(record, f.at), "some.key", 8);
        break;
    }
  }
}

void Samples::fill(pmix_data_type_t number_of_type, void* out, unsigned depth) {
  const Type& type = *find_type(number_of_type);
  switch (type.shape) {
    case Shape::boolean:
      at<bool>(out, 0) = number(2) == 1;
      break;
    case Shape::natural:
    case Shape::integer:
    case Shape::timeval:
      for (std::size_t i = 0; i < type.width; ++i)
        at<std::uint8_t>(out, i) = static_cast<std::uint8_t>(random_());
      break;
    case Shape::real:
      if (type.width == sizeof(float)) at<float>(out, 0) = static_cast<float>(number(1000)) / 7;
      if (type.width == sizeof(double)) at<double>(out, 0) = static_cast<double>(number(1000)) / 7;
      break;
    case Shape::none:
    case Shape::pointer:  // NULL: no other address comes through the decoder
      break;
    case Shape::text:
      at<char*>(out, 0) = text();
      break;
    case Shape::name:
      std::memcpy(out, "a.name", 6);
      break;
    case Shape::blob:
    case Shape::buffer: {
      const std::uint64_t size = number(30);
      if (size == 0) break;
      auto* bytes = static_cast<char*>(new_elements(1, size));
      for (std::uint64_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(random_());
      if (type.shape == Shape::blob) {
        at<pmix_byte_object_t>(out, 0) = {bytes, size};
      } else {
        at<pmix_data_buffer_t>(out, 0) = {bytes, bytes + size, bytes, size, size};
      }
      break;
    }
    case Shape::info:
    case Shape::record:
      fill_record(type, out, depth);
      break;
    case Shape::value:
      at<pmix_value_t>(out, 0) = value(element_type(depth), depth + 1);
      break;
    case Shape::array: {
      auto& array = at<pmix_data_array_t>(out, 0);
      array.type = element_type(depth);
      array.size = number(4);
      if (array.size == 0) break;
      const Type& of = *find_type(array.type);
      array.array = new_elements(of.width, array.size);
      for (std::size_t i = 0; i < array.size; ++i) fill(array.type, element(array.array, of, i), depth + 1);
      break;
    }
    case Shape::topology:
    case Shape::cpuset:
      at<OpaqueBody>(out, 0).source = text();
      break;
  }
  if (type.shape == Shape::info) {
    at<pmix_info_t>(out, 0).flags = PMIX_INFO_REQD;
  }
}

}  // namespace weft::data::test
