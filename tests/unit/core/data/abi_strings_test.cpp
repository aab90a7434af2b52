// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "core/data/names/names.hpp"
#include "core/data/types/types.hpp"
#include "pmix.h"
#include "tests/unit/core/data/samples.hpp"

namespace weft::data::test {
namespace {

/// The text, which is freed.
std::string taken(char* text) {
  if (text == nullptr) return "NULL";
  std::string out = text;
  std::free(text);
  return out;
}

std::string printed(pmix_data_type_t type, const void* data, const char* prefix = nullptr) {
  char* out = nullptr;
  EXPECT_EQ(PMIx_Data_print(&out, const_cast<char*>(prefix), const_cast<void*>(data), type), PMIX_SUCCESS);
  return taken(out);
}

TEST(ErrorString, is_the_constant_and_the_way_back_leads_there) {
  EXPECT_STREQ(PMIx_Error_string(PMIX_SUCCESS), "PMIX_SUCCESS");
  EXPECT_STREQ(PMIx_Error_string(PMIX_ERR_NOT_FOUND), "PMIX_ERR_NOT_FOUND");
  EXPECT_STREQ(PMIx_Error_string(PMIX_EVENT_NODE_DOWN), "PMIX_EVENT_NODE_DOWN") << "not its deprecated name";
  EXPECT_STREQ(PMIx_Error_string(12345), "UNKNOWN");
  std::set<std::string> names;
  for (pmix_status_t status = -4000; status <= 10; ++status) {
    const char* name = PMIx_Error_string(status);
    ASSERT_NE(name, nullptr);
    if (std::strcmp(name, "UNKNOWN") == 0) continue;
    EXPECT_EQ(PMIx_Error_code(name), status) << name;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_GT(names.size(), 150U);
}

TEST(ErrorCode, understands_other_spellings) {
  EXPECT_EQ(PMIx_Error_code("PMIX_ERR_NODE_DOWN"), PMIX_EVENT_NODE_DOWN);
  EXPECT_EQ(PMIx_Error_code("NOT-FOUND"), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(PMIx_Error_code("success"), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Error_code("ERROR"), PMIX_ERROR);
  EXPECT_EQ(PMIx_Error_code("NO SUCH THING"), INT32_MIN);
  EXPECT_EQ(PMIx_Error_code(""), INT32_MIN);
  EXPECT_EQ(PMIx_Error_code(nullptr), INT32_MIN);
}

TEST(Strings, every_number_has_one) {
  for (unsigned n = 0; n < 256; ++n) {
    const auto byte = static_cast<std::uint8_t>(n);
    for (const char* name :
         {PMIx_Proc_state_string(byte), PMIx_Job_state_string(byte), PMIx_Scope_string(byte),
          PMIx_Persistence_string(byte), PMIx_Data_range_string(byte), PMIx_Alloc_directive_string(byte),
          PMIx_Alloc_inheritance_string(byte), PMIx_Resource_block_directive_string(byte),
          PMIx_Link_state_string(byte), PMIx_Device_type_string(n),
          PMIx_IOF_channel_string(static_cast<std::uint16_t>(n)),
          PMIx_Data_type_string(static_cast<std::uint16_t>(n)),
          PMIx_Group_operation_string(static_cast<pmix_group_operation_t>(n % 8)),
          PMIx_Value_comparison_string(static_cast<pmix_value_cmp_t>(n % 8))}) {
      ASSERT_NE(name, nullptr) << n;
      EXPECT_NE(*name, '\0') << n;
    }
  }
  EXPECT_STREQ(PMIx_Proc_state_string(PMIX_PROC_STATE_ABORTED_BY_SIG), "PMIX_PROC_STATE_ABORTED_BY_SIG");
  EXPECT_STREQ(PMIx_Job_state_string(PMIX_JOB_STATE_RUNNING), "PMIX_JOB_STATE_RUNNING");
  EXPECT_STREQ(PMIx_Scope_string(PMIX_GLOBAL), "PMIX_GLOBAL");
  EXPECT_STREQ(PMIx_Scope_string(99), "UNKNOWN");
  EXPECT_STREQ(PMIx_Persistence_string(PMIX_PERSIST_INVALID), "PMIX_PERSIST_INVALID");
  EXPECT_STREQ(PMIx_Data_range_string(PMIX_RANGE_SESSION), "PMIX_RANGE_SESSION");
  EXPECT_STREQ(PMIx_Data_type_string(PMIX_PROC_RANK), "PMIX_PROC_RANK");
  EXPECT_STREQ(PMIx_Data_type_string(777), "UNKNOWN");
  EXPECT_STREQ(PMIx_Device_type_string(PMIX_DEVTYPE_NODE), "PMIX_DEVTYPE_NODE");
  EXPECT_STREQ(PMIx_Device_type_string(PMIX_DEVTYPE_GPU | PMIX_DEVTYPE_DMA), "UNKNOWN");
  EXPECT_STREQ(PMIx_IOF_channel_string(PMIX_FWD_STDIN_CHANNEL | PMIX_FWD_STDERR_CHANNEL), "STDIN STDERR");
  EXPECT_STREQ(PMIx_IOF_channel_string(PMIX_FWD_ALL_CHANNELS), "STDIN STDOUT STDERR STDDIAG");
  EXPECT_STREQ(PMIx_IOF_channel_string(0), "NONE");
  EXPECT_STREQ(PMIx_Value_comparison_string(PMIX_EQUAL), "PMIX_EQUAL");
  EXPECT_EQ(taken(PMIx_Info_directives_string(0)), "OPTIONAL");
  EXPECT_EQ(taken(PMIx_Info_directives_string(PMIX_INFO_REQD | PMIX_INFO_REQD_PROCESSED)),
            "REQUIRED:PROCESSED");
}

TEST(Attributes, have_names_and_keys) {
  EXPECT_STREQ(PMIx_Get_attribute_string("PMIX_JOB_SIZE"), PMIX_JOB_SIZE);
  EXPECT_STREQ(PMIx_Get_attribute_name(PMIX_JOB_SIZE), "PMIX_JOB_SIZE");
  EXPECT_STREQ(PMIx_Get_attribute_string("nonsense"), "nonsense");
  EXPECT_STREQ(PMIx_Get_attribute_string(PMIX_JOB_SIZE), PMIX_JOB_SIZE);
  EXPECT_STREQ(PMIx_Get_attribute_name("PMIX_JOB_SIZE"), "PMIX_JOB_SIZE");
  EXPECT_NE(PMIx_Get_attribute_string(nullptr), nullptr);
  const char* written[] = {
#define NAMED(name) #name, name
      NAMED(PMIX_LOCAL_RANK), NAMED(PMIX_ABORT_NON_ZERO_TERM), NAMED(PMIX_WDIR),
      NAMED(PMIX_TIMEOUT),    NAMED(PMIX_UNIV_SIZE),           NAMED(PMIX_EVENT_HDLR_NAME),
#undef NAMED
  };
  for (std::size_t i = 0; i < std::size(written); i += 2) {
    EXPECT_STREQ(PMIx_Get_attribute_string(written[i]), written[i + 1]);
    EXPECT_STREQ(PMIx_Get_attribute_name(written[i + 1]), written[i]);
  }
}

TEST(Print, shows_numbers_texts_and_structures) {
  const std::uint32_t number = 7;
  EXPECT_EQ(printed(PMIX_UINT32, &number), "PMIX_UINT32: 7");
  EXPECT_EQ(printed(PMIX_UINT32, &number, "> "), "> PMIX_UINT32: 7");
  const pmix_status_t status = PMIX_ERR_TIMEOUT;
  EXPECT_EQ(printed(PMIX_STATUS, &status), "PMIX_STATUS: PMIX_ERR_TIMEOUT");
  EXPECT_EQ(printed(PMIX_STRING, "text"), "PMIX_STRING: \"text\"");
  EXPECT_EQ(printed(PMIX_STRING, nullptr), "PMIX_STRING: (null)");
  pmix_proc_t proc;
  PMIx_Load_procid(&proc, "job", PMIX_RANK_WILDCARD);
  EXPECT_EQ(printed(PMIX_PROC, &proc), "PMIX_PROC: job:*");
  EXPECT_EQ(taken(PMIx_Proc_string(&proc)), "job:*");
  pmix_byte_object_t bytes{const_cast<char*>("\x01\xff"), 2};
  EXPECT_EQ(printed(PMIX_BYTE_OBJECT, &bytes), "PMIX_BYTE_OBJECT: 2 bytes 01ff");
  std::uint16_t numbers[] = {1, 2};
  pmix_data_array_t array{PMIX_UINT16, 2, numbers};
  EXPECT_EQ(printed(PMIX_DATA_ARRAY, &array), "PMIX_DATA_ARRAY: PMIX_UINT16[1, 2]");
  pmix_resource_unit_t unit{PMIX_DEVTYPE_GPU, 4};
  EXPECT_EQ(taken(PMIx_Resource_unit_string(&unit)), "{type: PMIX_DEVTYPE_GPU, count: 4}");

  pmix_info_t info;
  PMIx_Info_load(&info, PMIX_JOB_SIZE, &number, PMIX_UINT32);
  PMIx_Info_required(&info);
  EXPECT_EQ(taken(PMIx_Info_string(&info)), "pmix.job.size: PMIX_UINT32: 7 [REQUIRED]");
  EXPECT_EQ(taken(PMIx_Value_string(&info.value)), "PMIX_UINT32: 7");
  EXPECT_EQ(taken(PMIx_Value_string(nullptr)), "(null)");
  char* out = nullptr;
  EXPECT_EQ(PMIx_Data_print(&out, nullptr, &info, 777), PMIX_ERR_UNKNOWN_DATA_TYPE);
  EXPECT_EQ(PMIx_Data_print(nullptr, nullptr, &info, PMIX_INFO), PMIX_ERR_BAD_PARAM);
}

TEST(Print, manages_every_type) {
  Samples samples(17);
  for (const pmix_data_type_t type : all_types()) {
    SCOPED_TRACE(find_type(type)->name);
    for (int i = 0; i < 20; ++i) {
      pmix_value_t value = samples.value(type);
      EXPECT_TRUE(taken(PMIx_Value_string(&value)).starts_with(find_type(type)->name));
      PMIx_Value_destruct(&value);
    }
  }
}

}  // namespace
}  // namespace weft::data::test
