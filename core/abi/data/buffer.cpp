// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Data Packing and Unpacking": buffers.
//
// A buffer holds items one after the other, each complete in itself, so that payloads can be joined:
//   u8 wire version | u8 0 | u16 type | u32 count | the elements (docs/design/wire.md)
#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/abi/calls/guard.hpp"
#include "core/data/compress.hpp"
#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/types.hpp"
#include "pmix.h"

using namespace weft;

namespace {

constexpr std::size_t smallest_buffer = 128;

/// A regular expression that travels alone is a char*, not the byte object it is in a value.
pmix_data_type_t packed_as(pmix_data_type_t type) noexcept {
  return type == PMIX_REGEX ? pmix_data_type_t{PMIX_STRING} : type;
}

bool can_be_packed(pmix_data_type_t type) noexcept {
  return type != PMIX_UNDEF && data::find_type(type) != nullptr;
}

std::size_t offset_of(const pmix_data_buffer_t& buffer, const char* place) noexcept {
  return place == nullptr ? 0 : static_cast<std::size_t>(place - buffer.base_ptr);
}

/// Appends; the buffer is unchanged if there is no memory.
pmix_status_t append(pmix_data_buffer_t& buffer, std::string_view bytes) noexcept {
  if (bytes.size() > std::numeric_limits<std::size_t>::max() / 2 - buffer.bytes_used) return PMIX_ERR_NOMEM;
  const std::size_t needed = buffer.bytes_used + bytes.size();
  const std::size_t unpacked = offset_of(buffer, buffer.unpack_ptr);
  if (buffer.base_ptr == nullptr || needed > buffer.bytes_allocated) {
    std::size_t size = std::max(smallest_buffer, buffer.bytes_allocated);
    while (size < needed) size *= 2;
    auto* grown = static_cast<char*>(std::realloc(buffer.base_ptr, size));
    if (grown == nullptr) return PMIX_ERR_NOMEM;
    buffer.base_ptr = grown;
    buffer.bytes_allocated = size;
  }
  if (!bytes.empty()) std::memcpy(buffer.base_ptr + buffer.bytes_used, bytes.data(), bytes.size());
  buffer.bytes_used = needed;
  buffer.pack_ptr = buffer.base_ptr + needed;
  buffer.unpack_ptr = buffer.base_ptr + unpacked;
  return PMIX_SUCCESS;
}

void take_over(pmix_data_buffer_t& buffer, char* bytes, std::size_t size) noexcept {
  std::free(buffer.base_ptr);
  buffer = {bytes, bytes == nullptr ? nullptr : bytes + size, bytes, size, size};
}

struct Item {
  std::uint8_t version;
  std::uint8_t reserved;
  pmix_data_type_t type;
  std::uint32_t count;
};

Item read_header(data::Reader& in) noexcept {
  return {in.u8(), in.u8(), in.u16(), in.u32()};
}

pmix_status_t unpack(pmix_data_buffer_t& buffer, void* dest, std::int32_t& count, pmix_data_type_t type) {
  const auto most = static_cast<std::uint32_t>(count);
  count = 0;
  const std::string_view left = data::unread(buffer);
  data::Reader in(as_bytes(left));
  const Item item = read_header(in);
  if (!in.ok()) return PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER;
  if (item.version != data::wire_version || item.reserved != 0) return PMIX_ERR_UNPACK_FAILURE;
  if (item.type != type) return PMIX_ERR_PACK_MISMATCH;
  const std::uint32_t taken = std::min(item.count, most);
  if (const auto done = data::decode_elements(in, packed_as(type), dest, taken); !done) {
    if (done.error().code != Errc::corrupt) return abi::to_status(done.error());
    return in.ok() ? PMIX_ERR_UNPACK_FAILURE : PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER;
  }
  count = static_cast<std::int32_t>(taken);
  if (taken < item.count) return PMIX_ERR_UNPACK_INADEQUATE_SPACE;
  buffer.unpack_ptr = buffer.base_ptr + (buffer.bytes_used - in.left());
  return PMIX_SUCCESS;
}

}  // namespace

namespace {

weft::Bytes bytes_of(const std::uint8_t* in, std::size_t size) {
  return in == nullptr ? weft::Bytes() : weft::Bytes(reinterpret_cast<const std::byte*>(in), size);
}

/// The outputs of a call that says only whether it worked.
template <class Make>
bool hand_out(std::uint8_t** out, std::size_t* nbytes, Make&& make) {
  if (out == nullptr || nbytes == nullptr) return false;
  *out = nullptr;
  *nbytes = 0;
  const weft::Result<data::Packed> packed = make();
  if (!packed) return false;
  *out = reinterpret_cast<std::uint8_t*>(packed->bytes);
  *nbytes = packed->size;
  return true;
}

}  // namespace

extern "C" {

void PMIx_Data_buffer_construct(pmix_data_buffer_t* buffer) {
  if (buffer != nullptr) *buffer = {};
}

void PMIx_Data_buffer_destruct(pmix_data_buffer_t* buffer) {
  if (buffer != nullptr) data::destroy_elements(PMIX_DATA_BUFFER, buffer, 1);
}

pmix_data_buffer_t* PMIx_Data_buffer_create(void) {
  return static_cast<pmix_data_buffer_t*>(data::new_elements(sizeof(pmix_data_buffer_t), 1));
}

void PMIx_Data_buffer_release(pmix_data_buffer_t* buffer) {
  PMIx_Data_buffer_destruct(buffer);
  std::free(buffer);
}

/// The bytes, from malloc, become the buffer's.
void PMIx_Data_buffer_load(pmix_data_buffer_t* buffer, char* bytes, std::size_t size) {
  if (buffer != nullptr) take_over(*buffer, bytes, size);
}

/// What is not unpacked yet becomes the caller's, to be freed; the buffer is empty afterwards.
void PMIx_Data_buffer_unload(pmix_data_buffer_t* buffer, char** bytes, std::size_t* size) {
  if (buffer == nullptr || bytes == nullptr || size == nullptr) return;
  pmix_byte_object_t payload{};
  if (PMIx_Data_unload(buffer, &payload) != PMIX_SUCCESS) return;
  *bytes = payload.bytes;
  *size = payload.size;
}

/// PMIx_Data_pack: appends one item of `count` elements that lie side by side at `src` (for PMIX_STRING and
/// PMIX_REGEX an array of char*). The target does not matter: there is one wire version.
///   Errors: PMIX_ERR_BAD_PARAM (NULL, count < 0, data that cannot travel), _UNKNOWN_DATA_TYPE, _NOMEM,
///   _NOT_SUPPORTED (a handle of another library); the buffer is then unchanged.
///   Source: PMIx Standard 5, chapter "Data Packing and Unpacking". Tests: tests/unit/core/data
pmix_status_t PMIx_Data_pack(const pmix_proc_t*, pmix_data_buffer_t* buffer, void* src, std::int32_t count,
                             pmix_data_type_t type) {
  if (buffer == nullptr || src == nullptr || count < 0) return PMIX_ERR_BAD_PARAM;
  if (!can_be_packed(type)) return PMIX_ERR_UNKNOWN_DATA_TYPE;
  return abi::guarded_status([&] {
    data::Writer out;
    out.u8(data::wire_version);
    out.u8(0);
    out.u16(type);
    out.u32(static_cast<std::uint32_t>(count));
    const auto done = data::encode_elements(out, packed_as(type), src, static_cast<std::size_t>(count));
    return done ? append(*buffer, as_text(out.view())) : abi::to_status(done.error());
  });
}

/// PMIx_Data_unpack: the next item's elements, at most *count of them; *count becomes how many there are in
/// `dest` now.
///   Errors: PMIX_ERR_BAD_PARAM (NULL, *count < 0), _UNKNOWN_DATA_TYPE, _PACK_MISMATCH (the item is of
///   another type), _UNPACK_READ_PAST_END_OF_BUFFER (no further item, or a cut one), _UNPACK_FAILURE
///   (damaged, or of another wire version), _UNPACK_INADEQUATE_SPACE (the item has more elements; the first
///   *count are in `dest`), _NOMEM. After an error the same item can be unpacked again.
///   Source: PMIx Standard 5, chapter "Data Packing and Unpacking". Tests: tests/unit/core/data
pmix_status_t PMIx_Data_unpack(const pmix_proc_t*, pmix_data_buffer_t* buffer, void* dest,
                               std::int32_t* count, pmix_data_type_t type) {
  if (buffer == nullptr || dest == nullptr || count == nullptr || *count < 0) return PMIX_ERR_BAD_PARAM;
  if (!can_be_packed(type)) {
    *count = 0;
    return PMIX_ERR_UNKNOWN_DATA_TYPE;
  }
  return abi::guarded_status([&] { return unpack(*buffer, dest, *count, type); });
}

/// PMIx_Data_copy_payload: appends what is not unpacked from `src` yet; `src` stays as it is.
pmix_status_t PMIx_Data_copy_payload(pmix_data_buffer_t* dest, pmix_data_buffer_t* src) {
  if (dest == nullptr || src == nullptr || dest == src) return PMIX_ERR_BAD_PARAM;
  const std::string_view left = data::unread(*src);
  return left.empty() ? PMIX_SUCCESS : append(*dest, left);
}

/// PMIx_Data_load: the payload's bytes, from malloc, become the buffer's; what it held is freed.
pmix_status_t PMIx_Data_load(pmix_data_buffer_t* buffer, pmix_byte_object_t* payload) {
  if (buffer == nullptr || payload == nullptr) return PMIX_ERR_BAD_PARAM;
  take_over(*buffer, payload->bytes, payload->bytes == nullptr ? 0 : payload->size);
  *payload = {};
  return PMIX_SUCCESS;
}

/// PMIx_Data_unload: as PMIx_Data_buffer_unload. Errors: PMIX_ERR_BAD_PARAM, _NOMEM.
pmix_status_t PMIx_Data_unload(pmix_data_buffer_t* buffer, pmix_byte_object_t* payload) {
  if (buffer == nullptr || payload == nullptr) return PMIX_ERR_BAD_PARAM;
  const std::string_view left = data::unread(*buffer);
  pmix_byte_object_t out{};
  if (!left.empty() && left.data() == buffer->base_ptr) {
    out = {buffer->base_ptr, left.size()};
    buffer->base_ptr = nullptr;
  } else if (!left.empty()) {
    // The caller will free() it, so it must begin where memory was allocated.
    out = {static_cast<char*>(std::malloc(left.size())), left.size()};
    if (out.bytes == nullptr) return PMIX_ERR_NOMEM;
    std::memcpy(out.bytes, left.data(), left.size());
  }
  take_over(*buffer, nullptr, 0);
  *payload = out;
  return PMIX_SUCCESS;
}

/// PMIx_Data_embed: as PMIx_Data_load, with a copy of the payload.
pmix_status_t PMIx_Data_embed(pmix_data_buffer_t* buffer, const pmix_byte_object_t* payload) {
  if (buffer == nullptr || payload == nullptr) return PMIX_ERR_BAD_PARAM;
  pmix_byte_object_t copy{};
  if (const auto done = data::copy_elements(PMIX_BYTE_OBJECT, &copy, payload, 1); !done) {
    return abi::to_status(done.error());
  }
  take_over(*buffer, copy.bytes, copy.size);
  return PMIX_SUCCESS;
}

/// PMIx_Data_compress: one zstd frame, from malloc. False: it would be no smaller, or it is above 1 GiB; the
/// outputs are 0 then.
bool PMIx_Data_compress(const std::uint8_t* in, std::size_t size, std::uint8_t** out, std::size_t* nbytes) {
  return hand_out(out, nbytes, [&] { return data::compress(bytes_of(in, size)); });
}
/// PMIx_Data_decompress: what PMIx_Data_compress of Weft made. False: anything else, and what claims more
/// than 1 GiB.
bool PMIx_Data_decompress(const std::uint8_t* in, std::size_t size, std::uint8_t** out, std::size_t* nbytes) {
  return hand_out(out, nbytes, [&] { return data::expand(bytes_of(in, size)); });
}

}  // extern "C"
