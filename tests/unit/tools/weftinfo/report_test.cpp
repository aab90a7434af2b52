// SPDX-License-Identifier: BSD-3-Clause
// Values that are no report, or one with holes.
#include "tools/weftinfo/report.hpp"

#include <gtest/gtest.h>
#include <pmix.h>

namespace weft::weftinfo {
namespace {

/// An array of infos as a value.
struct List {
  pmix_data_array_t array{PMIX_INFO, 0, nullptr};
  std::vector<pmix_info_t> infos;
  pmix_value_t value{};

  const pmix_value_t& done() {
    array = {PMIX_INFO, infos.size(), infos.data()};
    value.type = PMIX_DATA_ARRAY;
    value.data.darray = &array;
    return value;
  }
  void add(const char* key, const pmix_value_t& of) {
    pmix_info_t& info = infos.emplace_back();
    std::snprintf(info.key, sizeof info.key, "%s", key);
    info.flags = 0;
    info.value = of;
  }
};

pmix_value_t number(std::uint32_t v) {
  pmix_value_t out{};
  out.type = PMIX_UINT32;
  out.data.uint32 = v;
  return out;
}

TEST(ReadCluster, refuses_what_is_no_report) {
  pmix_value_t value{};
  value.type = PMIX_UNDEF;
  EXPECT_FALSE(read_cluster(value));
  EXPECT_FALSE(read_cluster(number(3)));
  value.type = PMIX_DATA_ARRAY;  // of nothing
  EXPECT_FALSE(read_cluster(value));
  List empty;
  EXPECT_FALSE(read_cluster(empty.done()));
}

TEST(ReadCluster, makes_text_printable) {
  List node, nodes, report;
  pmix_value_t host{};
  host.type = PMIX_STRING;
  char escape[] = "\x1b[2J";
  host.data.string = escape;
  node.add(PMIX_HOSTNAME, host);
  nodes.add("weft.node", node.done());
  report.add("weft.nodes", nodes.done());
  EXPECT_EQ(read_cluster(report.done())->nodes.at(0).host, "\\x1b[2J");
}

TEST(ReadCluster, reads_nothing_where_the_type_is_another) {
  List node, nodes, report;
  node.add(PMIX_NODEID, number(2));
  node.add(PMIX_HOSTNAME, number(5));    // a string is expected
  node.add("weft.counters", number(5));  // an array
  nodes.add("weft.node", node.done());
  nodes.add("weft.node", number(1));  // an array of infos
  report.add("weft.nodes", nodes.done());
  report.add("weft.fences", number(1));
  const auto read = read_cluster(report.done());
  ASSERT_TRUE(read);
  const auto& cluster = *read;
  ASSERT_EQ(cluster.nodes.size(), 2U);
  EXPECT_EQ(cluster.nodes[0].number, 2U);
  EXPECT_EQ(cluster.nodes[0].host, "");
  EXPECT_TRUE(cluster.nodes[0].counters.empty());
  EXPECT_EQ(cluster.host_of(2), "node 2");
  EXPECT_TRUE(cluster.fences.empty());
}

}  // namespace
}  // namespace weft::weftinfo
