// SPDX-License-Identifier: BSD-3-Clause
// The C functions as a program sees them, in a process that is neither client nor server.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "pmix.h"
#include "pmix_server.h"

namespace {

std::string taken(char* text) {
  std::string out(text == nullptr ? "" : text);
  std::free(text);
  return out;
}

class CpusetFrom {
 public:
  explicit CpusetFrom(const char* text) {
    EXPECT_EQ(PMIx_Parse_cpuset_string(text, &raw_), PMIX_SUCCESS) << text;
  }
  CpusetFrom(const CpusetFrom&) = delete;
  ~CpusetFrom() { PMIx_Cpuset_destruct(&raw_); }
  pmix_cpuset_t* get() { return &raw_; }

 private:
  pmix_cpuset_t raw_ = PMIX_CPUSET_STATIC_INIT;
};

TEST(TopologyApi, loads_one_topology_for_the_process) {
  pmix_topology_t first = PMIX_TOPOLOGY_STATIC_INIT, second{::strdup("hwloc"), nullptr};
  ASSERT_EQ(PMIx_Load_topology(&first), PMIX_SUCCESS);
  ASSERT_EQ(PMIx_Load_topology(&second), PMIX_SUCCESS);
  EXPECT_STREQ(first.source, "hwloc");
  EXPECT_NE(first.topology, nullptr);
  EXPECT_EQ(first.topology, second.topology);
  PMIx_Topology_destruct(&first);
  EXPECT_EQ(first.topology, nullptr);
  char* text = nullptr;
  pmix_cpuset_t here = PMIX_CPUSET_STATIC_INIT;
  ASSERT_EQ(PMIx_Get_cpuset(&here, PMIX_CPUBIND_PROCESS), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_generate_locality_string(&here, &text), PMIX_SUCCESS)
      << "the other structure lives on";
  std::free(text);
  PMIx_Cpuset_destruct(&here);
  PMIx_Topology_destruct(&second);
}

TEST(TopologyApi, refuses_other_sources) {
  char other[] = "other";
  pmix_topology_t topology{other, nullptr};
  pmix_cpuset_t cpuset{other, nullptr};
  pmix_locality_t locality = 0;
  EXPECT_EQ(PMIx_Load_topology(&topology), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_Parse_cpuset_string("hwloc:0", &cpuset), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_Get_relative_locality("other:NM0", "hwloc:NM0", &locality), PMIX_ERR_NOT_SUPPORTED);
  cpuset.source = nullptr;
  EXPECT_EQ(PMIx_Parse_cpuset_string("other:0", &cpuset), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(cpuset.source, nullptr);
}

TEST(TopologyApi, refuses_null_and_nonsense) {
  pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
  pmix_cpuset_t cpuset = PMIX_CPUSET_STATIC_INIT;
  pmix_locality_t locality = 0;
  char* text = nullptr;
  pmix_device_distance_t* distances = nullptr;
  size_t count = 0;
  EXPECT_EQ(PMIx_Load_topology(nullptr), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Get_cpuset(nullptr, PMIX_CPUBIND_PROCESS), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Get_cpuset(&cpuset, 77), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Parse_cpuset_string(nullptr, &cpuset), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Parse_cpuset_string("hwloc:0-", &cpuset), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Parse_cpuset_string("0", nullptr), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Get_relative_locality(nullptr, "", &locality), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Get_relative_locality("", "", nullptr), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_server_generate_cpuset_string(&cpuset, &text), PMIX_ERR_BAD_PARAM) << "no bitmap";
  EXPECT_EQ(PMIx_server_generate_cpuset_string(nullptr, &text), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_server_generate_locality_string(&cpuset, &text), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Compute_distances(&topology, &cpuset, nullptr, 0, &distances, &count), PMIX_ERR_BAD_PARAM);
  PMIx_Topology_destruct(nullptr);
  PMIx_Cpuset_destruct(nullptr);
  EXPECT_EQ(text, nullptr);
}

TEST(TopologyApi, cpuset_strings_round_trip) {
  char* text = nullptr;
  CpusetFrom named("hwloc:0-3,8"), bare("1,2");
  EXPECT_STREQ(named.get()->source, "hwloc");
  ASSERT_EQ(PMIx_server_generate_cpuset_string(named.get(), &text), PMIX_SUCCESS);
  EXPECT_EQ(taken(text), "hwloc:0-3,8");
  ASSERT_EQ(PMIx_server_generate_cpuset_string(bare.get(), &text), PMIX_SUCCESS);
  EXPECT_EQ(taken(text), "hwloc:1-2");
  pmix_cpuset_t again = PMIX_CPUSET_STATIC_INIT;
  ASSERT_EQ(PMIx_server_generate_cpuset("hwloc:5", &again), PMIX_SUCCESS);
  PMIx_Cpuset_destruct(&again);
  EXPECT_EQ(again.bitmap, nullptr);
}

TEST(TopologyApi, a_process_shares_everything_with_itself) {
  pmix_cpuset_t here = PMIX_CPUSET_STATIC_INIT;
  ASSERT_EQ(PMIx_Get_cpuset(&here, PMIX_CPUBIND_THREAD), PMIX_SUCCESS);
  char* text = nullptr;
  ASSERT_EQ(PMIx_server_generate_locality_string(&here, &text), PMIX_SUCCESS);
  const std::string locality = taken(text);
  EXPECT_EQ(locality.substr(0, 6), "hwloc:");
  pmix_locality_t shared = 0;
  ASSERT_EQ(PMIx_Get_relative_locality(locality.c_str(), locality.c_str(), &shared), PMIX_SUCCESS);
  EXPECT_NE(shared & PMIX_LOCALITY_SHARE_NODE, 0);
  EXPECT_NE(shared & PMIX_LOCALITY_SHARE_HWTHREAD, 0);
  PMIx_Cpuset_destruct(&here);
}

TEST(TopologyApi, distances_are_filtered_by_type_and_name) {
  pmix_cpuset_t here = PMIX_CPUSET_STATIC_INIT;
  ASSERT_EQ(PMIx_Get_cpuset(&here, PMIX_CPUBIND_PROCESS), PMIX_SUCCESS);
  const auto count_with = [&](pmix_info_t* infos, size_t ninfos) {
    pmix_device_distance_t* distances = nullptr;
    size_t count = 0;
    EXPECT_EQ(PMIx_Compute_distances(nullptr, &here, infos, ninfos, &distances, &count), PMIX_SUCCESS);
    EXPECT_EQ(distances == nullptr, count == 0);
    for (size_t i = 0; i < count; ++i) EXPECT_LE(distances[i].mindist, distances[i].maxdist);
    PMIX_DEVICE_DIST_FREE(distances, count);
    return count;
  };
  const size_t all = count_with(nullptr, 0);  // may be 0: no device here that hwloc knows
  pmix_info_t filter{};
  std::strcpy(filter.key, PMIX_DEVICE_TYPE);
  filter.value.type = PMIX_DEVTYPE;
  size_t sum = 0;
  for (pmix_device_type_t bit = 1; bit <= PMIX_DEVTYPE_COPROC; bit <<= 1) {
    filter.value.data.devtype = bit;
    sum += count_with(&filter, 1);
  }
  EXPECT_EQ(sum, all) << "each device has one type";
  char absent[] = "no such device";
  std::strcpy(filter.key, PMIX_DEVICE_ID);
  filter.value.type = PMIX_STRING;
  filter.value.data.string = absent;
  EXPECT_EQ(count_with(&filter, 1), 0U);
  PMIx_Cpuset_destruct(&here);
}

TEST(TopologyApi, non_blocking_distances_need_a_role) {
  CpusetFrom cpuset("0");
  const auto callback = [](pmix_status_t, pmix_device_distance_t*, size_t, void*, pmix_release_cbfunc_t,
                           void*) { ADD_FAILURE() << "an error was returned: no callback"; };
  EXPECT_EQ(PMIx_Compute_distances_nb(nullptr, cpuset.get(), nullptr, 0, callback, nullptr), PMIX_ERR_INIT);
}

TEST(TopologyApi, maps_are_made_and_refused) {
  char* text = nullptr;
  ASSERT_EQ(PMIx_generate_regex("node001,node002,node003", &text), PMIX_SUCCESS);
  EXPECT_EQ(taken(text), "weft1:node[3:1-3]");
  ASSERT_EQ(PMIx_generate_ppn("0,1;2,3;4,5", &text), PMIX_SUCCESS);
  EXPECT_EQ(taken(text), "weft1:0-1*3@2");
  text = nullptr;
  EXPECT_EQ(PMIx_generate_regex(nullptr, &text), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_generate_regex("a,,b", &text), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_generate_ppn("0", nullptr), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_generate_ppn("1-0", &text), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(text, nullptr);
}

}  // namespace
