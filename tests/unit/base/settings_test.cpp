// SPDX-License-Identifier: BSD-3-Clause
#include "base/settings.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>

namespace weft::base {
namespace {

Reading read_as(Variable variable, const char* value) {
  return read(setting_of(variable), value);
}

TEST(Settings, every_row_has_what_the_lists_print) {
  std::set<std::string> names;
  for (const auto& setting : all_settings()) {
    EXPECT_TRUE(std::string_view(setting.name).starts_with("WEFT_")) << setting.name;
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name << " stands in the table twice";
    EXPECT_GT(std::string_view(setting.text).size(), 10u) << setting.name;
    EXPECT_NE(setting.readers, 0) << setting.name << " is read by no program";
    EXPECT_EQ(&setting_of(setting.variable), &setting);
    const auto reading = read(setting, nullptr);
    EXPECT_EQ(reading.source, Reading::Source::by_default);
    EXPECT_EQ(reading.text, setting.fallback) << setting.name;
    // A default that its own rule refuses would be reported as the user's mistake.
    const auto own = *setting.fallback == '\0' ? Reading::Source::by_default : Reading::Source::environment;
    EXPECT_EQ(read(setting, setting.fallback).source, own) << setting.name;
  }
  EXPECT_EQ(names.size(), variable_count);
}

TEST(Settings, empty_is_not_set) {
  EXPECT_EQ(read_as(Variable::stuck_after, "").source, Reading::Source::by_default);
  EXPECT_EQ(read_as(Variable::stuck_after, "").number, 60u);
}

TEST(Settings, numbers_have_a_range) {
  EXPECT_EQ(read_as(Variable::card_bytes, "1024").number, 1024u);
  EXPECT_EQ(read_as(Variable::card_bytes, "1099511627776").number, 1099511627776u);
  for (const char* wrong :
       {"1023", "1099511627777", "99999999999999999999", "16 MiB", "-1", "1.5", " 4096", "soon"}) {
    const auto reading = read_as(Variable::card_bytes, wrong);
    EXPECT_EQ(reading.source, Reading::Source::refused) << wrong;
    EXPECT_EQ(reading.number, 16777216u) << wrong;
    EXPECT_EQ(reading.text, "16777216") << wrong;
  }
}

TEST(Settings, complaint_says_name_value_what_is_accepted_and_what_happens) {
  EXPECT_EQ(read_as(Variable::card_bytes, "soon").complaint,
            "WEFT_CARD_BYTES=soon is not accepted (a whole number, 1024 to 1099511627776); going on with the "
            "default, "
            "16777216");
  EXPECT_EQ(read_as(Variable::fence, "half").complaint,
            "WEFT_FENCE=half is not accepted (full or sparse); going on without it");
  EXPECT_EQ(
      read_as(Variable::launch_timeout, "inf").complaint,
      "WEFT_LAUNCH_TIMEOUT=inf is not accepted (seconds, 0.001 to 1000000); going on with the default, 60");
  EXPECT_EQ(
      read_as(Variable::get_wait, "-1").complaint,
      "WEFT_GET_WAIT=-1 is not accepted (seconds, 0 to 1000000000, or inf); going on with the default, 2");
  EXPECT_EQ(complaint(Variable::collective, "x", "none of these"),
            "WEFT_COLLECTIVE=x is not accepted (none of these); going on without it");
}

TEST(Settings, seconds_may_be_parts_of_one_or_infinite) {
  EXPECT_EQ(read_as(Variable::get_wait, "0.25").limit(), std::chrono::milliseconds(250));
  EXPECT_EQ(read_as(Variable::get_wait, "2.1239").limit(), std::chrono::milliseconds(2123));
  EXPECT_EQ(read_as(Variable::get_wait, "1.05").limit(), std::chrono::milliseconds(1050));
  EXPECT_EQ(read_as(Variable::get_wait, "0.000").limit(), std::chrono::milliseconds(0));
  EXPECT_EQ(read_as(Variable::get_wait, "0").limit(), std::chrono::milliseconds(0));
  EXPECT_EQ(read_as(Variable::get_wait, "inf").limit(), std::nullopt);
  EXPECT_EQ(read_as(Variable::get_wait, nullptr).limit(), std::chrono::milliseconds(2000));
  // Less than a millisecond is a limit all the same, where 0 is none or another thing.
  EXPECT_EQ(read_as(Variable::get_wait, "0.0001").limit(), std::chrono::milliseconds(1));
  for (const char* wrong :
       {"nan", "1e3", "infinite", "2s", ".5", "2.", "1.5.5", "1.-5", "+1", "99999999999999999999"})
    EXPECT_EQ(read_as(Variable::get_wait, wrong).source, Reading::Source::refused) << wrong;
}

TEST(Settings, longest_limit_fits_every_clock) {
  const auto longest = read_as(Variable::get_wait, "1000000000").limit();
  ASSERT_TRUE(longest);
  EXPECT_GT(std::chrono::steady_clock::now() + *longest, std::chrono::steady_clock::now());
}

TEST(Settings, choices_and_flags) {
  EXPECT_EQ(read_as(Variable::fence, "full").text, "full");
  EXPECT_EQ(read_as(Variable::fence, "sparse").text, "sparse");
  for (const char* wrong : {"ful", "full|sparse", "FULL"})
    EXPECT_EQ(read_as(Variable::fence, wrong).source, Reading::Source::refused) << wrong;
  for (const char* on : {"1", "yes", "on", "true"})
    EXPECT_TRUE(read_as(Variable::no_segment, on).is_on()) << on;
  for (const char* off : {"0", "no", "off", "false", ""})
    EXPECT_FALSE(read_as(Variable::no_segment, off).is_on()) << off;
  EXPECT_EQ(read_as(Variable::no_segment, "perhaps").source, Reading::Source::refused);
}

TEST(Settings, environment_of_the_process) {
  ::setenv("WEFT_STUCK_AFTER", "7", 1);
  EXPECT_EQ(read(Variable::stuck_after).number, 7u);
  ::unsetenv("WEFT_STUCK_AFTER");
  EXPECT_EQ(read(Variable::stuck_after).number, 60u);
}

std::vector<std::string> complaints_of(std::vector<std::string> variables) {
  std::vector<char*> environment;
  for (auto& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  return complaints(environment.data());
}

TEST(Settings, unknown_names_and_what_was_meant) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(
      complaints_of({"PATH=/bin", "WEFT_FENCE=full", "WEFT_SERVER=x", "WEFTRUN=/x", "WEFT_TEST_SEED=3"}),
      Lines());
  EXPECT_EQ(complaints_of({"WEFT_FENSE=full"}),
            Lines{"WEFT_FENSE is no setting of Weft and has no effect; was WEFT_FENCE meant?"});
  EXPECT_EQ(complaints_of({"WEFT_STUCKAFTER=1"}),
            Lines{"WEFT_STUCKAFTER is no setting of Weft and has no effect; was WEFT_STUCK_AFTER meant?"});
  EXPECT_EQ(complaints_of({"WEFT_TRANSPROT=ucx"}),
            Lines{"WEFT_TRANSPROT is no setting of Weft and has no effect; was WEFT_TRANSPORT meant?"});
  // Variables that servers set themselves are not proposed to a user.
  EXPECT_EQ(complaints_of({"WEFT_TOKENS=1"}),
            Lines{"WEFT_TOKENS is no setting of Weft and has no effect; weftinfo --settings lists them all"});
  EXPECT_EQ(
      complaints_of({"WEFT_QUANTUM_LEAP=1"}),
      Lines{"WEFT_QUANTUM_LEAP is no setting of Weft and has no effect; weftinfo --settings lists them all"});
  EXPECT_EQ(complaints_of({"WEFT_"}),
            Lines{"WEFT_ is no setting of Weft and has no effect; weftinfo --settings lists them all"});
}

TEST(Settings, complaints_name_each_value_that_is_not_accepted) {
  const auto lines =
      complaints_of({"WEFT_FENCE=half", "WEFT_STUCK_AFTER=never", "WEFT_LOG=loud", "WEFT_NET=lo"});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[0].starts_with("WEFT_FENCE=half is not accepted")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("WEFT_STUCK_AFTER=never is not accepted")) << lines[1];
  EXPECT_EQ(lines[2],
            "WEFT_LOG=loud is not accepted ('loud' is no level: off, error, warn, info, debug); going on "
            "without it");
}

}  // namespace
}  // namespace weft::base
