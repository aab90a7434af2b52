// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/spawn/preput.hpp"

#include <gtest/gtest.h>

namespace weft::pmi {
namespace {

TEST(Preput, keeps_texts_of_any_bytes) {
  const std::vector<KeyValue> pairs{
      {"PARENT_ROOT_PORT_NAME", "tag#0$a,b:c=d\n"}, {"empty", ""}, {"3:a,", "1:"}};
  const auto text = encode_preput(pairs);
  ASSERT_TRUE(text);
  EXPECT_EQ(decode_preput(*text), pairs);
}

TEST(Preput, nothing_is_an_empty_list) {
  EXPECT_EQ(encode_preput({}), "");
  EXPECT_EQ(decode_preput(""), std::vector<KeyValue>());
}

TEST(Preput, more_than_an_environment_holds_is_refused) {
  EXPECT_TRUE(encode_preput({{"k", std::string(preput_room - 32, 'v')}}));
  EXPECT_FALSE(encode_preput({{"k", std::string(preput_room, 'v')}}));
}

TEST(Preput, refuses_what_it_has_not_written) {
  for (const char* text : {"x", "1", "1:", "1:a", "1:a,", "1:a,1:b", "2:a,1:b,", "1:a,1:b;", "-1:a,1:b,",
                           "99999999999999999999:a,1:b,", "18446744073709551615:a,1:b,", "1:a,1:b,1:c,"})
    EXPECT_FALSE(decode_preput(text)) << text;
}

}  // namespace
}  // namespace weft::pmi
