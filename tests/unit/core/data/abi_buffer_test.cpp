// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "pmix.h"
#include "tests/unit/core/data/samples.hpp"

namespace weft::data::test {
namespace {

struct Buffer : pmix_data_buffer_t {
  Buffer() : pmix_data_buffer_t{} { PMIx_Data_buffer_construct(this); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { PMIx_Data_buffer_destruct(this); }
};

TEST(Pack, every_type_comes_back) {
  Samples samples(11);
  for (const pmix_data_type_t type : all_types()) {
    if (type == PMIX_UNDEF || type == PMIX_REGEX) continue;  // the one cannot, the other is a char* here
    SCOPED_TRACE(find_type(type)->name);
    const Type& known = *find_type(type);
    constexpr int n = 3;
    void* in = new_elements(known.width, n);
    void* out = new_elements(known.width, n);
    for (int i = 0; i < n; ++i) samples.fill(type, element(in, known, static_cast<std::size_t>(i)));
    Buffer buffer;
    ASSERT_EQ(PMIx_Data_pack(nullptr, &buffer, in, n, type), PMIX_SUCCESS);
    std::int32_t count = n;
    ASSERT_EQ(PMIx_Data_unpack(nullptr, &buffer, out, &count, type), PMIX_SUCCESS);
    EXPECT_EQ(count, n);
    EXPECT_EQ(buffer.unpack_ptr, buffer.pack_ptr);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(compare_elements(type, element(in, known, i), element(out, known, i)), PMIX_EQUAL);
    }
    destroy_elements(type, in, n);
    destroy_elements(type, out, n);
    std::free(in);
    std::free(out);
  }
}

TEST(Pack, a_regular_expression_is_a_text) {
  Buffer buffer;
  char text[] = "node[1-3]";
  char* in = text;
  char* out = nullptr;
  std::int32_t count = 1;
  ASSERT_EQ(PMIx_Data_pack(nullptr, &buffer, &in, 1, PMIX_REGEX), PMIX_SUCCESS);
  ASSERT_EQ(PMIx_Data_unpack(nullptr, &buffer, &out, &count, PMIX_REGEX), PMIX_SUCCESS);
  EXPECT_STREQ(out, text);
  std::free(out);
  ASSERT_EQ(PMIx_Data_copy(reinterpret_cast<void**>(&out), text, PMIX_REGEX), PMIX_SUCCESS);
  EXPECT_STREQ(out, text);
  std::free(out);
}

TEST(Pack, items_follow_each_other) {
  Buffer buffer;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(PMIx_Data_pack(nullptr, &buffer, &i, 1, PMIX_UINT32), PMIX_SUCCESS);
  }
  EXPECT_LE(buffer.bytes_used, buffer.bytes_allocated);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    std::uint32_t out = 0;
    std::int32_t count = 1;
    ASSERT_EQ(PMIx_Data_unpack(nullptr, &buffer, &out, &count, PMIX_UINT32), PMIX_SUCCESS);
    EXPECT_EQ(out, i);
  }
}

TEST(Unpack, names_what_is_wrong) {
  Buffer buffer;
  std::uint32_t in[] = {1, 2, 3}, out[5] = {};
  std::int32_t count = 1;
  EXPECT_EQ(PMIx_Data_unpack(nullptr, &buffer, out, &count, PMIX_UINT32),
            PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER);
  EXPECT_EQ(count, 0);
  ASSERT_EQ(PMIx_Data_pack(nullptr, &buffer, in, 3, PMIX_UINT32), PMIX_SUCCESS);

  count = 1;
  EXPECT_EQ(PMIx_Data_unpack(nullptr, &buffer, out, &count, PMIX_STRING), PMIX_ERR_PACK_MISMATCH);
  EXPECT_EQ(count, 0);
  count = 2;
  EXPECT_EQ(PMIx_Data_unpack(nullptr, &buffer, out, &count, PMIX_UINT32), PMIX_ERR_UNPACK_INADEQUATE_SPACE);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(out[1], 2U);
  EXPECT_EQ(out[2], 0U);
  count = 5;  // the item is still there
  EXPECT_EQ(PMIx_Data_unpack(nullptr, &buffer, out, &count, PMIX_UINT32), PMIX_SUCCESS);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(out[2], 3U);

  count = 1;
  EXPECT_EQ(PMIx_Data_unpack(nullptr, nullptr, out, &count, PMIX_UINT32), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Data_unpack(nullptr, &buffer, nullptr, &count, PMIX_UINT32), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Data_unpack(nullptr, &buffer, out, nullptr, PMIX_UINT32), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Data_unpack(nullptr, &buffer, out, &count, 777), PMIX_ERR_UNKNOWN_DATA_TYPE);
  EXPECT_EQ(PMIx_Data_pack(nullptr, &buffer, in, 1, 777), PMIX_ERR_UNKNOWN_DATA_TYPE);
  EXPECT_EQ(PMIx_Data_pack(nullptr, &buffer, in, 1, PMIX_UNDEF), PMIX_ERR_UNKNOWN_DATA_TYPE);
  EXPECT_EQ(PMIx_Data_pack(nullptr, nullptr, in, 1, PMIX_UINT32), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Data_pack(nullptr, &buffer, nullptr, 1, PMIX_UINT32), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Data_pack(nullptr, &buffer, in, -1, PMIX_UINT32), PMIX_ERR_BAD_PARAM);
}

TEST(Unpack, survives_cut_and_foreign_bytes) {
  Buffer whole;
  char text[] = "some text";
  char* in[] = {text, text};
  ASSERT_EQ(PMIx_Data_pack(nullptr, &whole, in, 2, PMIX_STRING), PMIX_SUCCESS);
  for (std::size_t length = 0; length < whole.bytes_used; ++length) {
    Buffer cut;
    const pmix_byte_object_t bytes{whole.base_ptr, length};
    ASSERT_EQ(PMIx_Data_embed(&cut, &bytes), PMIX_SUCCESS);
    char* out[2] = {text, text};
    std::int32_t count = 2;
    EXPECT_EQ(PMIx_Data_unpack(nullptr, &cut, out, &count, PMIX_STRING),
              PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER);
    EXPECT_EQ(count, 0);
    EXPECT_EQ(out[0], text) << "nothing is stored";
  }
  char foreign[] = "\x07not one of ours";
  Buffer buffer;
  const pmix_byte_object_t bytes{foreign, sizeof foreign};
  ASSERT_EQ(PMIx_Data_embed(&buffer, &bytes), PMIX_SUCCESS);
  char* out = nullptr;
  std::int32_t count = 1;
  EXPECT_EQ(PMIx_Data_unpack(nullptr, &buffer, &out, &count, PMIX_STRING), PMIX_ERR_UNPACK_FAILURE);
}

TEST(Buffer, payloads_are_joined) {
  Buffer first, second;
  std::uint32_t a = 1, b = 2, out = 0;
  std::int32_t count = 1;
  ASSERT_EQ(PMIx_Data_pack(nullptr, &first, &a, 1, PMIX_UINT32), PMIX_SUCCESS);
  ASSERT_EQ(PMIx_Data_pack(nullptr, &second, &a, 1, PMIX_UINT32), PMIX_SUCCESS);
  ASSERT_EQ(PMIx_Data_pack(nullptr, &second, &b, 1, PMIX_UINT32), PMIX_SUCCESS);
  ASSERT_EQ(PMIx_Data_unpack(nullptr, &second, &out, &count, PMIX_UINT32), PMIX_SUCCESS);
  ASSERT_EQ(PMIx_Data_copy_payload(&first, &second), PMIX_SUCCESS);  // only what is left: b
  ASSERT_EQ(PMIx_Data_unpack(nullptr, &first, &out, &count, PMIX_UINT32), PMIX_SUCCESS);
  ASSERT_EQ(PMIx_Data_unpack(nullptr, &first, &out, &count, PMIX_UINT32), PMIX_SUCCESS);
  EXPECT_EQ(out, 2U);
  ASSERT_EQ(PMIx_Data_unpack(nullptr, &second, &out, &count, PMIX_UINT32), PMIX_SUCCESS)
      << "the source is intact";
  EXPECT_EQ(PMIx_Data_copy_payload(&first, &first), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Data_copy_payload(nullptr, &first), PMIX_ERR_BAD_PARAM);
}

TEST(Buffer, unload_gives_what_is_left) {
  for (const bool read_one : {false, true}) {
    Buffer buffer;
    std::uint32_t in[] = {1, 2}, out = 0;
    std::int32_t count = 1;
    for (std::uint32_t& number : in)
      ASSERT_EQ(PMIx_Data_pack(nullptr, &buffer, &number, 1, PMIX_UINT32), PMIX_SUCCESS);
    if (read_one) {
      ASSERT_EQ(PMIx_Data_unpack(nullptr, &buffer, &out, &count, PMIX_UINT32), PMIX_SUCCESS);
    }
    char* bytes = nullptr;
    std::size_t size = 0;
    PMIx_Data_buffer_unload(&buffer, &bytes, &size);
    EXPECT_EQ(buffer.base_ptr, nullptr);
    EXPECT_EQ(buffer.bytes_used, 0U);
    PMIx_Data_buffer_load(&buffer, bytes, size);
    ASSERT_EQ(PMIx_Data_unpack(nullptr, &buffer, &out, &count, PMIX_UINT32), PMIX_SUCCESS);
    EXPECT_EQ(out, read_one ? 2U : 1U);
    ASSERT_EQ(PMIx_Data_pack(nullptr, &buffer, &in[0], 1, PMIX_UINT32), PMIX_SUCCESS)
        << "a loaded buffer grows";
  }
  Buffer empty;
  pmix_byte_object_t payload{};
  EXPECT_EQ(PMIx_Data_unload(&empty, &payload), PMIX_SUCCESS);
  EXPECT_EQ(payload.bytes, nullptr);
  EXPECT_EQ(PMIx_Data_unload(&empty, nullptr), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Data_load(nullptr, &payload), PMIX_ERR_BAD_PARAM);
}

TEST(Buffer, load_takes_over_and_embed_copies) {
  pmix_data_buffer_t* buffer = PMIx_Data_buffer_create();
  pmix_byte_object_t payload{new_text("abc"), 4};
  ASSERT_EQ(PMIx_Data_embed(buffer, &payload), PMIX_SUCCESS);
  EXPECT_NE(buffer->base_ptr, payload.bytes);
  char* bytes = payload.bytes;
  ASSERT_EQ(PMIx_Data_load(buffer, &payload), PMIX_SUCCESS);
  EXPECT_EQ(buffer->base_ptr, bytes);
  EXPECT_EQ(payload.bytes, nullptr);
  EXPECT_EQ(payload.size, 0U);
  PMIx_Data_buffer_release(buffer);
  PMIx_Data_buffer_release(nullptr);
}

TEST(Copy, is_deep_for_every_type) {
  Samples samples(13);
  for (const pmix_data_type_t type : all_types()) {
    if (type == PMIX_UNDEF || type == PMIX_STRING || type == PMIX_REGEX) continue;
    SCOPED_TRACE(find_type(type)->name);
    void* in = new_elements(find_type(type)->width, 1);
    samples.fill(type, in);
    void* out = nullptr;
    ASSERT_EQ(PMIx_Data_copy(&out, in, type), PMIX_SUCCESS);
    EXPECT_NE(out, in);
    EXPECT_EQ(compare_elements(type, in, out), PMIX_EQUAL);
    destroy_elements(type, in, 1);
    destroy_elements(type, out, 1);
    std::free(in);
    std::free(out);
  }
  int number = 1;
  void* out = nullptr;
  EXPECT_EQ(PMIx_Data_copy(&out, nullptr, PMIX_INT), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Data_copy(nullptr, &number, PMIX_INT), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Data_copy(&out, &number, 777), PMIX_ERR_UNKNOWN_DATA_TYPE);
  EXPECT_EQ(out, nullptr);
}

TEST(Compress, what_becomes_smaller_comes_back) {
  const std::uint8_t in[] = {1, 2, 3};
  std::uint8_t* out = nullptr;
  std::size_t size = 0;
  EXPECT_FALSE(PMIx_Data_compress(in, sizeof in, &out, &size));  // too little to become less
  EXPECT_FALSE(PMIx_Data_decompress(in, sizeof in, &out, &size));
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(size, 0u);
  EXPECT_FALSE(PMIx_Data_compress(nullptr, 0, &out, &size));
  EXPECT_FALSE(PMIx_Data_compress(in, sizeof in, nullptr, &size));

  const std::string text(100000, 'w');
  ASSERT_TRUE(
      PMIx_Data_compress(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), &out, &size));
  EXPECT_LT(size, text.size() / 100);
  std::uint8_t* back = nullptr;
  std::size_t length = 0;
  ASSERT_TRUE(PMIx_Data_decompress(out, size, &back, &length));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(back), length), text);
  std::free(back);
  for (std::size_t cut = 0; cut < size; ++cut)
    EXPECT_FALSE(PMIx_Data_decompress(out, cut, &back, &length)) << cut;
  std::vector<std::uint8_t> longer(out, out + size);
  longer.push_back(0);
  EXPECT_FALSE(PMIx_Data_decompress(longer.data(), longer.size(), &back, &length));
  std::free(out);
}

}  // namespace
}  // namespace weft::data::test
