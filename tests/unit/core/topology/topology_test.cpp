// SPDX-License-Identifier: BSD-3-Clause
#include <fstream>
#include <thread>

#include "core/topology/local.hpp"
#include "core/topology/locality.hpp"
#include "synthetic.hpp"

namespace weft::topology {
namespace {

using test::cpus;
using test::load;
using test::module;

std::string locality(const test::Topology& topology, std::string_view list) {
  return module().locality(topology.get(), cpus(list).get()).value_or("error");
}

TEST(Topology, locality_names_every_level) {
  const auto topology = load(test::synthetic_xml(test::two_packages));
  EXPECT_EQ(locality(topology, "0"), "NM0:SK0:L30:L20:L10:CR0:HT0");
  EXPECT_EQ(locality(topology, "1"), "NM0:SK0:L30:L20:L10:CR0:HT1");
  EXPECT_EQ(locality(topology, "2-3"), "NM0:SK0:L30:L20:L11:CR1:HT2-3");
  EXPECT_EQ(locality(topology, "0,15"), "NM0-1:SK0-1:L30-1:L20,3:L10,7:CR0,7:HT0,15");
  EXPECT_EQ(locality(topology, "15,900"), "NM1:SK1:L31:L23:L17:CR7:HT15");
}

TEST(Topology, locality_leaves_out_what_is_missing) {
  const auto topology = load(test::synthetic_xml("core:2 pu:1"));
  EXPECT_EQ(locality(topology, "1"), "NM0:CR1:HT1");
}

TEST(Topology, locality_of_nothing_is_an_error) {
  const auto topology = load(test::synthetic_xml(test::two_packages));
  EXPECT_EQ(module().locality(topology.get(), cpus("").get()).error().code, Errc::invalid);
  EXPECT_EQ(module().locality(topology.get(), cpus("16-99").get()).error().code, Errc::invalid);
}

TEST(Topology, localities_of_all_pairs_compare_as_the_tree_says) {
  const auto topology = load(test::synthetic_xml(test::two_packages));
  for (unsigned a = 0; a < 16; ++a) {
    for (unsigned b = 0; b < 16; ++b) {
      unsigned expected = PMIX_LOCALITY_SHARE_NODE;
      if (a / 8 == b / 8)
        expected |= PMIX_LOCALITY_SHARE_PACKAGE | PMIX_LOCALITY_SHARE_NUMA | PMIX_LOCALITY_SHARE_L3CACHE;
      if (a / 4 == b / 4) expected |= PMIX_LOCALITY_SHARE_L2CACHE;
      if (a / 2 == b / 2) expected |= PMIX_LOCALITY_SHARE_L1CACHE | PMIX_LOCALITY_SHARE_CORE;
      if (a == b) expected |= PMIX_LOCALITY_SHARE_HWTHREAD;
      const auto shared = relative_locality("hwloc:" + locality(topology, std::to_string(a)),
                                            locality(topology, std::to_string(b)));
      ASSERT_EQ(shared.value_or(0), expected) << a << " " << b;
    }
  }
}

TEST(Topology, survives_xml_and_copy) {
  const auto topology = load(test::synthetic_xml(test::two_packages));
  const auto xml = module().export_topology(topology.get());
  ASSERT_TRUE(xml);
  EXPECT_EQ(locality(load(*xml), "5"), locality(topology, "5"));
  const test::Topology copy(module().copy_topology(topology.get()).value());
  EXPECT_NE(copy.get(), topology.get());
  EXPECT_EQ(locality(copy, "5"), locality(topology, "5"));
}

TEST(Topology, refuses_what_is_no_xml) {
  for (const char* text : {"", "<", "hello", "<?xml version=\"1.0\"?><topology version=\"2.0\">"}) {
    EXPECT_EQ(module().load_topology(text, Origin::elsewhere).error().code, Errc::invalid) << text;
  }
}

TEST(Topology, the_processors_alone_say_the_same_localities) {
  const auto whole = local_topology();
  ASSERT_TRUE(whole);
  const auto processors = test::module().load_processors();
  ASSERT_TRUE(processors);
  const auto mine = test::module().current_cpuset(true);
  ASSERT_TRUE(mine);
  // Caches that only the x86 component finds are not among them.
  const auto by_whole = test::module().locality(*whole, *mine);
  const auto by_processors = test::module().locality(*processors, *mine);
  ASSERT_TRUE(by_whole);
  ASSERT_TRUE(by_processors);
  for (const std::string_view kind : {"NM", "SK", "CR", "HT"}) {
    const auto level = [&](const std::string& text) {
      const auto at = text.find(kind);
      return at == std::string::npos ? std::string() : text.substr(at, text.find(':', at) - at);
    };
    EXPECT_EQ(level(*by_processors), level(*by_whole));
  }
  test::module().destroy_cpuset(*mine);
  test::module().destroy_topology(*processors);
}

TEST(Topology, of_this_node_is_one_for_all_threads) {
  void* seen[4] = {};
  std::vector<std::thread> threads;
  for (auto& place : seen) threads.emplace_back([&place] { place = local_topology().value_or(nullptr); });
  for (auto& thread : threads) thread.join();
  ASSERT_NE(seen[0], nullptr);
  for (void* const other : seen) EXPECT_EQ(other, seen[0]);
  EXPECT_TRUE(is_local(seen[0]));
  const test::Cpuset here(module().current_cpuset(false).value());
  EXPECT_TRUE(module().locality(seen[0], here.get())) << "this thread runs on this node";
}

TEST(Topology, sources_are_recognised) {
  for (const char* ours : {"hwloc", "HWLOC", "hwloc:2.9.0"}) EXPECT_TRUE(is_our_source(ours)) << ours;
  for (const char* other : {"", "hwlo", "hwloc2", "other"}) EXPECT_FALSE(is_our_source(other)) << other;
  EXPECT_EQ(*without_source("hwloc:0-3"), "0-3");
  EXPECT_EQ(*without_source("0-3"), "0-3");
  EXPECT_EQ(*without_source("hwloc:"), "");
  EXPECT_EQ(*without_source("hwloc"), "");
  EXPECT_EQ(without_source("numa:0-3").error().code, Errc::not_supported);
}

}  // namespace
}  // namespace weft::topology
