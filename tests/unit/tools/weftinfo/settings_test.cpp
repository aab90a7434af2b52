// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftinfo/settings.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace weft::weftinfo {
namespace {

const char* nothing(const char*) {
  return nullptr;
}

const char* some(const char* name) {
  if (std::string_view(name) == "WEFT_FENCE") return "full";
  if (std::string_view(name) == "WEFT_STUCK_AFTER") return "10";
  if (std::string_view(name) == "WEFT_CARD_BYTES") return "lots";
  if (std::string_view(name) == "WEFT_TOKEN") return "0123secret";
  return nullptr;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Settings, text_has_value_source_default_and_meaning) {
  const auto text = text_of(settings_in_force(some), {"WEFT_FENSE is no setting"});
  EXPECT_TRUE(has(text, "WEFT_FENCE           full (environment)\n    full: cards travel")) << text;
  EXPECT_TRUE(has(text, "WEFT_STUCK_AFTER     10 (environment; default 60)\n    seconds: a fence")) << text;
  EXPECT_TRUE(has(text, "WEFT_CARD_BYTES      16777216 (default; the environment's value is not accepted)\n"))
      << text;
  EXPECT_TRUE(has(text, "WEFT_TRANSPORT       - (default)\n")) << text;
  EXPECT_TRUE(has(text, "    accepted: full or sparse\n")) << text;
  EXPECT_TRUE(text.ends_with("\nWEFT_FENSE is no setting\n")) << text;
  EXPECT_FALSE(has(text, "`")) << text;
}

TEST(Settings, what_proves_the_rank_of_a_process_is_not_printed) {
  const auto settings = settings_in_force(some);
  EXPECT_TRUE(has(text_of(settings, {}), "WEFT_TOKEN           (set) (environment)"));
  EXPECT_FALSE(has(text_of(settings, {}), "secret"));
  EXPECT_FALSE(has(json_of(settings, {}), "secret"));
}

TEST(Settings, every_setting_is_listed) {
  const auto settings = settings_in_force(nothing);
  ASSERT_EQ(settings.size(), base::variable_count);
  for (const auto& setting : base::all_settings()) {
    EXPECT_TRUE(has(text_of(settings, {}), std::string(setting.name) + " ")) << setting.name;
    EXPECT_TRUE(has(json_of(settings, {}), "\"name\": \"" + std::string(setting.name) + "\""))
        << setting.name;
  }
}

}  // namespace
}  // namespace weft::weftinfo
