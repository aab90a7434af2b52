// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/types/value.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/data/names/directive.hpp"
#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"

namespace weft::data::test {
namespace {

TEST(Value, makes_what_it_is_asked) {
  EXPECT_EQ(Value::of(true).get().type, PMIX_BOOL);
  EXPECT_TRUE(Value::of(true).get().data.flag);
  EXPECT_EQ(Value::of(std::uint16_t{3}).get().data.uint16, 3);
  EXPECT_EQ(Value::of(std::uint64_t{1} << 40).get().data.uint64, std::uint64_t{1} << 40);
  EXPECT_EQ(Value::of_size(9).get().type, PMIX_SIZE);
  EXPECT_EQ(Value::of_rank(PMIX_RANK_WILDCARD).get().data.rank, PMIX_RANK_WILDCARD);
  EXPECT_EQ(Value::of_pid(-1).get().data.pid, -1);
  EXPECT_EQ(Value::of_status(PMIX_ERR_NOT_FOUND).get().data.status, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Value::of("text").get().type, PMIX_STRING) << "a literal must not become a bool";
  EXPECT_STREQ(Value::of(std::string_view("text", 2)).get().data.string, "te");
  EXPECT_EQ(Value::of_bytes(as_bytes("abc")).get().data.bo.size, 3U);
  EXPECT_EQ(Value::of_bytes({}).get().data.bo.bytes, nullptr);
}

TEST(Value, moves_leave_nothing_behind) {
  Value first = Value::of("text");
  Value second = std::move(first);
  EXPECT_EQ(first.get().type, PMIX_UNDEF);
  second = Value::of("other");
  pmix_value_t raw = second.release();
  EXPECT_EQ(second.get().type, PMIX_UNDEF);
  EXPECT_STREQ(raw.data.string, "other");
  destroy_value(raw);
  EXPECT_EQ(raw.type, PMIX_UNDEF);
  EXPECT_EQ(raw.data.string, nullptr);
  destroy_value(raw);  // twice does no harm
}

TEST(Value, copies_are_deep) {
  pmix_proc_t proc{};
  std::strcpy(proc.nspace, "job");
  proc.rank = 1;
  Value in = Value::of_proc(proc);
  auto out = Value::copy_of(in.get());
  ASSERT_TRUE(out);
  EXPECT_NE(out->get().data.proc, in.get().data.proc);
  in.get().data.proc->rank = 2;
  EXPECT_EQ(out->get().data.proc->rank, 1U);

  // An array of infos, of which one holds a text.
  auto* infos = static_cast<pmix_info_t*>(new_elements(sizeof(pmix_info_t), 2));
  infos[0].value = Value::of("text").release();
  auto* array = static_cast<pmix_data_array_t*>(new_elements(sizeof(pmix_data_array_t), 1));
  *array = {PMIX_INFO, 2, infos};
  pmix_value_t holder = empty_value();
  holder.type = PMIX_DATA_ARRAY;
  holder.data.darray = array;
  const Value nested = Value::adopt(holder);
  auto copy = Value::copy_of(nested.get());
  ASSERT_TRUE(copy);
  auto* copied = static_cast<pmix_info_t*>(copy->get().data.darray->array);
  EXPECT_NE(copied[0].value.data.string, infos[0].value.data.string);
  EXPECT_STREQ(copied[0].value.data.string, "text");
}

TEST(Value, a_copy_owns_what_a_persistent_info_lent) {
  char lent[] = "lent";
  pmix_info_t info{};
  info.flags = PMIX_INFO_PERSISTENT | PMIX_INFO_REQD;
  info.value.type = PMIX_STRING;
  info.value.data.string = lent;
  {
    const auto copy = Infos::copy_of(&info, 1);
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->data()[0].flags, static_cast<pmix_info_directives_t>(PMIX_INFO_REQD));
    EXPECT_NE(copy->data()[0].value.data.string, lent);
  }
  destroy_elements(PMIX_INFO, &info, 1);  // must not free `lent`
  EXPECT_STREQ(lent, "lent");
}

template <class T>
pmix_value_t number(pmix_data_type_t type, T v) {
  pmix_value_t out = empty_value();
  out.type = type;
  std::memcpy(&out.data, &v, sizeof v);
  return out;
}

TEST(Compare, orders_numbers_by_value) {
  EXPECT_EQ(compare_values(number(PMIX_INT, -1), number(PMIX_INT, 1)), PMIX_VALUE2_GREATER);
  EXPECT_EQ(compare_values(number(PMIX_UINT, -1), number(PMIX_UINT, 1)), PMIX_VALUE1_GREATER);
  EXPECT_EQ(compare_values(number(PMIX_INT8, std::int8_t{-1}), number(PMIX_INT8, std::int8_t{-1})),
            PMIX_EQUAL);
  EXPECT_EQ(compare_values(number(PMIX_DOUBLE, 1.5), number(PMIX_DOUBLE, 1.25)), PMIX_VALUE1_GREATER);
  EXPECT_EQ(compare_values(number(PMIX_DOUBLE, std::nan("")), number(PMIX_DOUBLE, 1.0)),
            PMIX_VALUE_COMPARISON_NOT_AVAIL);
  EXPECT_EQ(compare_values(number(PMIX_BOOL, true), number(PMIX_BOOL, false)), PMIX_VALUE1_GREATER);
  EXPECT_EQ(compare_values(number(PMIX_INT, 1), number(PMIX_INT32, 1)), PMIX_VALUE_TYPE_DIFFERENT);
  EXPECT_EQ(compare_values(number(777, 1), number(777, 1)), PMIX_VALUE_COMPARISON_NOT_AVAIL);
  EXPECT_EQ(compare_values(empty_value(), empty_value()), PMIX_EQUAL);
}

TEST(Compare, orders_texts_and_objects) {
  pmix_value_t null_text = empty_value();
  null_text.type = PMIX_STRING;
  EXPECT_EQ(compare_values(Value::of("a").get(), Value::of("b").get()), PMIX_VALUE2_GREATER);
  EXPECT_EQ(compare_values(Value::of("b").get(), Value::of("abc").get()), PMIX_VALUE1_GREATER);
  EXPECT_EQ(compare_values(null_text, Value::of("").get()), PMIX_VALUE2_GREATER);
  EXPECT_EQ(compare_values(null_text, null_text), PMIX_EQUAL);
  EXPECT_EQ(compare_values(Value::of_bytes(as_bytes("abcd")).get(), Value::of_bytes(as_bytes("z")).get()),
            PMIX_VALUE1_GREATER);
  EXPECT_EQ(compare_values(Value::of_bytes(as_bytes("ab")).get(), Value::of_bytes(as_bytes("ac")).get()),
            PMIX_VALUE2_GREATER);
}

TEST(Compare, orders_procs_and_arrays) {
  pmix_proc_t a{}, b{};
  std::strcpy(a.nspace, "job");
  std::strcpy(b.nspace, "job");
  b.rank = 1;
  EXPECT_EQ(compare_elements(PMIX_PROC, &a, &b), PMIX_VALUE2_GREATER);
  std::strcpy(a.nspace, "zob");
  EXPECT_EQ(compare_elements(PMIX_PROC, &a, &b), PMIX_VALUE1_GREATER);

  std::uint32_t numbers[] = {1, 2}, others[] = {1, 3};
  pmix_data_array_t x{PMIX_UINT32, 2, numbers}, y{PMIX_UINT32, 2, others}, z{PMIX_INT32, 2, numbers};
  EXPECT_EQ(compare_elements(PMIX_DATA_ARRAY, &x, &y), PMIX_VALUE2_GREATER);
  EXPECT_EQ(compare_elements(PMIX_DATA_ARRAY, &x, &z), PMIX_VALUE_INCOMPATIBLE_OBJECTS);
  y.size = 1;
  EXPECT_EQ(compare_elements(PMIX_DATA_ARRAY, &x, &y), PMIX_VALUE1_GREATER);
}

TEST(Truth, is_what_the_standard_calls_true) {
  EXPECT_EQ(truth(empty_value()), PMIX_BOOL_TRUE);
  EXPECT_EQ(truth(Value::of(true).get()), PMIX_BOOL_TRUE);
  EXPECT_EQ(truth(Value::of(false).get()), PMIX_BOOL_FALSE);
  for (const char* text : {"true", " TRUE", "yes", "1", "  12abc", ""}) {
    EXPECT_EQ(truth(Value::of(text).get()), PMIX_BOOL_TRUE) << text;
  }
  for (const char* text : {"false", "no", "0"})
    EXPECT_EQ(truth(Value::of(text).get()), PMIX_BOOL_FALSE) << text;
  for (const char* text : {"T", "y", "-1", "maybe"})
    EXPECT_EQ(truth(Value::of(text).get()), PMIX_NON_BOOL) << text;
  EXPECT_EQ(truth(Value::of(std::uint32_t{1}).get()), PMIX_NON_BOOL);
  EXPECT_TRUE(is_true(empty_value()));
  EXPECT_FALSE(is_true(Value::of(std::uint32_t{1}).get()));
}

TEST(Truth, of_a_directive_is_that_of_the_first_of_its_key) {
  Infos infos;
  EXPECT_FALSE(is_set(infos, "key"));
  EXPECT_FALSE(is_set(nullptr, 0, "key"));
  infos.add("other", Value::of(true));
  infos.add("key", Value::of(false));
  EXPECT_FALSE(is_set(infos, "key"));
  EXPECT_TRUE(is_set(infos, "other"));
  EXPECT_FALSE(is_set(infos, "othe"));
  infos.add("key", Value::of(true));
  EXPECT_FALSE(is_set(infos, "key"));
  EXPECT_TRUE(is_set(infos.data() + 2, 1, "key"));
}

TEST(AsUnsigned, takes_every_integer_from_zero_up) {
  EXPECT_EQ(as_unsigned(Value::of(std::uint16_t{65535}).get()).value(), 65535U);
  EXPECT_EQ(as_unsigned(number(PMIX_INT, 7)).value(), 7U);
  EXPECT_EQ(as_unsigned(Value::of_rank(3).get()).value(), 3U);
  EXPECT_EQ(as_unsigned(number(PMIX_INT, -7)).error().code, Errc::not_found);
  EXPECT_EQ(as_unsigned(Value::of("7").get()).error().code, Errc::not_found);
  EXPECT_EQ(as_unsigned(Value::of(true).get()).error().code, Errc::not_found);
  EXPECT_EQ(as_unsigned(empty_value()).error().code, Errc::not_found);
}

TEST(ElementBytes, counts_the_data) {
  const std::uint32_t number32 = 1;
  const char* text = "abc";
  const char* none = nullptr;
  EXPECT_EQ(element_bytes(PMIX_UINT32, &number32), 4U);
  EXPECT_EQ(element_bytes(PMIX_STRING, &text), 4U);
  EXPECT_EQ(element_bytes(PMIX_STRING, &none), 0U);
  pmix_proc_t proc{};
  EXPECT_EQ(element_bytes(PMIX_PROC, &proc), sizeof proc);
  char bytes[5];
  pmix_byte_object_t object{bytes, sizeof bytes};
  EXPECT_EQ(element_bytes(PMIX_BYTE_OBJECT, &object), 5U);
}

TEST(LoadFixed, cuts_and_fills) {
  char out[4] = {'x', 'x', 'x', 'x'};
  load_fixed(out, sizeof out, "abcdef");
  EXPECT_STREQ(out, "abc");
  load_fixed(out, sizeof out, "a");
  EXPECT_EQ(std::string_view(out, 4), std::string_view("a\0\0\0", 4));
}

}  // namespace
}  // namespace weft::data::test
