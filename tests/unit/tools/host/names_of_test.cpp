// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/requests/names_of.hpp"

#include <gtest/gtest.h>
#include <pmix.h>

#include <set>

namespace weft::host {
namespace {

TEST(NamesOf, is_a_pid_with_or_without_a_word_before_it) {
  for (const char* text : {"17", "pid:17", "PID:17"}) {
    const auto of = read_names_of(text);
    EXPECT_STREQ(of.key, PMIX_SERVER_PIDINFO);
    EXPECT_EQ(of.pid, 17) << text;
  }
  for (const char* text : {"0", "-1", "17a", "17 ", "pid:", "pid:pid:", "99999999999"})
    EXPECT_STREQ(read_names_of(text).key, PMIX_SERVER_NSPACE) << text;
}

TEST(NamesOf, is_a_file_a_uri_or_a_namespace) {
  const auto expect = [](const char* given, const char* key, const char* text) {
    const auto of = read_names_of(given);
    EXPECT_STREQ(of.key, key) << given;
    EXPECT_EQ(of.text, text) << given;
    EXPECT_FALSE(of.pid) << given;
  };
  expect("file:/a;b", PMIX_TOOL_ATTACHMENT_FILE, "/a;b");
  expect("file:", PMIX_TOOL_ATTACHMENT_FILE, "");
  expect("weft-a-17-weftrun.0;weft:weft-17-0", PMIX_SERVER_URI, "weft-a-17-weftrun.0;weft:weft-17-0");
  expect("weft-a-17", PMIX_SERVER_NSPACE, "weft-a-17-weftrun");
  expect("weft-a-17-weftrun", PMIX_SERVER_NSPACE, "weft-a-17-weftrun");
}

TEST(NamesOf, each_reason_has_words_of_its_own) {
  std::set<std::string> all;
  for (const auto status : {PMIX_ERR_UNREACH, PMIX_ERR_NOT_FOUND, PMIX_ERR_NO_PERMISSIONS,
                            PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_TIMEOUT, PMIX_ERR_EXISTS})
    EXPECT_TRUE(all.insert(why_no_names(status)).second) << PMIx_Error_string(status);
}

}  // namespace
}  // namespace weft::host
