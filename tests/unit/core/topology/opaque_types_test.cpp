// SPDX-License-Identifier: BSD-3-Clause
// Cpusets and topologies as values: copied, sent and compared by core/data with the module's help.
#include "core/topology/opaque_types.hpp"

#include <cstring>

#include "core/data/operations/print.hpp"
#include "core/data/types/element.hpp"
#include "core/data/types/value.hpp"
#include "core/topology/local.hpp"
#include "synthetic.hpp"

namespace weft::topology {
namespace {

using data::Value;

class OpaqueTypes : public testing::Test {
 protected:
  void SetUp() override { install_opaque_types(); }

  static Value sent(const Value& value) {
    data::Writer out;
    EXPECT_TRUE(data::encode_value(out, value.get()));
    data::Reader in(out.view());
    auto back = Value::decode(in);
    EXPECT_TRUE(back);
    return back ? std::move(*back) : Value();
  }
  static Value cpuset_value(std::string_view list) {
    pmix_cpuset_t raw{const_cast<char*>(source_name), nullptr};
    const auto cpuset = test::cpus(list);
    raw.bitmap = cpuset.get();
    pmix_value_t value{};
    value.type = PMIX_PROC_CPUSET;
    value.data.cpuset = &raw;
    return Value::copy_of(value).value();
  }
  static std::string list_in(const Value& value) {
    return test::module().format_cpuset(value.get().data.cpuset->bitmap).value_or("?");
  }
};

TEST_F(OpaqueTypes, cpusets_are_copied_and_sent) {
  const Value value = cpuset_value("0-3,9");
  EXPECT_EQ(list_in(value), "0-3,9");
  const Value back = sent(value);
  ASSERT_EQ(back.get().type, PMIX_PROC_CPUSET);
  EXPECT_STREQ(back.get().data.cpuset->source, "hwloc");
  EXPECT_EQ(list_in(back), "0-3,9");
  EXPECT_NE(back.get().data.cpuset->bitmap, value.get().data.cpuset->bitmap);
}

TEST_F(OpaqueTypes, topologies_are_copied_and_sent) {
  const auto topology = test::load(test::synthetic_xml(test::two_packages));
  pmix_topology_t raw{const_cast<char*>(source_name), topology.get()};
  pmix_value_t value{};
  value.type = PMIX_TOPO;
  value.data.topo = &raw;
  const Value copy = Value::copy_of(value).value();
  EXPECT_NE(copy.get().data.topo->topology, topology.get());
  const Value back = sent(copy);
  ASSERT_EQ(back.get().type, PMIX_TOPO);
  const auto cpus = test::cpus("5");
  EXPECT_EQ(test::module().locality(back.get().data.topo->topology, cpus.get()).value_or("?"),
            test::module().locality(topology.get(), cpus.get()).value_or("??"));
}

TEST_F(OpaqueTypes, are_printed_with_their_machine_and_its_parts) {
  const auto topology = test::load(test::synthetic_xml(test::two_packages));
  char source[] = "hwloc", other[] = "other";
  pmix_topology_t raw{source, topology.get()};
  const auto printed = [](pmix_data_type_t type, const void* element) {
    std::string out;
    data::print_element(out, type, element);
    return out;
  };
  EXPECT_EQ(printed(PMIX_TOPO, &raw).rfind("\"hwloc\" a machine without a name: 2 packages, ", 0), 0U)
      << printed(PMIX_TOPO, &raw);
  hwloc_obj_add_info(hwloc_get_root_obj(static_cast<hwloc_topology_t>(topology.get())), "HostName", "node7");
  EXPECT_EQ(printed(PMIX_TOPO, &raw).rfind("\"hwloc\" node7: 2 packages, ", 0), 0U);
  raw.source = other;  // what another library has made is not looked into
  EXPECT_EQ(printed(PMIX_TOPO, &raw), "\"other\"");
  raw = {source, nullptr};
  EXPECT_EQ(printed(PMIX_TOPO, &raw), "\"hwloc\"");
  EXPECT_EQ(printed(PMIX_PROC_CPUSET, cpuset_value("0-3,9").get().data.cpuset), "\"hwloc\" 0-3,9");
}

TEST_F(OpaqueTypes, the_nodes_own_topology_is_shared_by_its_copies) {
  const auto local = local_topology();
  ASSERT_TRUE(local);
  pmix_topology_t raw{const_cast<char*>(source_name), *local};
  pmix_value_t value{};
  value.type = PMIX_TOPO;
  value.data.topo = &raw;
  { EXPECT_EQ(Value::copy_of(value).value().get().data.topo->topology, *local); }
  EXPECT_TRUE(test::module().export_topology(*local)) << "it outlives every value";
}

TEST_F(OpaqueTypes, other_sources_are_not_touched) {
  int not_ours = 0;
  pmix_cpuset_t raw{const_cast<char*>("other"), &not_ours};
  pmix_value_t value{};
  value.type = PMIX_PROC_CPUSET;
  value.data.cpuset = &raw;
  EXPECT_FALSE(Value::copy_of(value));
  data::Writer out;
  EXPECT_FALSE(data::encode_value(out, value));
}

TEST_F(OpaqueTypes, handles_are_ended_with_their_source) {
  pmix_cpuset_t cpuset{::strdup(source_name), test::cpus("0-3").release()};
  data::destroy_elements(PMIX_PROC_CPUSET, &cpuset, 1);  // the sanitizer counts
  EXPECT_EQ(cpuset.bitmap, nullptr);
  EXPECT_EQ(cpuset.source, nullptr);
  pmix_topology_t topology{nullptr, test::load(test::synthetic_xml("core:2 pu:1")).release()};
  data::destroy_elements(PMIX_TOPO, &topology, 1);
  EXPECT_EQ(topology.topology, nullptr);
}

}  // namespace
}  // namespace weft::topology
