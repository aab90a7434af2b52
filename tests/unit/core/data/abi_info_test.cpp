// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "pmix.h"

namespace weft::data::test {
namespace {

TEST(Info, load_sets_key_value_and_no_directive) {
  pmix_info_t info;
  std::memset(&info, 0xff, sizeof info);
  const std::string long_key(600, 'k');
  ASSERT_EQ(PMIx_Info_load(&info, long_key.c_str(), "text", PMIX_STRING), PMIX_SUCCESS);
  EXPECT_EQ(std::string(info.key), long_key.substr(0, PMIX_MAX_KEYLEN));
  EXPECT_EQ(info.flags, 0U);
  EXPECT_STREQ(info.value.data.string, "text");
  PMIx_Info_destruct(&info);
  EXPECT_EQ(PMIx_Info_load(&info, nullptr, "text", PMIX_STRING), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Info_load(nullptr, "k", "text", PMIX_STRING), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Info_load(&info, "k", "text", 777), PMIX_ERR_UNKNOWN_DATA_TYPE);
}

TEST(Info, xfer_is_deep_and_keeps_directives) {
  pmix_info_t from, to;
  ASSERT_EQ(PMIx_Info_load(&from, "k", "text", PMIX_STRING), PMIX_SUCCESS);
  PMIx_Info_required(&from);
  PMIx_Info_persistent(&from);
  ASSERT_EQ(PMIx_Info_xfer(&to, &from), PMIX_SUCCESS);
  EXPECT_NE(to.value.data.string, from.value.data.string);
  EXPECT_TRUE(PMIx_Info_is_required(&to));
  EXPECT_FALSE(PMIx_Info_is_persistent(&to)) << "the copy owns its value";
  PMIx_Info_destruct(&to);
  EXPECT_STREQ(from.value.data.string, "text");
  PMIx_Value_destruct(&from.value);  // a persistent info leaves that to its owner
}

TEST(Info, a_persistent_value_survives_its_info) {
  char lent[] = "lent";
  pmix_info_t* info = PMIx_Info_create(1);
  info->value.type = PMIX_STRING;
  info->value.data.string = lent;
  PMIx_Info_persistent(info);
  PMIx_Info_free(info, 1);  // asan would see a free of the stack
  EXPECT_STREQ(lent, "lent");
}

TEST(Info, directives_are_separate) {
  pmix_info_t info;
  PMIx_Info_construct(&info);
  EXPECT_TRUE(PMIx_Info_is_optional(&info));
  PMIx_Info_required(&info);
  PMIx_Info_processed(&info);
  PMIx_Info_qualifier(&info);
  EXPECT_EQ(info.flags,
            static_cast<unsigned>(PMIX_INFO_REQD | PMIX_INFO_REQD_PROCESSED | PMIX_INFO_QUALIFIER));
  EXPECT_TRUE(PMIx_Info_was_processed(&info));
  EXPECT_TRUE(PMIx_Info_is_qualifier(&info));
  EXPECT_FALSE(PMIx_Info_is_end(&info));
  PMIx_Info_optional(&info);
  EXPECT_FALSE(PMIx_Info_is_required(&info));
  PMIx_Info_required(nullptr);
  EXPECT_FALSE(PMIx_Info_is_required(nullptr));
  EXPECT_EQ(PMIx_Info_true(&info), PMIX_BOOL_TRUE) << "merely present";
}

TEST(Info, create_marks_the_end) {
  pmix_info_t* array = PMIx_Info_create(2);
  EXPECT_FALSE(PMIx_Info_is_end(&array[0]));
  EXPECT_TRUE(PMIx_Info_is_end(&array[1]));
  PMIx_Info_free(array, 2);
}

std::vector<std::string> walked(void* list) {
  std::vector<std::string> out;
  void* next = nullptr;
  do {
    const pmix_info_t* info = PMIx_Info_list_get_info(list, next, &next);
    if (info == nullptr) break;
    out.push_back(std::string(info->key) + "=" +
                  (info->value.type == PMIX_STRING ? info->value.data.string : "?"));
  } while (next != nullptr);
  return out;
}

using Keys = std::vector<std::string>;

class InfoListTest : public testing::Test {
 protected:
  ~InfoListTest() override { PMIx_Info_list_release(list_); }
  void* list_ = PMIx_Info_list_start();
};

TEST_F(InfoListTest, grows_at_both_ends) {
  ASSERT_NE(list_, nullptr);
  EXPECT_EQ(walked(list_), Keys{});
  EXPECT_EQ(PMIx_Info_list_add(list_, "a", "1", PMIX_STRING), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Info_list_add(list_, "a", "2", PMIX_STRING), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Info_list_prepend(list_, "b", "3", PMIX_STRING), PMIX_SUCCESS);
  pmix_value_t value;
  PMIx_Value_load(&value, "4", PMIX_STRING);
  EXPECT_EQ(PMIx_Info_list_add_value(list_, "c", &value), PMIX_SUCCESS);
  PMIx_Value_destruct(&value);
  EXPECT_EQ(PMIx_Info_list_get_size(list_), 4U);
  EXPECT_EQ(walked(list_), (Keys{"b=3", "a=1", "a=2", "c=4"}));
}

TEST_F(InfoListTest, unique_keeps_one_entry_a_key) {
  EXPECT_EQ(PMIx_Info_list_add_unique(list_, "a", "1", PMIX_STRING, false), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Info_list_add_unique(list_, "b", "2", PMIX_STRING, false), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Info_list_add_unique(list_, "a", "3", PMIX_STRING, false), PMIX_SUCCESS);
  EXPECT_EQ(walked(list_), (Keys{"a=1", "b=2"}));
  EXPECT_EQ(PMIx_Info_list_add_unique(list_, "a", "4", PMIX_STRING, true), PMIX_SUCCESS);
  EXPECT_EQ(walked(list_), (Keys{"a=4", "b=2"}));
  pmix_info_t info;
  PMIx_Info_load(&info, "b", "5", PMIX_STRING);
  EXPECT_EQ(PMIx_Info_list_xfer_unique(list_, &info, true), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Info_list_add_value_unique(list_, "c", &info.value, true), PMIX_SUCCESS);
  PMIx_Info_destruct(&info);
  EXPECT_EQ(walked(list_), (Keys{"a=4", "b=5", "c=5"}));
}

TEST_F(InfoListTest, convert_copies_and_keeps_the_list) {
  pmix_data_array_t array{};
  EXPECT_EQ(PMIx_Info_list_convert(list_, &array), PMIX_ERR_EMPTY);
  pmix_info_t lent;
  PMIx_Info_load(&lent, "lent", "text", PMIX_STRING);
  EXPECT_EQ(PMIx_Info_list_insert(list_, &lent), PMIX_SUCCESS);
  PMIx_Info_required(&lent);
  EXPECT_EQ(PMIx_Info_list_xfer(list_, &lent), PMIX_SUCCESS);
  ASSERT_EQ(PMIx_Info_list_convert(list_, &array), PMIX_SUCCESS);
  EXPECT_EQ(array.type, PMIX_INFO);
  ASSERT_EQ(array.size, 2U);
  const auto* infos = static_cast<pmix_info_t*>(array.array);
  EXPECT_NE(infos[0].value.data.string, lent.value.data.string);
  EXPECT_TRUE(PMIx_Info_is_required(&infos[1]));
  PMIx_Data_array_destruct(&array);
  EXPECT_EQ(PMIx_Info_list_get_size(list_), 2U);
  PMIx_Info_list_release(list_);
  list_ = nullptr;
  EXPECT_STREQ(lent.value.data.string, "text") << "inserting only lends";
  PMIx_Info_destruct(&lent);
}

TEST_F(InfoListTest, refuses_nonsense) {
  pmix_data_array_t array{};
  EXPECT_EQ(PMIx_Info_list_add(nullptr, "a", "1", PMIX_STRING), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Info_list_add(list_, nullptr, "1", PMIX_STRING), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Info_list_add(list_, "a", "1", 777), PMIX_ERR_UNKNOWN_DATA_TYPE);
  EXPECT_EQ(PMIx_Info_list_convert(nullptr, &array), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Info_list_get_size(nullptr), 0U);
  EXPECT_EQ(PMIx_Info_list_get_size(list_), 0U);
}

}  // namespace
}  // namespace weft::data::test
