// SPDX-License-Identifier: BSD-3-Clause
// Deep copies and ends of elements of any type.
#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/opaque.hpp"
#include "core/data/types/types.hpp"
#include "core/data/types/value.hpp"

namespace weft::data {
namespace {

constexpr pmix_info_directives_t not_owner = PMIX_INFO_PERSISTENT;

Opaque opaque_kind(Shape shape) noexcept {
  return shape == Shape::topology ? Opaque::topology : Opaque::cpuset;
}

// --- ends ---------------------------------------------------------------------------------------------

void destroy_each(pmix_data_type_t number, void* first, std::size_t count) noexcept;

void destroy_strings(char** list) noexcept {
  if (list == nullptr) return;
  for (char** at_text = list; *at_text != nullptr; ++at_text) std::free(*at_text);
  std::free(list);
}

void destroy_fields(const Type& type, void* record) noexcept {
  for (const Field& field : type.fields) {
    switch (field.role) {
      case Role::one:
        destroy_each(field.type, &at<char>(record, field.at), 1);
        break;
      case Role::list: {
        void* first = at<void*>(record, field.at);
        if (first != nullptr) destroy_each(field.type, first, at<std::size_t>(record, field.count_at));
        std::free(first);
        break;
      }
      case Role::strings:
        destroy_strings(at<char**>(record, field.at));
        break;
      case Role::key:
        break;
    }
  }
}

void destroy_opaque(const Type& type, OpaqueBody& body) noexcept {
  const OpaqueOps* ops = opaque_ops(opaque_kind(type.shape));
  // Without ops nothing in this process made the handle, and nothing here can end it.
  if (body.handle != nullptr && ops != nullptr) ops->destroy(body.source, body.handle);
  std::free(body.source);
}

void destroy_one(const Type& type, void* element) noexcept {
  switch (type.shape) {
    case Shape::boolean:
    case Shape::natural:
    case Shape::pointer:
    case Shape::integer:
    case Shape::real:
    case Shape::timeval:
    case Shape::none:
    case Shape::name:
      break;
    case Shape::text:
      std::free(at<char*>(element, 0));
      break;
    case Shape::blob:
      std::free(at<pmix_byte_object_t>(element, 0).bytes);
      break;
    case Shape::record:
      destroy_fields(type, element);
      break;
    case Shape::info: {
      auto& info = at<pmix_info_t>(element, 0);
      if ((info.flags & not_owner) == 0) destroy_value(info.value);
      break;
    }
    case Shape::value:
      destroy_value(at<pmix_value_t>(element, 0));
      break;
    case Shape::array: {
      auto& array = at<pmix_data_array_t>(element, 0);
      if (array.array != nullptr) destroy_each(array.type, array.array, array.size);
      std::free(array.array);
      break;
    }
    case Shape::buffer:
      std::free(at<pmix_data_buffer_t>(element, 0).base_ptr);
      break;
    case Shape::topology:
    case Shape::cpuset:
      destroy_opaque(type, at<OpaqueBody>(element, 0));
      break;
  }
}

void destroy_each(pmix_data_type_t number, void* first, std::size_t count) noexcept {
  const Type* type = find_type(number);
  if (type == nullptr || is_plain(type->shape)) return;
  for (std::size_t i = 0; i < count; ++i) destroy_one(*type, element(first, *type, i));
}

// --- copies -------------------------------------------------------------------------------------------

/// Every function fills zeroed memory and leaves it fit for destroy_elements, also when it fails.
class Copier {
 public:
  Errc error = Errc::no_memory;

  bool elements(pmix_data_type_t number, const Type& type, void* out, const void* in, std::size_t count) {
    if (is_plain(type.shape)) {
      if (count != 0) std::memcpy(out, in, type.width * count);
      return true;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (one(type, element(out, type, i), element(in, type, i))) continue;
      destroy_elements(number, out, i + 1);
      return false;
    }
    return true;
  }

  bool value(pmix_value_t& out, const pmix_value_t& in) {
    const pmix_data_type_t number = in.type;
    const Type* type = find_type(number);
    if (type == nullptr) return refuse(Errc::not_supported);
    out.type = in.type;
    const void* from = payload(in, *type);
    if (type->place == Place::inside) return one(*type, &out.data, from);
    if (from == nullptr && type->shape != Shape::array) return true;
    out.data.ptr = new_elements(type->width, 1);
    // Programs look into the copy of an array that was not there: it is an empty one.
    return out.data.ptr != nullptr && (from == nullptr || one(*type, out.data.ptr, from));
  }

 private:
  bool refuse(Errc why) noexcept {
    error = why;
    return false;
  }

  bool text(char*& out, const char* in) noexcept {
    if (in == nullptr) return true;
    out = strdup(in);
    return out != nullptr;
  }

  bool bytes(char*& out, std::size_t& size, const char* in, std::size_t count) noexcept {
    if (in == nullptr || count == 0) return true;
    out = static_cast<char*>(std::malloc(count));
    if (out == nullptr) return false;
    std::memcpy(out, in, count);
    size = count;
    return true;
  }

  bool strings(char**& out, char* const* in) noexcept {
    if (in == nullptr) return true;
    std::size_t count = 0;
    while (in[count] != nullptr) ++count;
    out = static_cast<char**>(new_elements(sizeof(char*), count + 1));
    if (out == nullptr) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (!text(out[i], in[i])) return false;
    }
    return true;
  }

  /// The count is stored last: until then the list, if it exists at all, counts as empty.
  bool list(pmix_data_type_t number, void*& out, std::size_t& out_count, const void* in, std::size_t count) {
    if (in == nullptr || count == 0) return true;
    const Type* type = find_type(number);
    if (type == nullptr) return refuse(Errc::not_supported);
    out = new_elements(type->width, count);
    if (out == nullptr || !elements(number, *type, out, in, count)) return false;
    out_count = count;
    return true;
  }

  bool fields(const Type& type, void* out, const void* in) {
    for (const Field& f : type.fields) {
      bool done = true;
      switch (f.role) {
        case Role::one:
          done = one(*find_type(f.type), &at<char>(out, f.at), &at<char>(in, f.at));
          break;
        case Role::list:
          done = list(f.type, at<void*>(out, f.at), at<std::size_t>(out, f.count_at), at<void*>(in, f.at),
                      at<std::size_t>(in, f.count_at));
          break;
        case Role::strings:
          done = strings(at<char**>(out, f.at), at<char**>(in, f.at));
          break;
        case Role::key:
          copy_name(&at<char>(out, f.at), &at<char>(in, f.at), sizeof(pmix_key_t));
          break;
      }
      if (!done) return false;
    }
    return true;
  }

  static void copy_name(void* out, const void* in, std::size_t size) noexcept {
    const std::string_view text = fixed_text(in, size);
    if (!text.empty()) std::memcpy(out, text.data(), text.size());
  }

  bool buffer(pmix_data_buffer_t& out, const pmix_data_buffer_t& in) noexcept {
    const std::string_view left = unread(in);
    if (!bytes(out.base_ptr, out.bytes_used, left.data(), left.size())) return false;
    out.bytes_allocated = out.bytes_used;
    out.unpack_ptr = out.base_ptr;
    out.pack_ptr = out.base_ptr == nullptr ? nullptr : out.base_ptr + out.bytes_used;
    return true;
  }

  bool opaque(const Type& type, OpaqueBody& out, const OpaqueBody& in) noexcept {
    if (!text(out.source, in.source)) return false;
    if (in.handle == nullptr) return true;
    const OpaqueOps* ops = opaque_ops(opaque_kind(type.shape));
    if (ops == nullptr) return refuse(Errc::not_supported);
    out.handle = ops->copy(in.source, in.handle);
    return out.handle != nullptr;
  }

  bool info(pmix_info_t& out, const pmix_info_t& in) {
    copy_name(out.key, in.key, sizeof(pmix_key_t));
    out.flags = in.flags & ~not_owner;  // the copy owns its value
    return value(out.value, in.value);
  }

  bool one(const Type& type, void* out, const void* in) {
    switch (type.shape) {
      case Shape::boolean:
      case Shape::natural:
      case Shape::pointer:
      case Shape::integer:
      case Shape::real:
      case Shape::timeval:
        std::memcpy(out, in, type.width);
        return true;
      case Shape::none:
        return true;
      case Shape::name:
        copy_name(out, in, type.width);
        return true;
      case Shape::text:
        return text(at<char*>(out, 0), at<char*>(in, 0));
      case Shape::blob: {
        const auto& from = at<pmix_byte_object_t>(in, 0);
        auto& to = at<pmix_byte_object_t>(out, 0);
        return bytes(to.bytes, to.size, from.bytes, from.size);
      }
      case Shape::record:
        return fields(type, out, in);
      case Shape::info:
        return info(at<pmix_info_t>(out, 0), at<pmix_info_t>(in, 0));
      case Shape::value:
        return value(at<pmix_value_t>(out, 0), at<pmix_value_t>(in, 0));
      case Shape::array: {
        const auto& from = at<pmix_data_array_t>(in, 0);
        auto& to = at<pmix_data_array_t>(out, 0);
        to.type = from.type;
        return list(from.type, to.array, to.size, from.array, from.size);
      }
      case Shape::buffer:
        return buffer(at<pmix_data_buffer_t>(out, 0), at<pmix_data_buffer_t>(in, 0));
      case Shape::topology:
      case Shape::cpuset:
        return opaque(type, at<OpaqueBody>(out, 0), at<OpaqueBody>(in, 0));
    }
    return refuse(Errc::not_supported);
  }
};

}  // namespace

void destroy_elements(pmix_data_type_t type, void* first, std::size_t count) noexcept {
  const Type* known = find_type(type);
  if (known == nullptr || first == nullptr) return;
  destroy_each(type, first, count);
  std::memset(first, 0, known->width * count);
}

Result<void> copy_elements(pmix_data_type_t type, void* out, const void* in, std::size_t count) {
  const Type* known = find_type(type);
  if (known == nullptr) return fail(Errc::not_supported, "unknown data type");
  Copier copier;
  if (is_plain(known->shape)) {
    copier.elements(type, *known, out, in, count);
    return {};
  }
  // Built aside, so that `out` changes only when everything is there.
  void* built = new_elements(known->width, count);
  if (built == nullptr) return fail(Errc::no_memory);
  const bool done = copier.elements(type, *known, built, in, count);
  if (done) std::memcpy(out, built, known->width * count);
  std::free(built);
  if (!done) return fail(copier.error, "copy of a data element");
  return {};
}

Result<void> copy_value(pmix_value_t& out, const pmix_value_t& in) {
  pmix_value_t built = empty_value();
  Copier copier;
  if (!copier.value(built, in)) {
    destroy_value(built);
    return fail(copier.error, "copy of a value");
  }
  out = built;
  return {};
}

void destroy_value(pmix_value_t& value) noexcept {
  const pmix_data_type_t number = value.type;
  const Type* type = find_type(number);
  if (type != nullptr && !is_plain(type->shape) && type->shape != Shape::none) {
    if (type->place == Place::inside) {
      destroy_each(number, &value.data, 1);
    } else if (value.data.ptr != nullptr) {
      destroy_each(number, value.data.ptr, 1);
      std::free(value.data.ptr);
    }
  }
  value = empty_value();
}

}  // namespace weft::data
