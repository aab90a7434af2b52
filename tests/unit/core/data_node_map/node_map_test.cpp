// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/node_map.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <random>

namespace weft::data {
namespace {

using Names = std::vector<std::string>;
using Nodes = std::vector<std::vector<std::uint32_t>>;

std::string encoded(const Names& names) {
  const auto text = encode_node_map(names);
  EXPECT_TRUE(text) << text.error().what;
  return text.value_or("");
}
std::string encoded(const Nodes& nodes) {
  const auto text = encode_proc_map(nodes);
  EXPECT_TRUE(text) << text.error().what;
  return text.value_or("");
}

bool is_printable(const std::string& text) {
  for (const unsigned char c : text) {
    if (std::isgraph(c) == 0) return false;
  }
  return true;
}

Names numbered(const char* format, int from, int to) {
  Names names;
  for (int i = from; i <= to; ++i) {
    char name[64];
    std::snprintf(name, sizeof name, format, i);
    names.emplace_back(name);
  }
  return names;
}

void expect_round_trip(const Names& names) {
  const std::string text = encoded(names);
  EXPECT_TRUE(is_printable(text)) << text;
  const auto back = parse_node_map(text);
  ASSERT_TRUE(back) << text << ": " << back.error().what;
  EXPECT_EQ(*back, names) << text;
}
void expect_round_trip(const Nodes& nodes) {
  const std::string text = encoded(nodes);
  EXPECT_TRUE(is_printable(text)) << text;
  const auto back = parse_proc_map(text);
  ASSERT_TRUE(back) << text << ": " << back.error().what;
  EXPECT_EQ(*back, nodes) << text;
}

TEST(NodeMap, is_compact_for_numbered_names) {
  EXPECT_EQ(encoded(numbered("node%05d", 0, 9999)), "weft1:node[5:0-9999]");
  EXPECT_EQ(encoded(numbered("n%d", 1, 128)), "weft1:n[0:1-128]");
  EXPECT_EQ(encoded(numbered("node%03d-ib0", 1, 999)), "weft1:node[3:1-999]-ib0");
  EXPECT_EQ(encoded(Names{"a1", "a2", "b", "a3", "a4"}), "weft1:a[0:1-2],b,a[0:3-4]");
  EXPECT_EQ(encoded(Names{"10.0.0.1", "10.0.0.2"}), "weft1:10.0.0.[0:1-2]");
}

TEST(NodeMap, keeps_names_that_look_alike) {
  expect_round_trip(Names{"node"});
  expect_round_trip(Names{"node9", "node10"});
  expect_round_trip(Names{"node09", "node10", "node011", "node12"});
  expect_round_trip(Names{"node1", "node01", "node001"});
  expect_round_trip(Names{"n99", "n100", "n0100", "n101"});
  expect_round_trip(Names{"098", "099", "100", "101"});
  expect_round_trip(Names{"a-1-2", "a-1-3", "a-2-3", "a-2-4"});
  expect_round_trip(Names{"a1b1", "a2b2"});
  expect_round_trip(Names{"x", "x", "x1", "x1"});
  expect_round_trip(Names{"n3", "n2", "n1"});
  expect_round_trip(Names{"n999999999999999999", "n1000000000000000000", "n1000000000000000001"});
  expect_round_trip(Names{"n99999999999999999999999999998", "n99999999999999999999999999999"});
  expect_round_trip(
      Names{"weft1:a", "pmix:b", "[1", "1]", "%41", "a,b", "a;b", "n[3:1-2]", "ü", "tab\there", " "});
}

TEST(NodeMap, random_names_round_trip) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  // Few letters and digits make near misses likely: equal prefixes, carries, leading zeros.
  const std::string alphabet = "aa--00112299[],%;:. ";
  for (int round = 0; round < 3000; ++round) {
    Names names(1 + random() % 12);
    for (auto& name : names) {
      const std::size_t length = 1 + random() % 6;
      for (std::size_t i = 0; i < length; ++i) name += alphabet[random() % alphabet.size()];
    }
    expect_round_trip(names);
  }
}

TEST(NodeMap, random_bytes_round_trip_or_fail) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    std::string text = round % 2 == 0 ? "weft1:" : "";
    const std::string alphabet = "ab019[]:-,;%*@+\n\x80";
    for (std::size_t left = random() % 20; left != 0; --left) text += alphabet[random() % alphabet.size()];
    if (const auto names = parse_node_map(text)) expect_round_trip(*names);
    if (const auto nodes = parse_proc_map(text)) expect_round_trip(*nodes);
  }
}

TEST(NodeMap, reads_plain_lists) {
  EXPECT_EQ(*parse_node_map("a"), (Names{"a"}));
  EXPECT_EQ(*parse_node_map("a,b-1,c[0]"), (Names{"a", "b-1", "c[0]"}));
  EXPECT_EQ(*parse_node_map("raw:a,b"), (Names{"a", "b"}));
  EXPECT_EQ(*parse_node_map(std::string_view("raw:\0a,b", 8)), (Names{"a", "b"}));
  EXPECT_EQ(*parse_node_map("weft,weftb:1"), (Names{"weft", "weftb:1"}));
}

TEST(NodeMap, refuses_malformed_text) {
  for (const char* text : {"",
                           ",",
                           "a,",
                           ",a",
                           "a,,b",
                           "weft1:",
                           "weft1:,",
                           "weft1:a,",
                           "weft1:a[",
                           "weft1:a[3",
                           "weft1:a[3:",
                           "weft1:a[3:1",
                           "weft1:a[3:1-",
                           "weft1:a[3:1-2",
                           "weft1:a[3:2-1]",
                           "weft1:a[:1-2]",
                           "weft1:a[19:1-2]",
                           "weft1:a[3:1-2]]",
                           "weft1:a[0:1-2][0:1-2]",
                           "weft1:a%",
                           "weft1:a%4",
                           "weft1:a%zz",
                           "weft1:%00",
                           "weft1:a b",
                           "weft1:a]",
                           "weft1:a[0:-1-2]",
                           "weft1:a[0:1-99999999999999999999]"}) {
    const auto names = parse_node_map(text);
    ASSERT_FALSE(names) << text;
    EXPECT_EQ(names.error().code, Errc::invalid) << text;
  }
  EXPECT_FALSE(parse_node_map(std::string_view("a\0b", 3)));
}

/// The texts that PMIx_generate_regex of Debian's libpmix 4.2.2 makes of each list.
TEST(NodeMap, reads_openpmix_names) {
  const std::pair<const char*, Names> known[] = {
      {"pmix[a]", {"a"}},
      {"pmix[a,b]", {"a", "b"}},
      {"pmix[node[1:1-3]]", {"node1", "node2", "node3"}},
      {"pmix[node[2:1-2,10]]", {"node01", "node02", "node10"}},
      {"pmix[n[1:1-3],x]", {"n1", "n2", "n3", "x"}},
      {"pmix[cn001.x.y,cn002.x.y]", {"cn001.x.y", "cn002.x.y"}},
      {"pmix[a[1:1]b1,a[1:1]b2,a[1:2]b1]", {"a1b1", "a1b2", "a2b1"}},
      {"pmix[node[1:9],node[2:10-11]]", {"node9", "node10", "node11"}},
      {"pmix[[1:1-3]]", {"1", "2", "3"}},
      {"pmix[login,node[3:1-3,5,100]]", {"login", "node001", "node002", "node003", "node005", "node100"}}};
  for (const auto& [text, names] : known) {
    const auto read = parse_node_map(text);
    ASSERT_TRUE(read) << text << ": " << read.error().what;
    EXPECT_EQ(*read, names) << text;
  }
  for (const char* text : {"pmix[", "pmix[]", "pmix[a", "pmix[a,]", "pmix[n[1:]]", "pmix[n[1:3-1]]",
                           "pmix[n[1:1-2]", "pmix[n[:1]]", "pmix[n[1:1-2]]]", "pmix[n[1:1,]]",
                           "pmix[n[99:1]]", "pmix[n[1:1-18446744073709551615]]",
                           "pmix[n[1:18446744073709551615-18446744073709551615]]", "pmix[a]b"}) {
    const auto read = parse_node_map(text);
    EXPECT_FALSE(read) << text;
  }
  EXPECT_EQ(parse_node_map("pmix[n[1:1-900000],m[1:1-900000]]").error().code, Errc::no_space);
}

TEST(NodeMap, reads_openpmix_ranks) {
  EXPECT_EQ(*parse_proc_map("pmix[0-3;4-7;8-9]"), (Nodes{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
  EXPECT_EQ(*parse_proc_map("pmix[0,2;1]"), (Nodes{{0, 2}, {1}}));
  for (const char* text : {"pmix[", "pmix[]", "pmix[0-3", "pmix[0;x]", "pmix[0]]"})
    EXPECT_FALSE(parse_proc_map(text));
}

TEST(NodeMap, text_of_a_map_in_a_value) {
  pmix_value_t value{};
  value.type = PMIX_REGEX;
  char raw[] = "raw:\0a,b\0rest", plain[] = "a,b";
  value.data.bo = {raw, sizeof raw};
  EXPECT_EQ(map_text(value), std::string_view("raw:\0a,b", 8));
  EXPECT_EQ(*parse_node_map(map_text(value)), (Names{"a", "b"}));
  value.data.bo = {plain, 3};  // without a NUL
  EXPECT_EQ(map_text(value), "a,b");
  value.data.bo = {nullptr, 3};
  EXPECT_EQ(map_text(value), "");
  value.type = PMIX_UINT32;
  EXPECT_EQ(map_text(value), "");
}

TEST(NodeMap, names_foreign_spellings) {
  for (const char* text : {"pmix:node[3:1-4]", "blob:x", "weft2:a", "weft10:a"}) {
    EXPECT_EQ(parse_node_map(text).error().code, Errc::not_supported) << text;
    EXPECT_EQ(parse_proc_map(text).error().code, Errc::not_supported) << text;
  }
}

TEST(NodeMap, bounds_what_it_expands) {
  EXPECT_EQ(parse_node_map("weft1:a[0:0-18446744073709551615]").error().code, Errc::no_space);
  EXPECT_EQ(parse_node_map("weft1:a[0:0-1048576]").error().code, Errc::no_space);
  EXPECT_EQ(parse_node_map("weft1:a[0:0-999999],b[0:0-999999]").error().code, Errc::no_space);
  const std::string long_name(4096, 'x');
  EXPECT_EQ(parse_node_map("weft1:" + long_name + "[0:0-999999]").error().code, Errc::no_space);
  EXPECT_EQ(parse_node_map("weft1:a[0:18446744073709551614-18446744073709551615]")->size(), 2U);
}

TEST(NodeMap, refuses_to_encode_what_cannot_be_read) {
  EXPECT_EQ(encode_node_map(Names{}).error().code, Errc::invalid);
  EXPECT_EQ(encode_node_map(Names{"a", ""}).error().code, Errc::invalid);
  EXPECT_EQ(encode_node_map(Names{std::string("a\0b", 3)}).error().code, Errc::invalid);
}

TEST(ProcMap, is_compact_for_regular_placements) {
  Nodes by_slot(10000), by_node(10000);
  for (std::uint32_t node = 0; node < 10000; ++node) {
    for (std::uint32_t i = 0; i < 64; ++i) {
      by_slot[node].push_back(node * 64 + i);
      by_node[node].push_back(node + i * 10000);
    }
  }
  EXPECT_EQ(encoded(by_slot), "weft1:0-63*10000@64");
  EXPECT_EQ(encoded(by_node), "weft1:0-630000+10000*10000@1");
  expect_round_trip(by_slot);
  expect_round_trip(by_node);
  EXPECT_EQ(encoded(Nodes{{0, 1, 2, 3}}), "weft1:0-3");
}

TEST(ProcMap, keeps_order_and_empty_nodes) {
  expect_round_trip(Nodes{{}});
  expect_round_trip(Nodes{{}, {}, {}});
  expect_round_trip(Nodes{{0}, {}, {1}});
  expect_round_trip(Nodes{{3, 2, 1, 0}});
  expect_round_trip(Nodes{{0, 0, 0}});
  expect_round_trip(Nodes{{0, 2}, {1, 3}, {4, 5, 6, 8, 10}});
  expect_round_trip(Nodes{{max_map_rank}, {0}});
}

TEST(ProcMap, random_ranks_round_trip) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    Nodes nodes(1 + random() % 8);
    for (auto& ranks : nodes) {
      std::uint32_t rank = random() % 8;
      for (std::size_t left = random() % 10; left != 0; --left) ranks.push_back(rank += random() % 3);
    }
    expect_round_trip(nodes);
  }
}

TEST(ProcMap, reads_plain_lists) {
  EXPECT_EQ(*parse_proc_map("0,1;2,3"), (Nodes{{0, 1}, {2, 3}}));
  EXPECT_EQ(*parse_proc_map("0-1;2-3"), (Nodes{{0, 1}, {2, 3}}));
  EXPECT_EQ(*parse_proc_map("1-4;2-5;8,10,11,12;6,7,9"),
            (Nodes{{1, 2, 3, 4}, {2, 3, 4, 5}, {8, 10, 11, 12}, {6, 7, 9}}));
  EXPECT_EQ(*parse_proc_map("0;;1"), (Nodes{{0}, {}, {1}}));
  EXPECT_EQ(*parse_proc_map("raw:5"), (Nodes{{5}}));
}

TEST(ProcMap, refuses_malformed_text) {
  for (const char* text : {"",
                           "a",
                           "0,",
                           "0-",
                           "-1",
                           "2-1",
                           "0,,1",
                           "0 1",
                           "0-4+2",
                           "0*2@1",
                           "4294967295",
                           "0-99999999999999999999",
                           "weft1:0*",
                           "weft1:0*2",
                           "weft1:0*2@",
                           "weft1:0*0@1",
                           "weft1:0-3+2",
                           "weft1:0-4+0",
                           "weft1:0,*2@1",
                           "weft1:0*2@4294967295",
                           "weft1:4294967200*2@100",
                           "weft1:0x",
                           "weft1:0*2@1*2@1"}) {
    const auto nodes = parse_proc_map(text);
    ASSERT_FALSE(nodes) << text;
    EXPECT_EQ(nodes.error().code, Errc::invalid) << text;
  }
}

TEST(ProcMap, bounds_what_it_expands) {
  EXPECT_FALSE(parse_proc_map("0-4294967295"));
  EXPECT_EQ(parse_proc_map("0-4294967243").error().code, Errc::no_space);
  EXPECT_EQ(parse_proc_map("0-16777216").error().code, Errc::no_space);
  EXPECT_EQ(parse_proc_map("0-9999999;0-9999999").error().code, Errc::no_space);
  EXPECT_EQ(parse_proc_map("weft1:0-999999*1000000@0").error().code, Errc::no_space);
  EXPECT_EQ(parse_proc_map("weft1:*18446744073709551615@0").error().code, Errc::no_space);
}

TEST(ProcMap, refuses_to_encode_reserved_ranks) {
  EXPECT_EQ(encode_proc_map(Nodes{}).error().code, Errc::invalid);
  EXPECT_EQ(encode_proc_map(Nodes{{max_map_rank + 1}}).error().code, Errc::invalid);
}

}  // namespace
}  // namespace weft::data
