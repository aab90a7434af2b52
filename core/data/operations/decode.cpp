// SPDX-License-Identifier: BSD-3-Clause
// The one decoder for bytes from peers. The decoder believes nothing:
//
//   B1  Every length and count is compared with the bytes left before anything is allocated. An element
//       takes at least Type::min_wire bytes, so memory is bounded by 64 times the bytes received.
//   B2  Levels of values in values and arrays in arrays end at max_depth, so the stack is bounded too.
//   B3  Elements are decoded into zeroed memory and are at every moment fit for destroy_elements: a
//       failure anywhere frees everything, and the caller's `out` was never touched.
//   B4  A value that C code trips over is refused: a bool that is neither 0 nor 1, a NULL inside an argv, a
//       name longer than its array.
//   B5  An address of another process is none here: a PMIX_POINTER is NULL, at any depth, unless the caller
//       says that this process encoded the bytes.
#include "core/data/operations/wire_format.hpp"
#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/opaque.hpp"
#include "core/data/types/types.hpp"
#include "core/data/types/value.hpp"

namespace weft::data {
namespace {

class Decoder {
 public:
  Errc error = Errc::corrupt;

  explicit Decoder(Reader& in, Pointers pointers = Pointers::cleared) : in_(in), pointers_(pointers) {}

  bool elements(const Type& type, void* out, std::size_t count) {
    if (is_plain(type.shape)) return plain(type, out, count);
    for (std::size_t i = 0; i < count; ++i) {
      if (!one(type, element(out, type, i))) return false;
    }
    return true;
  }

  bool value(pmix_value_t& out) {
    const pmix_data_type_t number = in_.u16();
    const Type* type = find_type(number);
    if (type == nullptr || !in_.ok()) return false;
    out.type = number;
    // The three kinds that nearly every key has come first: one malloc and one memcpy at most.
    if (is_plain(type->shape)) return plain(*type, &out.data, 1);
    if (type->shape == Shape::text) return text(out.data.string);
    if (type->shape == Shape::blob) return blob(out.data.bo);
    if (type->place == Place::inside) return one(*type, &out.data);
    return held(*type, out);
  }

  bool info(pmix_info_t& out) {
    if (!name(out.key, sizeof(pmix_key_t))) return false;
    out.flags = in_.u32() & travelling_flags;
    return in_.ok() && value(out.value);
  }

  /// B1: can `count` elements of that type still follow? If not, the reader ran past its end.
  bool fits(const Type& type, std::size_t count) noexcept {
    if (count != 0 && (type.min_wire == 0 || count > in_.left() / type.min_wire)) in_.spoil();
    return in_.ok();
  }

 private:
  bool refuse(Errc why) noexcept {
    error = why;
    return false;
  }

  bool plain(const Type& type, void* out, std::size_t count) {
    const Bytes from = in_.raw(type.width * count);
    if (!in_.ok()) return false;
    if (type.shape == Shape::boolean) {
      for (const std::byte b : from) {
        if (b > std::byte{1}) return false;
      }
    }
    if (type.shape == Shape::pointer && pointers_ == Pointers::cleared) {
      if (!from.empty()) std::memset(out, 0, from.size());  // B5
    } else if (!from.empty()) {
      std::memcpy(out, from.data(), from.size());
    }
    return true;
  }

  bool text(char*& out) {
    const std::uint32_t length = in_.u32();
    if (length == null_length) return in_.ok();
    const Bytes from = in_.raw(length);
    if (!in_.ok()) return false;
    out = new_text(as_text(from));
    return out != nullptr || refuse(Errc::no_memory);
  }

  bool bytes(char*& out, std::size_t& size) {
    const Bytes from = in_.bytes();
    if (!in_.ok()) return false;
    if (from.empty()) return true;
    out = static_cast<char*>(std::malloc(from.size()));
    if (out == nullptr) return refuse(Errc::no_memory);
    std::memcpy(out, from.data(), from.size());
    size = from.size();
    return true;
  }
  bool blob(pmix_byte_object_t& out) { return bytes(out.bytes, out.size); }

  bool name(char* out, std::size_t size) {
    const std::string_view from = in_.text();
    if (!in_.ok() || from.size() >= size) return false;
    if (!from.empty()) std::memcpy(out, from.data(), from.size());
    return true;
  }

  /// The pointer is stored before the elements are filled (B3).
  bool list(const Type& type, void*& out, std::size_t& out_count) {
    const std::uint32_t count = in_.u32();
    if (!fits(type, count)) return false;
    if (count == 0) return true;
    out = new_elements(type.width, count);
    if (out == nullptr) return refuse(Errc::no_memory);
    out_count = count;
    return elements(type, out, count);
  }

  bool strings(char**& out) {
    const std::uint32_t count = in_.u32();
    if (count == null_length) return in_.ok();
    if (!fits(*find_type(PMIX_STRING), count)) return false;
    out = static_cast<char**>(new_elements(sizeof(char*), std::size_t{count} + 1));
    if (out == nullptr) return refuse(Errc::no_memory);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!text(out[i]) || out[i] == nullptr) return false;
    }
    return true;
  }

  bool fields(const Type& type, void* out) {
    for (const Field& f : type.fields) {
      bool done = true;
      switch (f.role) {
        case Role::one:
          done = one(*find_type(f.type), &at<char>(out, f.at));
          break;
        case Role::list:
          done = list(*find_type(f.type), at<void*>(out, f.at), at<std::size_t>(out, f.count_at));
          break;
        case Role::strings:
          done = strings(at<char**>(out, f.at));
          break;
        case Role::key:
          done = name(&at<char>(out, f.at), sizeof(pmix_key_t));
          break;
      }
      if (!done) return false;
    }
    return true;
  }

  bool array(pmix_data_array_t& out) {
    const pmix_data_type_t number = in_.u16();
    const Type* type = find_type(number);
    if (type == nullptr || !in_.ok() || ++depth_ > max_depth) return false;
    out.type = number;
    const bool done = list(*type, out.array, out.size);
    --depth_;
    return done;
  }

  bool held(const Type& type, pmix_value_t& out) {
    const std::uint8_t present = in_.u8();
    if (!in_.ok() || present > 1) return false;
    if (present == 0) return true;
    out.data.ptr = new_elements(type.width, 1);
    if (out.data.ptr == nullptr) return refuse(Errc::no_memory);
    if (type.shape == Shape::array) return array(*out.data.darray);
    if (++depth_ > max_depth) return false;
    const bool done = one(type, out.data.ptr);
    --depth_;
    return done;
  }

  bool buffer(pmix_data_buffer_t& out) {
    if (!bytes(out.base_ptr, out.bytes_used)) return false;
    out.bytes_allocated = out.bytes_used;
    out.unpack_ptr = out.base_ptr;
    out.pack_ptr = out.base_ptr == nullptr ? nullptr : out.base_ptr + out.bytes_used;
    return true;
  }

  bool opaque(Opaque kind, OpaqueBody& out) {
    if (!text(out.source)) return false;
    char* content = nullptr;
    if (!text(content)) return false;
    if (content == nullptr) return true;
    if (OpaqueIgnored::is_on()) {
      std::free(content);
      return true;
    }
    const OpaqueOps* ops = opaque_ops(kind);
    if (ops != nullptr) out.handle = ops->from_text(out.source, content);
    std::free(content);
    if (out.handle != nullptr) return true;
    return refuse(ops == nullptr ? Errc::not_supported : Errc::corrupt);
  }

  bool one(const Type& type, void* out) {
    switch (type.shape) {
      case Shape::boolean:
      case Shape::natural:
      case Shape::pointer:
      case Shape::integer:
      case Shape::real:
      case Shape::timeval:
        return plain(type, out, 1);
      case Shape::none:
        return true;
      case Shape::text:
        return text(at<char*>(out, 0));
      case Shape::name:
        return name(&at<char>(out, 0), type.width);
      case Shape::blob:
        return blob(at<pmix_byte_object_t>(out, 0));
      case Shape::record:
        return fields(type, out);
      case Shape::info:
        return info(at<pmix_info_t>(out, 0));
      case Shape::value:
        return value(at<pmix_value_t>(out, 0));
      case Shape::array:
        return array(at<pmix_data_array_t>(out, 0));
      case Shape::buffer:
        return buffer(at<pmix_data_buffer_t>(out, 0));
      case Shape::topology:
        return opaque(Opaque::topology, at<OpaqueBody>(out, 0));
      case Shape::cpuset:
        return opaque(Opaque::cpuset, at<OpaqueBody>(out, 0));
    }
    return false;
  }

  Reader& in_;
  const Pointers pointers_;
  unsigned depth_ = 0;
};

}  // namespace

Result<void> decode_elements(Reader& in, pmix_data_type_t type, void* out, std::size_t count) {
  const Type* known = find_type(type);
  if (known == nullptr) return fail(Errc::not_supported, "unknown data type");
  Decoder decoder(in);
  if (!decoder.fits(*known, count)) return fail(Errc::corrupt, "fewer bytes than elements");
  void* built = new_elements(known->width, count);
  if (built == nullptr) return fail(Errc::no_memory);
  const bool done = decoder.elements(*known, built, count);
  if (done) {
    if (count != 0) std::memcpy(out, built, known->width * count);
  } else {
    destroy_elements(type, built, count);
  }
  std::free(built);
  if (!done) return fail(decoder.error, "elements cannot be decoded");
  return {};
}

// In place: a Get's value is not copied while its parts are still on their way to memory.
Result<Value> Value::decode(Reader& in, Pointers pointers) {
  Result<Value> out(in_place);
  Decoder decoder(in, pointers);
  if (!decoder.value(out->raw_)) out = fail(decoder.error, "a value cannot be decoded");
  return out;
}

Result<void> decode_value(Reader& in, pmix_value_t& out) {
  pmix_value_t built = empty_value();
  Decoder decoder(in);
  if (!decoder.value(built)) {
    destroy_value(built);
    return fail(decoder.error, "a value cannot be decoded");
  }
  out = built;
  return {};
}

Result<Infos> Infos::decode(Reader& in) {
  const std::uint32_t count = in.u32();
  Decoder decoder(in);
  if (!decoder.fits(*find_type(PMIX_INFO), count)) return fail(Errc::corrupt, "fewer bytes than infos");
  Infos out;
  out.list_.resize(count);
  for (pmix_info_t& info : out.list_) {
    // ~Infos frees what was decoded before a failure, the half one included (B3).
    if (!decoder.info(info)) return fail(decoder.error, "infos cannot be decoded");
  }
  return out;
}

}  // namespace weft::data
