// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/names/qualified_key.hpp"

#include <gtest/gtest.h>

namespace weft::data {
namespace {

Infos qualifiers(std::initializer_list<std::pair<const char*, std::uint32_t>> of,
                 pmix_info_directives_t flags) {
  Infos out;
  for (const auto& [key, number] : of) out.add(key, Value::of(number), flags);
  return out;
}
std::string name(const Infos& infos) {
  const auto made = qualified_key("key", infos.data(), infos.size());
  return made ? *made : "?";
}

TEST(QualifiedKey, is_the_key_without_qualifiers) {
  EXPECT_EQ(name({}), "key");
  EXPECT_EQ(name(qualifiers({{"a", 1}}, 0)), "key");  // a directive
  EXPECT_FALSE(is_qualified("key"));
}

TEST(QualifiedKey, is_another_for_each_set_of_qualifiers_in_any_order) {
  const auto marked = PMIX_INFO_QUALIFIER;
  const auto one = name(qualifiers({{"a", 1}}, marked)), two = name(qualifiers({{"a", 2}}, marked));
  const auto both = name(qualifiers({{"a", 1}, {"b", 2}}, marked));
  EXPECT_TRUE(is_qualified(one));
  EXPECT_NE(one, two);
  EXPECT_NE(one, both);
  EXPECT_EQ(both, name(qualifiers({{"b", 2}, {"a", 1}}, marked)));
  EXPECT_NE(both, name(qualifiers({{"a", 2}, {"b", 1}}, marked)));
  Infos wide;
  wide.add("a", Value::of(std::uint64_t{1}), marked);
  EXPECT_NE(one, name(wide));  // another type is another value
}

TEST(QualifiedKey, that_is_too_long_is_refused) {
  Infos infos;
  infos.add("a", Value::of(std::string_view(std::string(400, 'x'))), PMIX_INFO_QUALIFIER);
  EXPECT_FALSE(qualified_key("key", infos.data(), infos.size()));
}

TEST(QualifiedKey, of_an_array) {
  Infos infos;
  infos.add("key", Value::of(std::uint32_t{7}));
  infos.add("a", Value::of(std::uint32_t{1}));
  pmix_data_array_t array{PMIX_INFO, infos.size(), infos.data()};
  pmix_value_t value{};
  value.type = PMIX_DATA_ARRAY;
  value.data.darray = &array;
  const auto read = read_qualified(value);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->key, name(qualifiers({{"a", 1}}, PMIX_INFO_QUALIFIER)));
  EXPECT_EQ(read->value->data.uint32, 7u);
  array.size = 0;
  EXPECT_FALSE(read_qualified(value));
  array = {PMIX_VALUE, 1, infos.data()};
  EXPECT_FALSE(read_qualified(value));
  value.data.darray = nullptr;
  EXPECT_FALSE(read_qualified(value));
  value.type = PMIX_UINT32;
  EXPECT_FALSE(read_qualified(value));
}

}  // namespace
}  // namespace weft::data
