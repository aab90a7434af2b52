// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iostream>
#include <string>

#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/opaque.hpp"
#include "core/data/types/types.hpp"
#include "core/data/types/value.hpp"
#include "tests/unit/core/data/samples.hpp"

namespace weft::data::test {
namespace {

/// One element of any type, on the heap and ended with the test.
class Element {
 public:
  explicit Element(pmix_data_type_t type) : type_(type), memory_(new_elements(find_type(type)->width, 1)) {}
  Element(const Element&) = delete;
  Element& operator=(const Element&) = delete;
  ~Element() {
    destroy_elements(type_, memory_, 1);
    std::free(memory_);
  }
  void* get() { return memory_; }

 private:
  pmix_data_type_t type_;
  void* memory_;
};

std::vector<std::byte> encoded(const pmix_value_t& value) {
  Writer out;
  const auto done = encode_value(out, value);
  EXPECT_TRUE(done) << done.error().what;
  return std::move(out).take();
}

std::vector<std::byte> bytes_of(std::initializer_list<int> list) {
  std::vector<std::byte> out;
  for (const int b : list) out.push_back(static_cast<std::byte>(b));
  return out;
}

std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* chosen = std::getenv("WEFT_TEST_SEED");
    const std::uint64_t picked =
        chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : std::random_device{}();
    std::cout << "seed (WEFT_TEST_SEED): " << picked << '\n';
    return picked;
  }();
  return value;
}

TEST(Codec, writes_the_documented_bytes) {
  EXPECT_EQ(encoded(Value::of(std::uint32_t{0x01020304}).get()), bytes_of({14, 0, 4, 3, 2, 1}));
  EXPECT_EQ(encoded(Value::of(true).get()), bytes_of({1, 0, 1}));
  EXPECT_EQ(encoded(Value::of("ab").get()), bytes_of({3, 0, 2, 0, 0, 0, 'a', 'b'}));

  pmix_value_t null_text = empty_value();
  null_text.type = PMIX_STRING;
  EXPECT_EQ(encoded(null_text), bytes_of({3, 0, 255, 255, 255, 255}));

  pmix_proc_t proc{};
  std::strcpy(proc.nspace, "n");
  proc.rank = 7;
  EXPECT_EQ(encoded(Value::of_proc(proc).get()), bytes_of({22, 0, 1, 1, 0, 0, 0, 'n', 7, 0, 0, 0}));

  std::uint16_t numbers[] = {1, 2};
  pmix_data_array_t array{PMIX_UINT16, 2, numbers};
  pmix_value_t value = empty_value();
  value.type = PMIX_DATA_ARRAY;
  value.data.darray = &array;
  EXPECT_EQ(encoded(value), bytes_of({39, 0, 1, 13, 0, 2, 0, 0, 0, 1, 0, 2, 0}));
}

TEST(Codec, writes_infos_without_local_flags) {
  pmix_info_t info{};
  std::strcpy(info.key, "k");
  info.flags = PMIX_INFO_REQD | PMIX_INFO_PERSISTENT | 0x10000;
  info.value.type = PMIX_BYTE;
  info.value.data.byte = 9;
  Writer out;
  ASSERT_TRUE(encode_infos(out, &info, 1));
  const auto expected = bytes_of({1, 0, 0, 0, 1, 0, 0, 0, 'k', 1, 0, 0, 0, 2, 0, 9});
  EXPECT_EQ(std::move(out).take(), expected);
}

TEST(Codec, every_type_survives_a_round_trip) {
  Samples samples(seed());
  for (const pmix_data_type_t type : all_types()) {
    SCOPED_TRACE(find_type(type)->name);
    for (int i = 0; i < 50; ++i) {
      Element in(type), out(type), copy(type);
      samples.fill(type, in.get());
      Writer wire;
      ASSERT_TRUE(encode_elements(wire, type, in.get(), 1));
      EXPECT_GE(wire.size(), find_type(type)->min_wire);
      if (type != PMIX_UNDEF) {
        Reader reader(wire.view());
        const auto done = decode_elements(reader, type, out.get(), 1);
        ASSERT_TRUE(done) << done.error().what;
        EXPECT_TRUE(reader.done());
        EXPECT_EQ(compare_elements(type, in.get(), out.get()), PMIX_EQUAL);
      }
      ASSERT_TRUE(copy_elements(type, copy.get(), in.get(), 1));
      EXPECT_EQ(compare_elements(type, in.get(), copy.get()), PMIX_EQUAL);
      Writer again;
      ASSERT_TRUE(encode_elements(again, type, copy.get(), 1));
      EXPECT_EQ(as_text(wire.view()), as_text(again.view()));
      EXPECT_EQ(element_bytes(type, in.get()), element_bytes(type, copy.get()));
    }
  }
}

TEST(Codec, an_array_that_is_not_there_is_decoded_as_none_and_copied_as_an_empty_one) {
  pmix_value_t none = empty_value();
  none.type = PMIX_DATA_ARRAY;
  Writer wire;
  ASSERT_TRUE(encode_elements(wire, PMIX_VALUE, &none, 1));
  Element out(PMIX_VALUE), copy(PMIX_VALUE);
  Reader reader(wire.view());
  ASSERT_TRUE(decode_elements(reader, PMIX_VALUE, out.get(), 1));
  EXPECT_EQ(compare_elements(PMIX_VALUE, &none, out.get()), PMIX_EQUAL);
  ASSERT_TRUE(copy_elements(PMIX_VALUE, copy.get(), &none, 1));
  const auto& made = *static_cast<const pmix_value_t*>(copy.get());
  EXPECT_EQ(made.type, PMIX_DATA_ARRAY);
  ASSERT_NE(made.data.darray, nullptr);
  EXPECT_EQ(made.data.darray->size, 0U);
}

TEST(Codec, arrays_of_every_type_survive_a_round_trip) {
  Samples samples(seed());
  for (const pmix_data_type_t type : all_types()) {
    SCOPED_TRACE(find_type(type)->name);
    for (const std::size_t count : {0, 1, 5}) {
      const Type& known = *find_type(type);
      auto* array = static_cast<pmix_data_array_t*>(new_elements(sizeof(pmix_data_array_t), 1));
      array->type = type;
      array->size = type == PMIX_UNDEF ? 0 : count;
      if (array->size != 0) array->array = new_elements(known.width, count);
      for (std::size_t i = 0; i < array->size; ++i) samples.fill(type, element(array->array, known, i), 1);
      Value in;
      in.get().type = PMIX_DATA_ARRAY;
      in.get().data.darray = array;

      const auto wire = encoded(in.get());
      Reader reader(wire);
      const auto out = Value::decode(reader);
      ASSERT_TRUE(out) << out.error().what;
      EXPECT_TRUE(reader.done());
      EXPECT_EQ(compare_values(in.get(), out->get()), PMIX_EQUAL);
      EXPECT_EQ(encoded(out->get()), wire);
    }
  }
}

TEST(Codec, every_cut_is_an_error_and_touches_nothing) {
  Samples samples(seed());
  for (const pmix_data_type_t type : all_types()) {
    SCOPED_TRACE(find_type(type)->name);
    for (int i = 0; i < 5; ++i) {
      const Value in = Value::adopt(samples.value(type));
      const auto wire = encoded(in.get());
      for (std::size_t length = 0; length < wire.size(); ++length) {
        Reader reader(Bytes(wire).first(length));
        pmix_value_t out = empty_value();
        out.type = 4711;
        const auto done = decode_value(reader, out);
        ASSERT_FALSE(done) << "cut at " << length << " of " << wire.size();
        EXPECT_EQ(done.error().code, Errc::corrupt);
        EXPECT_EQ(out.type, 4711);
        EXPECT_EQ(out.data.ptr, nullptr);
      }
    }
  }
}

TEST(Codec, infos_survive_a_round_trip) {
  Infos in;
  in.add("first", Value::of(std::uint32_t{1}), PMIX_INFO_REQD);
  in.add("second", Value::of("two"));
  in.add(std::string(600, 'x'), Value());
  Writer out;
  ASSERT_TRUE(encode_infos(out, in.data(), in.size()));
  Reader reader(out.view());
  auto back = Infos::decode(reader);
  ASSERT_TRUE(back);
  ASSERT_EQ(back->size(), 3U);
  EXPECT_TRUE(reader.done());
  EXPECT_EQ(back->data()[0].flags, static_cast<pmix_info_directives_t>(PMIX_INFO_REQD));
  EXPECT_STREQ(back->find("second")->value.data.string, "two");
  EXPECT_EQ(std::strlen(back->data()[2].key), static_cast<std::size_t>(PMIX_MAX_KEYLEN));
  EXPECT_EQ(back->find("third"), nullptr);
  for (std::size_t length = 0; length < out.size(); ++length) {
    Reader cut(out.view().first(length));
    EXPECT_FALSE(Infos::decode(cut));
  }
}

Errc decode_error(std::initializer_list<int> bytes) {
  const auto wire = bytes_of(bytes);
  Reader reader(wire);
  const auto out = Value::decode(reader);
  EXPECT_FALSE(out);
  return out ? Errc::again : out.error().code;
}

TEST(Decoder, refuses_lies) {
  // A text, an object and an array that claim 4 GiB; under asan an allocation of that size would fail.
  EXPECT_EQ(decode_error({3, 0, 0xfe, 0xff, 0xff, 0xff, 'a'}), Errc::corrupt);
  EXPECT_EQ(decode_error({27, 0, 0xff, 0xff, 0xff, 0xff, 'a'}), Errc::corrupt);
  EXPECT_EQ(decode_error({39, 0, 1, 15, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0}), Errc::corrupt);
  EXPECT_EQ(decode_error({39, 0, 1, 24, 0, 0, 0, 1, 0, 0, 0, 0}), Errc::corrupt);
  // An array of nothing with elements.
  EXPECT_EQ(decode_error({39, 0, 1, 0, 0, 9, 0, 0, 0}), Errc::corrupt);
  // Types that do not exist, a flag that is neither, a presence that is neither.
  EXPECT_EQ(decode_error({0xe7, 3, 1}), Errc::corrupt);
  EXPECT_EQ(decode_error({28, 0, 1, 1, 1}), Errc::corrupt);
  EXPECT_EQ(decode_error({1, 0, 2}), Errc::corrupt);
  EXPECT_EQ(decode_error({22, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0}), Errc::corrupt);
}

TEST(Decoder, refuses_names_that_do_not_fit) {
  for (const std::size_t length : {255, 256}) {
    Writer wire;
    wire.u16(PMIX_PROC_NSPACE);
    wire.u8(1);
    wire.text(std::string(length, 'n'));
    Reader reader(wire.view());
    EXPECT_EQ(Value::decode(reader).has_value(), length <= PMIX_MAX_NSLEN) << length;
  }
}

TEST(Decoder, refuses_an_argv_with_a_hole) {
  Writer wire;  // PMIX_QUERY {keys: "a", NULL, "b"; no qualifiers}
  wire.u16(PMIX_QUERY);
  wire.u8(1);
  wire.u32(3);
  wire.text("a");
  wire.u32(0xffffffff);
  wire.text("b");
  wire.u32(0);
  Reader reader(wire.view());
  EXPECT_FALSE(Value::decode(reader));
}

/// A value that holds `levels` arrays, each inside the one before.
Value nested(unsigned levels) {
  pmix_value_t inner = empty_value();
  inner.type = PMIX_UINT8;
  for (unsigned i = 0; i < levels; ++i) {
    auto* array = static_cast<pmix_data_array_t*>(new_elements(sizeof(pmix_data_array_t), 1));
    array->type = PMIX_VALUE;
    array->size = 1;
    array->array = new_elements(sizeof(pmix_value_t), 1);
    *static_cast<pmix_value_t*>(array->array) = inner;
    inner = empty_value();
    inner.type = PMIX_DATA_ARRAY;
    inner.data.darray = array;
  }
  return Value::adopt(inner);
}

TEST(Decoder, follows_sixteen_levels_and_no_more) {
  const Value deep = nested(max_depth);
  const auto wire = encoded(deep.get());
  Reader reader(wire);
  const auto out = Value::decode(reader);
  ASSERT_TRUE(out);
  EXPECT_EQ(compare_values(deep.get(), out->get()), PMIX_EQUAL);

  const Value deeper = nested(max_depth + 1);
  Writer kept;
  kept.u8(1);
  const auto refused = encode_value(kept, deeper.get());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid);
  EXPECT_EQ(kept.size(), 1U) << "a failed encoding leaves nothing behind";

  // An array of the same depth by hand, as a peer would send it.
  Writer bomb;
  bomb.u16(PMIX_DATA_ARRAY);
  bomb.u8(1);
  for (int i = 0; i < 100000; ++i) {
    bomb.u16(PMIX_DATA_ARRAY);
    bomb.u32(1);
  }
  Reader bomb_reader(bomb.view());
  EXPECT_FALSE(Value::decode(bomb_reader));
}

Value pointer_to(void* address) {
  Value out;
  out.get().type = PMIX_POINTER;
  out.get().data.ptr = address;
  return out;
}

TEST(Decoder, addresses_of_other_processes_are_null_at_any_depth) {
  int here = 0;
  auto* array = static_cast<pmix_data_array_t*>(new_elements(sizeof(pmix_data_array_t), 1));
  array->type = PMIX_POINTER;
  array->size = 2;
  array->array = new_elements(sizeof(void*), 2);
  std::fill_n(static_cast<void**>(array->array), 2, &here);
  pmix_value_t listed = empty_value();
  listed.type = PMIX_DATA_ARRAY;
  listed.data.darray = array;
  Infos infos;
  infos.add("plain", pointer_to(&here));
  infos.add("listed", Value::adopt(listed));
  infos.add("number", Value::of(std::uint64_t{7}));
  Writer wire;
  ASSERT_TRUE(encode_infos(wire, infos.data(), infos.size()));
  Reader reader(wire.view());
  const auto back = Infos::decode(reader);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->find("plain")->value.data.ptr, nullptr);
  const auto* pointers = static_cast<void**>(back->find("listed")->value.data.darray->array);
  EXPECT_EQ(pointers[0], nullptr);
  EXPECT_EQ(pointers[1], nullptr);
  EXPECT_EQ(back->find("number")->value.data.uint64, 7U);
}

TEST(Decoder, an_own_address_comes_back_where_the_caller_says_so) {
  int here = 0;
  const auto wire = encoded(pointer_to(&here).get());
  Reader strange(wire), own(wire);
  EXPECT_EQ(Value::decode(strange)->get().data.ptr, nullptr);
  EXPECT_EQ(Value::decode(own, Pointers::kept)->get().data.ptr, &here);
}

TEST(Decoder, values_in_values_end_too_without_an_array) {
  for (const unsigned levels : {max_depth, max_depth + 1}) {
    Writer wire;
    for (unsigned i = 0; i < levels; ++i) {
      wire.u16(PMIX_VALUE);
      wire.u8(1);
    }
    wire.u16(PMIX_UNDEF);
    Reader reader(wire.view());
    const auto out = Value::decode(reader);
    ASSERT_EQ(out.has_value(), levels == max_depth);
    if (!out) continue;
    Writer again;
    EXPECT_TRUE(encode_value(again, out->get()));
    pmix_value_t outer = empty_value();  // one more level, which only lends what lies below
    outer.type = PMIX_VALUE;
    outer.data.ptr = const_cast<pmix_value_t*>(&out->get());
    EXPECT_FALSE(encode_value(again, outer));
  }
}

TEST(Decoder, unknown_types_are_not_encoded) {
  pmix_value_t value = empty_value();
  for (const pmix_data_type_t type : {777, PMIX_DATA_TYPE_MAX}) {
    value.type = type;
    Writer out;
    const auto done = encode_value(out, value);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::not_supported);
    pmix_value_t copy = empty_value();
    EXPECT_FALSE(copy_value(copy, value));
  }
}

void mutate(std::vector<std::byte>& wire, Samples& samples) {
  const auto where = [&] { return static_cast<std::ptrdiff_t>(samples.number(wire.size())); };
  for (std::uint64_t edits = 1 + samples.number(4); edits > 0 && !wire.empty(); --edits) {
    switch (samples.number(6)) {
      case 0:
        wire[static_cast<std::size_t>(where())] = static_cast<std::byte>(samples.number(256));
        break;
      case 1:
        wire[static_cast<std::size_t>(where())] ^= static_cast<std::byte>(1U << samples.number(8));
        break;
      case 2:
        wire.resize(static_cast<std::size_t>(where()));
        break;
      case 3:
        wire.insert(wire.begin() + where(), static_cast<std::byte>(samples.number(256)));
        break;
      case 4:
        wire.erase(wire.begin() + where());
        break;
      case 5: {
        const std::uint32_t extremes[] = {0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
        const std::uint32_t extreme = extremes[samples.number(6)];
        const auto at_byte = static_cast<std::size_t>(where());
        std::memcpy(&wire[at_byte], &extreme, std::min<std::size_t>(4, wire.size() - at_byte));
        break;
      }
    }
  }
}

TEST(Decoder, survives_two_hundred_thousand_damaged_messages) {
  Samples samples(seed());
  const auto types = all_types();
  std::size_t accepted = 0;
  for (int round = 0; round < 200000; ++round) {
    std::vector<std::byte> wire;
    if (round % 8 == 0) {
      for (std::uint64_t left = samples.number(64); left > 0; --left) {
        wire.push_back(static_cast<std::byte>(samples.number(256)));
      }
    } else {
      const Value in = Value::adopt(samples.value(types[samples.number(types.size())], 1));
      Writer out;
      if (round % 2 == 0) {
        Infos infos;
        infos.add("key", Value::copy_of(in.get()).value());
        ASSERT_TRUE(encode_infos(out, infos.data(), infos.size()));
      } else {
        ASSERT_TRUE(encode_value(out, in.get()));
      }
      wire = std::move(out).take();
      mutate(wire, samples);
    }
    Reader reader(wire);
    if (round % 2 == 0) {
      const auto infos = Infos::decode(reader);
      accepted += infos.has_value();
    } else {
      const auto value = Value::decode(reader);
      if (!value) continue;
      ++accepted;
      Writer again;  // what was accepted is sound: it encodes and copies
      ASSERT_TRUE(encode_value(again, value->get()));
      ASSERT_TRUE(Value::copy_of(value->get()));
    }
  }
  EXPECT_GT(accepted, 1000U) << "the damage was so great that nothing deep was reached";
}

TEST(Wire, a_past_end_read_spoils_the_reader) {
  const auto wire = bytes_of({1, 2, 3});
  Reader reader(wire);
  EXPECT_EQ(reader.u32(), 0U);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.u8(), 0U) << "spoilt for good";
  EXPECT_EQ(reader.left(), 0U);
}

// --- handles ----------------------------------------------------------------------------------------------

int live_handles = 0;
constexpr OpaqueOps number_ops = {
    [](const char*, const void* handle) {
      return new_text(std::to_string(*static_cast<const int*>(handle)));
    },
    [](const char*, const char* text) -> void* {
      if (text[0] == 'x') return nullptr;
      ++live_handles;
      return new int(std::atoi(text));
    },
    [](const char*, const void* handle) -> void* {
      ++live_handles;
      return new int(*static_cast<const int*>(handle));
    },
    [](const char*, void* handle) noexcept {
      --live_handles;
      delete static_cast<int*>(handle);
    },
    [](const void* a, const void* b) noexcept {
      return *static_cast<const int*>(a) == *static_cast<const int*>(b);
    },
    [](const char*, const void*) -> char* { return nullptr; },
};

TEST(Opaque, handles_need_their_owner) {
  int content = 5;
  pmix_cpuset_t cpuset{const_cast<char*>("test"), &content};
  pmix_value_t value = empty_value();
  value.type = PMIX_PROC_CPUSET;
  value.data.cpuset = &cpuset;

  Writer wire;
  EXPECT_EQ(encode_value(wire, value).error().code, Errc::not_supported);
  pmix_value_t refused = empty_value();
  EXPECT_EQ(copy_value(refused, value).error().code, Errc::not_supported);

  set_opaque_ops(Opaque::cpuset, &number_ops);
  ASSERT_TRUE(encode_value(wire, value));
  {
    Reader reader(wire.view());
    const auto back = Value::decode(reader);
    ASSERT_TRUE(back);
    EXPECT_EQ(*static_cast<int*>(back->get().data.cpuset->bitmap), 5);
    EXPECT_EQ(compare_values(value, back->get()), PMIX_EQUAL);
    const auto copy = Value::copy_of(back->get());
    ASSERT_TRUE(copy);
    EXPECT_NE(copy->get().data.cpuset->bitmap, back->get().data.cpuset->bitmap);
    EXPECT_EQ(live_handles, 2);
  }
  EXPECT_EQ(live_handles, 0);
  {
    const OpaqueIgnored ignored;
    Reader reader(wire.view());
    const auto back = Value::decode(reader);
    ASSERT_TRUE(back);
    EXPECT_TRUE(reader.done());
    EXPECT_EQ(back->get().data.cpuset->bitmap, nullptr);
    EXPECT_EQ(live_handles, 0);
  }

  Writer bad;
  bad.u16(PMIX_PROC_CPUSET);
  bad.u8(1);
  bad.text("test");
  bad.text("x");
  Reader bad_reader(bad.view());
  EXPECT_EQ(Value::decode(bad_reader).error().code, Errc::corrupt);
  set_opaque_ops(Opaque::cpuset, nullptr);
}

}  // namespace
}  // namespace weft::data::test
