// SPDX-License-Identifier: BSD-3-Clause
#include "tools/allocation/node_keys.hpp"

#include <gtest/gtest.h>

namespace weft::allocation {
namespace {

using job::NodeKey;

std::string wrong_with(const std::string& text) {
  job::KeyValues keys;
  const auto wrong = add_node_key(text, keys);
  EXPECT_EQ(keys.empty(), !wrong.empty()) << text;
  return wrong;
}

void expect_wrong(const std::string& text, const char* words) {
  EXPECT_NE(wrong_with(text).find(words), std::string::npos) << text << ": " << wrong_with(text);
}

TEST(NodeKeys, a_key_and_its_value) {
  job::KeyValues keys;
  EXPECT_EQ(add_node_key("net.port=7000", keys), "");
  EXPECT_EQ(add_node_key("a=b=c d\n", keys), "");
  EXPECT_EQ(add_node_key("net.port=7000", keys), "") << "the same again";
  EXPECT_EQ(keys, (job::KeyValues{{"net.port", "7000"}, {"a", "b=c d\n"}}));
  EXPECT_NE(add_node_key("a=x", keys), "");
  EXPECT_EQ(keys.size(), 2U);
}

TEST(NodeKeys, what_is_wrong_is_named) {
  expect_wrong("x", "the key 'x' has no value; write KEY=VALUE");
  expect_wrong("x=", "the key 'x' has no value");
  expect_wrong("", "names no key");
  expect_wrong("=v", "'=v' names no key");
  expect_wrong("pmix.hname=v", "'pmix.hname' is reserved");
  expect_wrong("pmix=v", "'pmix' is reserved");
  expect_wrong("weft.address=v", "'weft.address' is reserved");
  expect_wrong("a b=v", "has blanks");
  expect_wrong("a\n=v", "has blanks");
  expect_wrong(std::string("a=b\0c", 5), "zero byte");
}

TEST(NodeKeys, bounds) {
  const std::string key(NodeKey::longest_key, 'k'), value(NodeKey::longest_value, 'v');
  EXPECT_EQ(wrong_with(key + "=" + value), "");
  expect_wrong(key + "k=v", "has 512 bytes; it can have 511");
  expect_wrong("k=" + value + "v", "the value of 'k' has 4097 bytes; it can have 4096");
}

TEST(NodeKeys, of_two_lists) {
  job::KeyValues keys{{"a", "1"}};
  EXPECT_EQ(add_node_keys({{"b", "2"}, {"a", "1"}}, keys), "");
  EXPECT_EQ(keys, (job::KeyValues{{"a", "1"}, {"b", "2"}}));
  EXPECT_NE(add_node_keys({{"a", "2"}}, keys).find("'a' has a value already, '1'"), std::string::npos);
}

TEST(NodeKeys, nodes_that_are_alike_share_a_value) {
  EXPECT_EQ(job::node_key("k", {"v", "v", "v"}).values.size(), 1U);
  const auto key = job::node_key("k", {"v", "", "w"});
  EXPECT_EQ(key.values.size(), 3U);
  EXPECT_EQ(key.value_of(0), "v");
  EXPECT_EQ(key.value_of(1), "");
  EXPECT_EQ(key.value_of(3), "") << "a node behind those of the job";
  EXPECT_EQ(job::node_key("k", {"v", "v"}).value_of(1), "v");
}

}  // namespace
}  // namespace weft::allocation
