// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/names/call_attributes.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/data/names/names.hpp"
#include "core/data/types/value.hpp"

namespace weft::data {
namespace {

TEST(CallAttributes, are_sorted_and_known_and_listed_once) {
  std::string_view before;
  for (const auto& call : calls_with_attributes()) {
    EXPECT_LT(before, std::string_view(call.call));
    before = call.call;
    EXPECT_NE(call.roles, 0) << call.call;
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < call.size(); ++i) {
      const std::string_view attribute = call.attributes[i];
      EXPECT_TRUE(seen.insert(attribute).second) << attribute;
      EXPECT_TRUE(attribute.substr(0, 5) == "weft." || attribute_name(attribute) != nullptr) << attribute;
    }
    EXPECT_TRUE(call.goes_to_host || call.size() != 0) << call.call;
  }
}

TEST(CallAttributes, are_found_by_both_forms_of_a_call) {
  ASSERT_NE(attributes_of("PMIx_Get"), nullptr);
  EXPECT_EQ(attributes_of("PMIx_Get_nb"), attributes_of("PMIx_Get"));
  EXPECT_EQ(attributes_of("PMIx_Put"), nullptr);
  EXPECT_EQ(attributes_of(""), nullptr);
  EXPECT_EQ(attributes_of("_nb"), nullptr);
}

TEST(CallAttributes, only_required_ones_have_to_be_understood) {
  Infos infos;
  infos.add(PMIX_TIMEOUT, Value::of(std::uint32_t{1}), PMIX_INFO_REQD);
  infos.add("no.such", Value::of(true));
  infos.add("of.the.key", Value::of(true), PMIX_INFO_REQD | PMIX_INFO_QUALIFIER);
  EXPECT_TRUE(has_required(infos.data(), infos.size()));
  EXPECT_EQ(first_not_understood("PMIx_Get", infos.data(), infos.size()), nullptr);
  EXPECT_EQ(first_not_understood("PMIx_Init", infos.data(), infos.size()), infos.data());
  EXPECT_EQ(first_not_understood("PMIx_Put", infos.data(), infos.size()), infos.data());
  infos.add("no.such.either", Value::of(true), PMIX_INFO_REQD);
  EXPECT_EQ(first_not_understood("PMIx_Get", infos.data(), infos.size()), infos.data() + 3);
  EXPECT_FALSE(has_required(infos.data() + 1, 1));
  EXPECT_FALSE(has_required(nullptr, 0));
}

TEST(CallAttributes, have_the_types_of_the_header) {
  EXPECT_EQ(attribute_type(PMIX_TIMEOUT), PMIX_INT);
  EXPECT_EQ(attribute_type(PMIX_COLLECT_DATA), PMIX_BOOL);
  EXPECT_EQ(attribute_type(PMIX_HOSTNAME), PMIX_STRING);
  EXPECT_EQ(attribute_type(PMIX_NODEID), PMIX_UINT32);
  EXPECT_EQ(attribute_type(PMIX_RANK), PMIX_PROC_RANK);
  EXPECT_EQ(attribute_type(PMIX_PROC_MAP_RAW), PMIX_STRING);
  EXPECT_EQ(attribute_type("no.such"), PMIX_UNDEF);
}

}  // namespace
}  // namespace weft::data
