// SPDX-License-Identifier: BSD-3-Clause
// Expected lists: what `scontrol show hostnames` of Slurm 22.05 prints.
#include "tools/allocation/hostlist.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <random>

namespace weft::allocation {
namespace {

std::string expanded(std::string_view text) {
  std::string complaint;
  const auto names = expand_hostlist(text, complaint);
  if (!names) return "refused: " + complaint;
  return fmt::format("{}", fmt::join(*names, " "));
}

TEST(Hostlist, as_slurm_expands_it) {
  EXPECT_EQ(expanded(""), "");
  EXPECT_EQ(expanded("n1"), "n1");
  EXPECT_EQ(expanded("n[01-03,7],m2,a[1-2]b[3-4]"), "n01 n02 n03 n7 m2 a1b3 a1b4 a2b3 a2b4");
  EXPECT_EQ(expanded("n[001-3]"), "n001 n002 n003");
  EXPECT_EQ(expanded("n[9-11]"), "n9 n10 n11");
  EXPECT_EQ(expanded("n[09-11]"), "n09 n10 n11");
  EXPECT_EQ(expanded("n[08-010]"), "n08 n09 n10");
  EXPECT_EQ(expanded("n[98-102]"), "n98 n99 n100 n101 n102");
  EXPECT_EQ(expanded("n[098-102]"), "n098 n099 n100 n101 n102");
  EXPECT_EQ(expanded("n[1,02,3-4]"), "n1 n02 n3 n4");
  EXPECT_EQ(expanded("n[1-2][3-4]"), "n13 n14 n23 n24");
  EXPECT_EQ(expanded("r[1-2]n[1-2]c[1-2]"), "r1n1c1 r1n1c2 r2n1c1 r2n1c2 r1n2c1 r1n2c2 r2n2c1 r2n2c2");
  EXPECT_EQ(
      expanded("a[01-02]b[1-2]c[5-6,9]"),
      "a01b1c5 a01b1c6 a01b1c9 a02b1c5 a02b1c6 a02b1c9 a01b2c5 a01b2c6 a01b2c9 a02b2c5 a02b2c6 a02b2c9");
  EXPECT_EQ(expanded("n1,n1"), "n1 n1");
  EXPECT_EQ(expanded("n[1-2]-ib"), "n1-ib n2-ib");  // Slurm has no such names; they mean what they seem to
}

TEST(Hostlist, what_is_none_is_named) {
  for (const char* text :
       {"n[1", "n]1", "n[1]]", "n[[1-2]]", "n[]", "n[3-1]", "n[a-b]", "n[0x1]", "n[-3]", "n[1-]", "n[1 - 2]",
        "n[1,,2]", "a,,b", ",", "a,", "n[1-2-3]", "n[+1]", "n[18446744073709551615-18446744073709551616]"}) {
    EXPECT_EQ(expanded(text).find("refused: "), 0U) << text << " gave " << expanded(text);
  }
}

TEST(Hostlist, size_is_bounded) {
  std::string complaint;
  EXPECT_EQ(expand_hostlist("n[1-1000]", complaint, 1000)->size(), 1000U);
  EXPECT_EQ(expand_hostlist("a[1-10]b[1-99],n[1-10]", complaint, 1000)->size(), 1000U);
  for (const char* text : {"n[0-1000]", "n[1-500,501-1001]", "n[1-1000],m", "a[1-10]b[1-99],n[1-11]"}) {
    EXPECT_FALSE(expand_hostlist(text, complaint, 1000)) << text;
    EXPECT_NE(complaint.find("more than 1000 "), std::string::npos) << complaint;
  }
  // Refused before there is a name of them.
  for (const char* text : {"n[0-1048576]", "n[0-999999999999]", "a[1-2000]b[1-2000]",
                           "a[1-1000]b[1-1000]c[1-1000]d[1-1000]e[1-1000]f[1-1000]g[1-1000]h[1-1000]"}) {
    EXPECT_FALSE(expand_hostlist(text, complaint)) << text;
    EXPECT_NE(complaint.find("more than 1048576"), std::string::npos) << complaint;
  }
}

TEST(Hostlist, compresses) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(compress_hostlist({}), "");
  EXPECT_EQ(compress_hostlist({"n1", "n2", "n3"}), "n[1-3]");
  EXPECT_EQ(compress_hostlist({"n01", "n02", "n10"}), "n[01-02,10]");
  EXPECT_EQ(compress_hostlist({"n9", "n10"}), "n[9-10]");
  EXPECT_EQ(compress_hostlist({"n09", "n10", "n99", "n100"}), "n[09-10,99-100]");
  EXPECT_EQ(compress_hostlist({"a1b1", "a1b2", "a2b1", "login"}), "a1b[1-2],a2b1,login");
  EXPECT_EQ(compress_hostlist({"n3", "n1", "n2"}), "n[3,1-2]");
  EXPECT_EQ(compress_hostlist({"7", "8"}), "7,8");  // no name without text before its brackets
  EXPECT_EQ(compress_hostlist(Names(2, "n1")), "n[1,1]");
}

TEST(Hostlist, compressed_and_expanded_it_is_the_same) {
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::string> names;
    for (unsigned k = 0, n = 1 + random() % 40; k < n; ++k) {
      const auto number = k > 0 && random() % 4 != 0 ? k + random() % 2 : random() % 1200;
      const char* const stems[] = {"n", "n", "rack1-", "x"};
      std::string name = stems[random() % 4];
      if (random() % 20 != 0) name += fmt::format("{:0{}}", number, random() % 3 == 0 ? 1 : 3);
      names.push_back(std::move(name));
    }
    std::string complaint;
    const auto list = compress_hostlist(names);
    const auto back = expand_hostlist(list, complaint);
    ASSERT_TRUE(back) << list << ": " << complaint;
    ASSERT_EQ(*back, names) << list;
  }
}

TEST(Hostlist, any_bytes_are_taken_or_refused) {
  std::mt19937 random(12);
  constexpr std::string_view alphabet = "a1[[]],,--09";
  for (int i = 0; i < 50'000; ++i) {
    std::string text, complaint;
    for (unsigned k = random() % 14; k > 0; --k) text += alphabet[random() % alphabet.size()];
    const auto names = expand_hostlist(text, complaint);
    if (!names) {
      ASSERT_FALSE(complaint.empty());
      continue;
    }
    for (const auto& name : *names) ASSERT_EQ(name.find_first_of("[],"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace weft::allocation
