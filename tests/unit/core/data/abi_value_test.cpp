// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/value.hpp"
#include "pmix.h"
#include "tests/unit/core/data/samples.hpp"

namespace weft::data::test {
namespace {

struct Loaded {
  pmix_value_t value{};
  Loaded(const void* data, pmix_data_type_t type) {
    EXPECT_EQ(PMIx_Value_load(&value, data, type), PMIX_SUCCESS);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() { PMIx_Value_destruct(&value); }
};

TEST(ValueLoad, copies_every_type) {
  Samples samples(7);
  for (const pmix_data_type_t type : all_types()) {
    if (type == PMIX_UNDEF || type == PMIX_POINTER || type == PMIX_STRING || type == PMIX_REGEX) continue;
    SCOPED_TRACE(find_type(type)->name);
    void* in = new_elements(find_type(type)->width, 1);
    samples.fill(type, in);
    Loaded loaded(in, type);
    ASSERT_NE(payload_or_null(loaded.value), nullptr);
    EXPECT_EQ(compare_elements(type, in, payload_or_null(loaded.value)), PMIX_EQUAL);
    pmix_value_t copy;
    ASSERT_EQ(PMIx_Value_xfer(&copy, &loaded.value), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_Value_compare(&copy, &loaded.value), PMIX_EQUAL);
    PMIx_Value_destruct(&copy);
    destroy_elements(type, in, 1);
    std::free(in);
  }
}

TEST(ValueLoad, takes_texts_and_addresses_as_they_are) {
  EXPECT_STREQ(Loaded("text", PMIX_STRING).value.data.string, "text");
  int target = 0;
  EXPECT_EQ(Loaded(&target, PMIX_POINTER).value.data.ptr, &target);
  const Loaded regex("a[1-3]", PMIX_REGEX);
  EXPECT_EQ(regex.value.data.bo.size, 7U);
  EXPECT_STREQ(regex.value.data.bo.bytes, "a[1-3]");
  EXPECT_STREQ(*Loaded("short", PMIX_PROC_NSPACE).value.data.nspace, "short");
}

TEST(ValueLoad, null_is_empty_and_a_true_bool) {
  EXPECT_TRUE(Loaded(nullptr, PMIX_BOOL).value.data.flag);
  EXPECT_EQ(Loaded(nullptr, PMIX_UINT32).value.data.uint32, 0U);
  EXPECT_EQ(Loaded(nullptr, PMIX_STRING).value.data.string, nullptr);
  EXPECT_EQ(Loaded(nullptr, PMIX_PROC).value.data.proc, nullptr);
}

TEST(ValueLoad, refuses_what_it_does_not_know) {
  pmix_value_t value;
  PMIx_Value_construct(&value);
  value.type = PMIX_INT;
  int number = 1;
  EXPECT_EQ(PMIx_Value_load(&value, &number, 777), PMIX_ERR_UNKNOWN_DATA_TYPE);
  EXPECT_EQ(value.type, PMIX_INT);
  EXPECT_EQ(PMIx_Value_load(nullptr, &number, PMIX_INT), PMIX_ERR_BAD_PARAM);
  pmix_cpuset_t foreign{nullptr, &number};
  EXPECT_EQ(PMIx_Value_load(&value, &foreign, PMIX_PROC_CPUSET), PMIX_ERR_NOT_SUPPORTED);
}

TEST(ValueUnload, stores_numbers_where_the_caller_says) {
  const std::uint32_t in = 7;
  Loaded loaded(&in, PMIX_UINT32);
  std::uint32_t out = 0;
  void* place = &out;
  std::size_t size = 0;
  ASSERT_EQ(PMIx_Value_unload(&loaded.value, &place, &size), PMIX_SUCCESS);
  EXPECT_EQ(out, 7U);
  EXPECT_EQ(size, sizeof out);
  EXPECT_EQ(place, &out);
}

/// Open MPI 5 unloads the number of process sets into a size_t that it passes as if it were the place.
TEST(ValueUnload, has_no_new_memory_for_what_needs_a_place) {
  const auto refuses = [](const pmix_value_t& value) {
    pmix_value_t copy = value;
    void* place = nullptr;
    std::size_t size = 99;
    const auto status = PMIx_Value_unload(&copy, &place, &size);
    EXPECT_EQ(place, nullptr);
    EXPECT_EQ(size, 99U);
    return status == PMIX_ERR_BAD_PARAM;
  };
  const std::uint64_t zeros[4] = {};
  for (const auto type :
       {PMIX_BOOL,    PMIX_BYTE,   PMIX_SIZE,       PMIX_PID,       PMIX_INT,        PMIX_INT8,
        PMIX_INT16,   PMIX_INT32,  PMIX_INT64,      PMIX_UINT,      PMIX_UINT8,      PMIX_UINT16,
        PMIX_UINT32,  PMIX_UINT64, PMIX_FLOAT,      PMIX_DOUBLE,    PMIX_TIMEVAL,    PMIX_TIME,
        PMIX_STATUS,  PMIX_SCOPE,  PMIX_DATA_RANGE, PMIX_PERSIST,   PMIX_PROC_STATE, PMIX_PROC_RANK,
        PMIX_DEVTYPE, PMIX_PROC,   PMIX_JOB_STATE,  PMIX_LINK_STATE}) {
    pmix_proc_t proc{};
    const void* datum = type == PMIX_PROC ? static_cast<const void*>(&proc) : zeros;
    EXPECT_TRUE(refuses(Loaded(datum, static_cast<pmix_data_type_t>(type)).value)) << type;
  }
  EXPECT_TRUE(refuses(Loaded("job", PMIX_PROC_NSPACE).value));
}

TEST(ValueUnload, allocates_the_rest) {
  void* out = nullptr;
  std::size_t size = 0;
  Loaded text("hello", PMIX_STRING);
  ASSERT_EQ(PMIx_Value_unload(&text.value, &out, &size), PMIX_SUCCESS);
  EXPECT_STREQ(static_cast<char*>(out), "hello");
  EXPECT_EQ(size, 5U);
  EXPECT_NE(out, text.value.data.string);
  std::free(out);

  pmix_byte_object_t object{const_cast<char*>("abcd"), 4};
  Loaded bytes(&object, PMIX_BYTE_OBJECT);
  ASSERT_EQ(PMIx_Value_unload(&bytes.value, &out, &size), PMIX_SUCCESS);
  EXPECT_EQ(std::string(static_cast<char*>(out), size), "abcd");
  std::free(out);

  pmix_data_array_t array;
  PMIx_Data_array_construct(&array, 2, PMIX_UINT32);
  Loaded held(&array, PMIX_DATA_ARRAY);
  out = nullptr;
  ASSERT_EQ(PMIx_Value_unload(&held.value, &out, &size), PMIX_SUCCESS);
  EXPECT_EQ(size, sizeof array);
  PMIx_Data_array_free(static_cast<pmix_data_array_t*>(out));
  PMIx_Data_array_destruct(&array);

  pmix_proc_t proc{}, stored{};
  PMIx_Load_procid(&proc, "job", 3);
  Loaded process(&proc, PMIX_PROC);
  out = &stored;
  ASSERT_EQ(PMIx_Value_unload(&process.value, &out, &size), PMIX_SUCCESS);
  EXPECT_EQ(stored.rank, 3U);
  EXPECT_EQ(size, sizeof stored);
}

TEST(ValueUnload, says_when_there_is_nothing) {
  pmix_value_t value;
  PMIx_Value_construct(&value);
  void* out = &value;
  std::size_t size = 5;
  EXPECT_EQ(PMIx_Value_unload(&value, &out, &size), PMIX_ERR_BAD_PARAM);
  value.type = 777;
  EXPECT_EQ(PMIx_Value_unload(&value, &out, &size), PMIX_ERR_UNKNOWN_DATA_TYPE);
  EXPECT_EQ(PMIx_Value_unload(nullptr, &out, &size), PMIX_ERR_BAD_PARAM);
  value.type = PMIX_STRING;
  EXPECT_EQ(PMIx_Value_unload(&value, &out, &size), PMIX_SUCCESS);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(size, 0U);
}

template <class In, class Out>
void expect_number(pmix_data_type_t from, In in, pmix_data_type_t to, pmix_status_t status, Out expected) {
  Loaded loaded(&in, from);
  Out out = 99;
  EXPECT_EQ(PMIx_Value_get_number(&loaded.value, &out, to), status);
  EXPECT_EQ(out, status == PMIX_SUCCESS ? expected : Out{99});
}

TEST(ValueGetNumber, widens_and_narrows_only_what_fits) {
  expect_number(PMIX_UINT8, std::uint8_t{200}, PMIX_UINT16, PMIX_SUCCESS, std::uint16_t{200});
  expect_number(PMIX_UINT64, std::uint64_t{200}, PMIX_UINT8, PMIX_SUCCESS, std::uint8_t{200});
  expect_number(PMIX_UINT64, std::uint64_t{300}, PMIX_UINT8, PMIX_ERR_LOST_PRECISION, std::uint8_t{});
  expect_number(PMIX_INT, -1, PMIX_SIZE, PMIX_ERR_CHANGE_SIGN, std::size_t{});
  expect_number(PMIX_INT, -1, PMIX_INT64, PMIX_SUCCESS, std::int64_t{-1});
  expect_number(PMIX_INT64, std::int64_t{-128}, PMIX_INT8, PMIX_SUCCESS, std::int8_t{-128});
  expect_number(PMIX_INT64, std::int64_t{-129}, PMIX_INT8, PMIX_ERR_LOST_PRECISION, std::int8_t{});
  expect_number(PMIX_UINT64, std::uint64_t{1} << 63, PMIX_INT64, PMIX_ERR_LOST_PRECISION, std::int64_t{});
  expect_number(PMIX_INT64, std::numeric_limits<std::int64_t>::min(), PMIX_INT64, PMIX_SUCCESS,
                std::numeric_limits<std::int64_t>::min());
  expect_number(PMIX_PROC_RANK, pmix_rank_t{7}, PMIX_INT, PMIX_SUCCESS, 7);
}

TEST(ValueGetNumber, keeps_real_numbers_exact) {
  expect_number(PMIX_FLOAT, 1.5F, PMIX_DOUBLE, PMIX_SUCCESS, 1.5);
  expect_number(PMIX_DOUBLE, 0.1, PMIX_FLOAT, PMIX_ERR_LOST_PRECISION, 0.0F);
  expect_number(PMIX_DOUBLE, 1e300, PMIX_FLOAT, PMIX_ERR_LOST_PRECISION, 0.0F);
  expect_number(PMIX_DOUBLE, 42.0, PMIX_INT, PMIX_SUCCESS, 42);
  expect_number(PMIX_FLOAT, 42.0F, PMIX_UINT8, PMIX_SUCCESS, std::uint8_t{42});
  expect_number(PMIX_DOUBLE, -42.0, PMIX_INT8, PMIX_SUCCESS, std::int8_t{-42});
  expect_number(PMIX_DOUBLE, -0.0, PMIX_UINT32, PMIX_SUCCESS, std::uint32_t{0});
  expect_number(PMIX_DOUBLE, -42.0, PMIX_UINT32, PMIX_ERR_CHANGE_SIGN, std::uint32_t{});
  expect_number(PMIX_DOUBLE, 42.5, PMIX_INT, PMIX_ERR_LOST_PRECISION, 0);
  expect_number(PMIX_DOUBLE, 300.0, PMIX_UINT8, PMIX_ERR_LOST_PRECISION, std::uint8_t{});
  expect_number(PMIX_DOUBLE, 0x1p63, PMIX_UINT64, PMIX_SUCCESS, std::uint64_t{1} << 63);
  expect_number(PMIX_DOUBLE, 0x1p63, PMIX_INT64, PMIX_ERR_LOST_PRECISION, std::int64_t{});
  expect_number(PMIX_DOUBLE, -0x1p63, PMIX_INT64, PMIX_SUCCESS, std::numeric_limits<std::int64_t>::min());
  expect_number(PMIX_DOUBLE, 0x1p64, PMIX_UINT64, PMIX_ERR_LOST_PRECISION, std::uint64_t{});
  expect_number(PMIX_DOUBLE, -0x1p64, PMIX_INT64, PMIX_ERR_LOST_PRECISION, std::int64_t{});
  expect_number(PMIX_DOUBLE, std::numeric_limits<double>::quiet_NaN(), PMIX_INT, PMIX_ERR_LOST_PRECISION, 0);
  expect_number(PMIX_DOUBLE, std::numeric_limits<double>::infinity(), PMIX_INT, PMIX_ERR_LOST_PRECISION, 0);
  expect_number(PMIX_INT64, std::int64_t{1} << 60, PMIX_DOUBLE, PMIX_SUCCESS, 0x1p60);
  expect_number(PMIX_INT64, (std::int64_t{1} << 60) + 1, PMIX_DOUBLE, PMIX_ERR_LOST_PRECISION, 0.0);
  expect_number(PMIX_INT64, std::numeric_limits<std::int64_t>::min(), PMIX_DOUBLE, PMIX_SUCCESS, -0x1p63);
  expect_number(PMIX_UINT32, std::uint32_t{1 << 24} + 1, PMIX_FLOAT, PMIX_ERR_LOST_PRECISION, 0.0F);
}

TEST(ValueGetNumber, refuses_what_is_no_number) {
  Loaded text("7", PMIX_STRING);
  int out = 99;
  EXPECT_EQ(PMIx_Value_get_number(&text.value, &out, PMIX_INT), PMIX_ERR_BAD_PARAM);
  Loaded number(&out, PMIX_INT);
  EXPECT_EQ(PMIx_Value_get_number(&number.value, &out, PMIX_STRING), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Value_get_number(&number.value, nullptr, PMIX_INT), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(out, 99);
}

TEST(ValueGetSize, counts_the_payload) {
  std::size_t size = 0;
  Loaded text("hello", PMIX_STRING);
  ASSERT_EQ(PMIx_Value_get_size(&text.value, &size), PMIX_SUCCESS);
  EXPECT_EQ(size, 6U);
  const std::uint16_t number = 1;
  Loaded small(&number, PMIX_UINT16);
  ASSERT_EQ(PMIx_Value_get_size(&small.value, &size), PMIX_SUCCESS);
  EXPECT_EQ(size, 2U);
  EXPECT_EQ(PMIx_Value_get_size(&small.value, nullptr), PMIX_ERR_BAD_PARAM);
}

TEST(ValueArray, is_created_empty_and_freed) {
  EXPECT_EQ(PMIx_Value_create(0), nullptr);
  pmix_value_t* array = PMIx_Value_create(3);
  ASSERT_NE(array, nullptr);
  EXPECT_EQ(array[2].type, PMIX_UNDEF);
  ASSERT_EQ(PMIx_Value_load(&array[1], "owned", PMIX_STRING), PMIX_SUCCESS);
  PMIx_Value_free(array, 3);
  PMIx_Value_free(nullptr, 3);
  PMIx_Value_destruct(nullptr);
  EXPECT_EQ(PMIx_Value_true(nullptr), PMIX_NON_BOOL);
}

}  // namespace
}  // namespace weft::data::test
