// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftinfo/options.hpp"

#include <gtest/gtest.h>

#include "tools/weftinfo/messages.hpp"

namespace weft::weftinfo {
namespace {

std::string refusal(const std::vector<std::string>& args) {
  try {
    parse_options(args);
  } catch (const Stop& stop) {
    EXPECT_EQ(stop.exit_code(), exit_status::usage);
    return stop.what();
  }
  return "accepted";
}

TEST(Options, defaults_and_all) {
  const auto none = parse_options({});
  EXPECT_FALSE(none.pid);
  EXPECT_FALSE(none.list || none.stats || none.json || none.show_version);
  EXPECT_EQ(none.help, "");
  const auto all = parse_options({"--stats", "17", "-j"});
  EXPECT_EQ(all.pid, 17);
  EXPECT_TRUE(all.stats && all.json);
  EXPECT_TRUE(parse_options({"-l"}).list);
  const auto settings = parse_options({"--settings", "--json"});
  EXPECT_TRUE(settings.settings && settings.json);
  const auto metrics = parse_options({"--metrics", "17"});
  EXPECT_TRUE(metrics.metrics && metrics.pid == 17);
  EXPECT_TRUE(parse_options({"--memory"}).memory);
  EXPECT_TRUE(parse_options({"--collectives"}).collectives);
  EXPECT_TRUE(parse_options({"-V"}).show_version);
  EXPECT_NE(parse_options({"--help"}).help.find("--json"), std::string::npos);
}

TEST(Options, what_is_wrong_is_named) {
  for (const char* pid : {"x", "0", "-", "17x", "99999999999"})
    EXPECT_NE(refusal({pid}).find("is no process id"), std::string::npos) << pid;
  EXPECT_NE(refusal({"--nothing"}).find("--nothing"), std::string::npos);
  EXPECT_NE(refusal({"1", "2"}).find("weftinfo --help"), std::string::npos);
  for (const char* other : {"--list", "--stats", "2"})
    EXPECT_NE(refusal({"--settings", other}).find("--settings"), std::string::npos) << other;
  for (const char* other : {"--list", "--stats", "--json", "--settings"})
    EXPECT_NE(refusal({"--metrics", other}).find("--metrics"), std::string::npos) << other;
  for (const auto* other : {"--json", "--stats", "--list"})
    EXPECT_NE(refusal({"--memory", other}).find("--memory"), std::string::npos) << other;
  for (const auto* other : {"--json", "--stats", "--list", "--memory"})
    EXPECT_NE(refusal({"--collectives", other}).find("--collectives"), std::string::npos) << other;
  EXPECT_NE(refusal({"--list", "2"}).find("--list"), std::string::npos);
}

}  // namespace
}  // namespace weft::weftinfo
