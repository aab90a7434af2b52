// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/data/types/memory.hpp"
#include "core/data/types/types.hpp"
#include "pmix.h"
#include "tests/unit/core/data/samples.hpp"

namespace weft::data::test {
namespace {

/// create, fill with everything the type can own, free: asan sees what is left or freed twice.
template <class T>
void live_and_die(pmix_data_type_t type, T* (*create)(std::size_t), void (*construct)(T*),
                  void (*destruct)(T*), void (*release)(T*, std::size_t)) {
  SCOPED_TRACE(find_type(type)->name);
  ASSERT_EQ(sizeof(T), find_type(type)->width);
  Samples samples(19);
  EXPECT_EQ(create(0), nullptr);
  for (int round = 0; round < 10; ++round) {
    T* array = create(2);
    ASSERT_NE(array, nullptr);
    std::memset(static_cast<void*>(array), 0, 2 * sizeof(T));
    samples.fill(type, &array[1]);
    release(array, 2);
    T one;
    construct(&one);
    destruct(&one);  // an empty one owns nothing
    std::memset(static_cast<void*>(&one), 0, sizeof one);
    samples.fill(type, &one);
    destruct(&one);
    destruct(&one);  // twice does no harm
  }
  construct(nullptr);
  destruct(nullptr);
  release(nullptr, 3);
}

TEST(Structs, own_what_the_table_says) {
#define LIVE(name, type)                                                                    \
  live_and_die(type, PMIx_##name##_create, PMIx_##name##_construct, PMIx_##name##_destruct, \
               PMIx_##name##_free)
  LIVE(Proc, PMIX_PROC);
  LIVE(Proc_info, PMIX_PROC_INFO);
  LIVE(Byte_object, PMIX_BYTE_OBJECT);
  LIVE(Envar, PMIX_ENVAR);
  LIVE(Geometry, PMIX_GEOMETRY);
  LIVE(Device, PMIX_DEVICE);
  LIVE(Device_distance, PMIX_DEVICE_DIST);
  LIVE(Resource_unit, PMIX_RESOURCE_UNIT);
  LIVE(Endpoint, PMIX_ENDPOINT);
  LIVE(Topology, PMIX_TOPO);
  LIVE(Cpuset, PMIX_PROC_CPUSET);
  LIVE(Node_pid, PMIX_NODE_PID);
  LIVE(Nodepid, PMIX_NODE_PID);
  LIVE(Proc_stats, PMIX_PROC_STATS);
  LIVE(Disk_stats, PMIX_DISK_STATS);
  LIVE(Net_stats, PMIX_NET_STATS);
  LIVE(Node_stats, PMIX_NODE_STATS);
  LIVE(Pdata, PMIX_PDATA);
  LIVE(App, PMIX_APP);
  LIVE(Query, PMIX_QUERY);
  LIVE(Regattr, PMIX_REGATTR);
  LIVE(Regex2, PMIX_REGEX2);
  LIVE(Info, PMIX_INFO);
  LIVE(Value, PMIX_VALUE);
#undef LIVE
}

TEST(Structs, the_header_and_the_table_agree_on_element_sizes) {
  // Programs allocate data arrays with the macro and the library walks them with the table.
  for (unsigned type = 0; type < PMIX_DATA_TYPE_MAX; ++type) {
    const auto number = static_cast<pmix_data_type_t>(type);
    const std::size_t in_header = weft_element_size(number);
    if (in_header == 0) continue;
    ASSERT_NE(find_type(number), nullptr) << type;
    EXPECT_EQ(find_type(number)->width, in_header) << find_type(number)->name;
  }
}

TEST(Structs, constructors_leave_meaningful_defaults) {
  pmix_device_distance_t distance;
  PMIx_Device_distance_construct(&distance);
  EXPECT_EQ(distance.mindist, UINT16_MAX);
  pmix_fabric_t fabric;
  std::memset(&fabric, 0xff, sizeof fabric);
  PMIx_Fabric_construct(&fabric);
  EXPECT_EQ(fabric.info, nullptr);
  pmix_coord_t* coords = PMIx_Coord_create(3, 2);
  EXPECT_EQ(coords[1].dims, 3U);
  EXPECT_EQ(coords[1].coord[2], 0U);
  PMIx_Coord_free(coords, 2);
}

TEST(Structs, loads_copy_unless_they_say_otherwise) {
  char name[] = "PATH", text[] = "/bin";
  pmix_envar_t envar;
  PMIx_Envar_load(&envar, name, text, ':');
  EXPECT_NE(envar.envar, name);
  EXPECT_STREQ(envar.value, "/bin");
  EXPECT_EQ(envar.separator, ':');
  PMIx_Envar_destruct(&envar);

  pmix_byte_object_t object;
  PMIx_Byte_object_load(&object, new_text("abc"), 3);  // takes over
  PMIx_Byte_object_destruct(&object);

  pmix_proc_t proc;
  PMIx_Proc_load(&proc, "job", 4);
  pmix_pdata_t first, second;
  PMIx_Pdata_load(&first, &proc, "key", "data", PMIX_STRING);
  PMIx_Pdata_xfer(&second, &first);
  PMIx_Pdata_destruct(&first);
  EXPECT_STREQ(second.key, "key");
  EXPECT_STREQ(second.value.data.string, "data");
  EXPECT_EQ(second.proc.rank, 4U);
  PMIx_Pdata_destruct(&second);

  pmix_regattr_t attr, copy;
  PMIx_Regattr_construct(&attr);
  PMIx_Regattr_load(&attr, "NAME", "key", PMIX_INT, "what it does");
  PMIx_Regattr_xfer(&copy, &attr);
  PMIx_Regattr_destruct(&attr);
  EXPECT_STREQ(copy.name, "NAME");
  EXPECT_STREQ(copy.string, "key");
  EXPECT_EQ(copy.type, PMIX_INT);
  EXPECT_STREQ(copy.description[0], "what it does");
  PMIx_Regattr_destruct(&copy);
}

TEST(Structs, apps_and_queries_get_infos) {
  pmix_app_t* app = PMIx_App_create(1);
  PMIx_App_info_create(app, 2);
  EXPECT_EQ(app->ninfo, 2U);
  EXPECT_TRUE(PMIx_Info_is_end(&app->info[1]));
  PMIx_Argv_append_nosize(&app->argv, "x");
  PMIx_App_release(app);
  pmix_query_t* query = PMIx_Query_create(1);
  PMIx_Query_qualifiers_create(query, 1);
  EXPECT_EQ(query->nqual, 1U);
  PMIx_Query_release(query);
}

TEST(DataArray, holds_every_type_but_nothing) {
  for (const pmix_data_type_t type : all_types()) {
    SCOPED_TRACE(find_type(type)->name);
    pmix_data_array_t* array = PMIx_Data_array_create(3, type);
    EXPECT_EQ(array->type, type);
    EXPECT_EQ(array->size, type == PMIX_UNDEF ? 0U : 3U);
    PMIx_Data_array_free(array);
  }
  pmix_data_array_t array;
  PMIx_Data_array_construct(&array, 3, 777);
  EXPECT_EQ(array.size, 0U);
  EXPECT_EQ(array.array, nullptr);
  PMIx_Data_array_destruct(&array);
  PMIx_Data_array_init(&array, PMIX_INT);
  EXPECT_EQ(array.type, PMIX_INT);
  PMIx_Data_array_construct(&array, 2, PMIX_INFO);
  EXPECT_TRUE(PMIx_Info_is_end(&static_cast<pmix_info_t*>(array.array)[1]));
  PMIx_Data_array_destruct(&array);
  PMIx_Data_array_destruct(nullptr);
}

TEST(Procs, are_compared) {
  pmix_proc_t a, b;
  PMIx_Load_procid(&a, "job", 1);
  PMIx_Xfer_procid(&b, &a);
  EXPECT_TRUE(PMIx_Check_procid(&a, &b));
  b.rank = 2;
  EXPECT_FALSE(PMIx_Check_procid(&a, &b));
  b.rank = PMIX_RANK_WILDCARD;
  EXPECT_TRUE(PMIx_Check_procid(&a, &b));
  PMIx_Load_nspace(b.nspace, "other");
  EXPECT_FALSE(PMIx_Check_procid(&a, &b));
  PMIx_Load_nspace(b.nspace, nullptr);
  EXPECT_TRUE(PMIx_Check_procid(&a, &b)) << "an empty namespace is any";
  EXPECT_TRUE(PMIx_Procid_invalid(&b));
  EXPECT_FALSE(PMIx_Procid_invalid(&a));
  a.rank = PMIX_RANK_INVALID;
  EXPECT_TRUE(PMIx_Procid_invalid(&a));
  EXPECT_TRUE(PMIx_Procid_invalid(nullptr));
  EXPECT_TRUE(PMIx_Rank_valid(0));
  EXPECT_FALSE(PMIx_Rank_valid(PMIX_RANK_VALID));
  EXPECT_TRUE(PMIx_Check_nspace("a", "a"));
  EXPECT_FALSE(PMIx_Check_nspace("a", "ab"));
  EXPECT_TRUE(PMIx_Nspace_invalid(nullptr));
}

TEST(Keys, are_cut_and_checked) {
  pmix_key_t key;
  PMIx_Load_key(key, std::string(600, 'k').c_str());
  EXPECT_EQ(std::strlen(key), static_cast<std::size_t>(PMIX_MAX_KEYLEN));
  PMIx_Load_key(key, "k");
  EXPECT_TRUE(PMIx_Check_key(key, "k"));
  EXPECT_FALSE(PMIx_Check_key(key, "kk"));
  EXPECT_FALSE(PMIx_Check_key(key, nullptr));
  EXPECT_TRUE(PMIx_Check_reserved_key(PMIX_JOB_SIZE));
  EXPECT_FALSE(PMIx_Check_reserved_key("my.key"));
}

TEST(MultiCluster, joins_and_parts) {
  pmix_nspace_t joined, cluster, nspace, in_cluster = "cl", in_nspace = "ns";
  PMIx_Multicluster_nspace_construct(joined, in_cluster, in_nspace);
  EXPECT_STREQ(joined, "cl:ns");
  PMIx_Multicluster_nspace_parse(joined, cluster, nspace);
  EXPECT_STREQ(cluster, "cl");
  EXPECT_STREQ(nspace, "ns");
  std::memset(in_cluster, 'c', sizeof in_cluster);  // without a NUL
  PMIx_Multicluster_nspace_construct(joined, in_cluster, in_nspace);
  EXPECT_EQ(std::strlen(joined), static_cast<std::size_t>(PMIX_MAX_NSLEN));
  PMIx_Load_nspace(joined, "plain");
  PMIx_Multicluster_nspace_parse(joined, cluster, nspace);
  EXPECT_STREQ(cluster, "plain");
  EXPECT_STREQ(nspace, "");
}

using Strings = std::vector<std::string>;

Strings taken(char** argv) {
  Strings out;
  for (int i = 0; i < PMIx_Argv_count(argv); ++i) out.emplace_back(argv[i]);
  PMIx_Argv_free(argv);
  return out;
}

TEST(Argv, splits_and_joins) {
  EXPECT_EQ(taken(PMIx_Argv_split("a,b,,c,", ',')), (Strings{"a", "b", "c"}));
  EXPECT_EQ(taken(PMIx_Argv_split_with_empty("a,b,,c,", ',')), (Strings{"a", "b", "", "c"}));
  EXPECT_EQ(PMIx_Argv_split("", ','), nullptr);
  EXPECT_EQ(PMIx_Argv_split(nullptr, ','), nullptr);
  EXPECT_EQ(PMIx_Argv_split(",", ','), nullptr);
  char** argv = PMIx_Argv_split_inter("a,,b", ',', true);
  char* joined = PMIx_Argv_join(argv, ':');
  EXPECT_STREQ(joined, "a::b");
  std::free(joined);
  EXPECT_EQ(taken(PMIx_Argv_copy(argv)), (Strings{"a", "", "b"}));
  PMIx_Argv_free(argv);
  joined = PMIx_Argv_join(nullptr, ':');
  EXPECT_STREQ(joined, "");
  std::free(joined);
  EXPECT_EQ(PMIx_Argv_copy(nullptr), nullptr);
  EXPECT_EQ(PMIx_Argv_count(nullptr), 0);
}

TEST(Argv, grows) {
  char** argv = nullptr;
  EXPECT_EQ(PMIx_Argv_append_nosize(&argv, "b"), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Argv_prepend_nosize(&argv, "a"), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Argv_append_unique_nosize(&argv, "a"), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Argv_append_unique_nosize(&argv, "c"), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Argv_append_nosize(&argv, nullptr), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Argv_append_nosize(nullptr, "x"), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(taken(argv), (Strings{"a", "b", "c"}));
}

TEST(Setenv, changes_the_given_environment_only) {
  char** env = nullptr;
  EXPECT_EQ(PMIx_Setenv("WEFT_TEST_A", "1", true, &env), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Setenv("WEFT_TEST_A", "2", false, &env), PMIX_ERR_EXISTS);
  EXPECT_EQ(PMIx_Setenv("WEFT_TEST_AB", "3", true, &env), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Setenv("WEFT_TEST_A", "4", true, &env), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Setenv(nullptr, "4", true, &env), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(taken(env), (Strings{"WEFT_TEST_A=4", "WEFT_TEST_AB=3"}));
  EXPECT_EQ(std::getenv("WEFT_TEST_A"), nullptr);
}

TEST(SystemEvent, is_a_range) {
  EXPECT_TRUE((PMIx_System_event)(PMIX_EVENT_NODE_DOWN));
  EXPECT_TRUE((PMIx_System_event)(PMIX_EVENT_SYS_OTHER));
  EXPECT_FALSE((PMIx_System_event)(PMIX_ERR_NOT_FOUND));
}

}  // namespace
}  // namespace weft::data::test
