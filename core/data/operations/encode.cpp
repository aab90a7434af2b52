// SPDX-License-Identifier: BSD-3-Clause
// Elements and values to bytes. The format is docs/design/wire.md; decode.cpp reads it back.
#include <limits>

#include "core/data/operations/wire_format.hpp"
#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/opaque.hpp"
#include "core/data/types/types.hpp"
#include "core/data/types/value.hpp"

namespace weft::data {
namespace {

class Encoder {
 public:
  Errc error = Errc::invalid;

  explicit Encoder(Writer& out) : out_(out) {}

  bool elements(const Type& type, const void* first, std::size_t count) {
    if (type.shape == Shape::boolean) {
      // A bool of C may hold any byte; the wire knows two.
      for (std::size_t i = 0; i < count; ++i) out_.u8(at<std::uint8_t>(first, i) != 0 ? 1 : 0);
      return true;
    }
    if (is_plain(type.shape)) {
      if (count != 0) out_.raw({static_cast<const std::byte*>(first), type.width * count});
      return true;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!one(type, element(first, type, i))) return false;
    }
    return true;
  }

  bool value(const pmix_value_t& in) {
    const Type* type = find_type(in.type);
    if (type == nullptr) return refuse(Errc::not_supported);
    out_.u16(in.type);
    const void* from = payload(in, *type);
    if (type->place == Place::inside) return elements(*type, from, 1);
    out_.u8(from != nullptr ? 1 : 0);
    if (from == nullptr) return true;
    if (type->shape == Shape::array) return one(*type, from);  // counts its own level
    if (++depth_ > max_depth) return refuse(Errc::invalid);
    const bool done = one(*type, from);
    --depth_;
    return done;
  }

  bool info(const pmix_info_t& in) {
    out_.text(fixed_text(in.key, sizeof(pmix_key_t)));
    out_.u32(in.flags & travelling_flags);
    return value(in.value);
  }

 private:
  bool refuse(Errc why) noexcept {
    error = why;
    return false;
  }

  bool bytes(const char* first, std::size_t size) {
    if (size >= null_length) return refuse(Errc::invalid);
    out_.bytes(as_bytes({first, size}));
    return true;
  }

  bool text(const char* in) {
    if (in != nullptr) return bytes(in, std::strlen(in));
    out_.u32(null_length);
    return true;
  }

  bool strings(char* const* in) {
    if (in == nullptr) {
      out_.u32(null_length);
      return true;
    }
    const std::size_t count_at = out_.size();
    out_.u32(0);
    std::uint32_t count = 0;
    for (; in[count] != nullptr; ++count) {
      if (!text(in[count])) return false;
    }
    out_.patch_u32(count_at, count);
    return true;
  }

  bool list(const Type& type, const void* first, std::size_t count) {
    if (first == nullptr || type.shape == Shape::none) count = 0;
    if (count >= null_length) return refuse(Errc::invalid);
    out_.u32(static_cast<std::uint32_t>(count));
    return elements(type, first, count);
  }

  bool fields(const Type& type, const void* in) {
    for (const Field& f : type.fields) {
      bool done = true;
      switch (f.role) {
        case Role::one:
          done = elements(*find_type(f.type), &at<char>(in, f.at), 1);
          break;
        case Role::list:
          done = list(*find_type(f.type), at<void*>(in, f.at), at<std::size_t>(in, f.count_at));
          break;
        case Role::strings:
          done = strings(at<char**>(in, f.at));
          break;
        case Role::key:
          out_.text(fixed_text(&at<char>(in, f.at), sizeof(pmix_key_t)));
          break;
      }
      if (!done) return false;
    }
    return true;
  }

  bool array(const pmix_data_array_t& in) {
    const Type* type = find_type(in.type);
    if (type == nullptr) return refuse(Errc::not_supported);
    if (++depth_ > max_depth) return refuse(Errc::invalid);
    out_.u16(in.type);
    const bool done = list(*type, in.array, in.size);
    --depth_;
    return done;
  }

  bool opaque(Opaque kind, const OpaqueBody& in) {
    if (!text(in.source)) return false;
    if (in.handle == nullptr) return text(nullptr);
    const OpaqueOps* ops = opaque_ops(kind);
    char* content = ops != nullptr ? ops->to_text(in.source, in.handle) : nullptr;
    if (content == nullptr) return refuse(Errc::not_supported);
    const bool done = text(content);
    std::free(content);
    return done;
  }

  bool one(const Type& type, const void* in) {
    switch (type.shape) {
      case Shape::boolean:
      case Shape::natural:
      case Shape::pointer:
      case Shape::integer:
      case Shape::real:
      case Shape::timeval:
        return elements(type, in, 1);
      case Shape::none:
        return true;
      case Shape::text:
        return text(at<const char*>(in, 0));
      case Shape::name:
        out_.text(fixed_text(in, type.width));
        return true;
      case Shape::blob: {
        const auto& object = at<pmix_byte_object_t>(in, 0);
        return bytes(object.bytes, object.bytes != nullptr ? object.size : 0);
      }
      case Shape::record:
        return fields(type, in);
      case Shape::info:
        return info(at<pmix_info_t>(in, 0));
      case Shape::value:
        return value(at<pmix_value_t>(in, 0));
      case Shape::array:
        return array(at<pmix_data_array_t>(in, 0));
      case Shape::buffer: {
        const std::string_view left = unread(at<pmix_data_buffer_t>(in, 0));
        return bytes(left.data(), left.size());
      }
      case Shape::topology:
        return opaque(Opaque::topology, at<OpaqueBody>(in, 0));
      case Shape::cpuset:
        return opaque(Opaque::cpuset, at<OpaqueBody>(in, 0));
    }
    return refuse(Errc::not_supported);
  }

  Writer& out_;
  unsigned depth_ = 0;
};

Result<void> finish(bool done, const Encoder& encoder, Writer& out, std::size_t start) {
  if (done) return {};
  out.truncate(start);
  return fail(encoder.error, "this data cannot travel");
}

}  // namespace

Result<void> encode_elements(Writer& out, pmix_data_type_t type, const void* first, std::size_t count) {
  const Type* known = find_type(type);
  if (known == nullptr) return fail(Errc::not_supported, "unknown data type");
  const std::size_t start = out.size();
  Encoder encoder(out);
  return finish(encoder.elements(*known, first, count), encoder, out, start);
}

Result<void> encode_value(Writer& out, const pmix_value_t& in) {
  const std::size_t start = out.size();
  Encoder encoder(out);
  return finish(encoder.value(in), encoder, out, start);
}

Result<void> encode_infos(Writer& out, const pmix_info_t* infos, std::size_t count) {
  if (infos == nullptr) count = 0;
  if (count >= null_length) return fail(Errc::invalid, "too many infos");
  const std::size_t start = out.size();
  out.u32(static_cast<std::uint32_t>(count));
  Encoder encoder(out);
  bool done = true;
  for (std::size_t i = 0; done && i < count; ++i) done = encoder.info(infos[i]);
  return finish(done, encoder, out, start);
}

}  // namespace weft::data
