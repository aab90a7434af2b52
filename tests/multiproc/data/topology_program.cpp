// SPDX-License-Identifier: BSD-3-Clause
// What a rank can do with its node's topology, on every node of a job alike. Run by weftrun.
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "tests/multiproc/harness/harness.hpp"
#include "tests/multiproc/harness/values.hpp"

namespace weft::test {
namespace {

using Text = std::unique_ptr<char, decltype(&std::free)>;

std::string text(char* from_malloc) {
  check(from_malloc != nullptr, "no text");
  return Text(from_malloc, &std::free).get();
}

/// A topology, printed by each call that prints values, names its source and this machine.
void print_topology() {
  pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
  check_status(PMIx_Load_topology(&topology), PMIX_SUCCESS);
  check(topology.topology != nullptr, "no topology");
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  const std::string words = "\"hwloc\" " + std::string(host) + ": ";
  pmix_value_t value{};
  value.type = PMIX_TOPO;
  value.data.topo = &topology;
  pmix_info_t info{};
  check_status(PMIx_Info_load(&info, PMIX_TOPOLOGY2, &topology, PMIX_TOPO), PMIX_SUCCESS);
  const auto of_value = text(PMIx_Value_string(&value)), of_info = text(PMIx_Info_string(&info));
  check(of_value.find(words) != of_value.npos, "a printed value is " + of_value);
  check(of_value.find(" hardware thread") != of_value.npos, "a printed value is " + of_value);
  check(of_info.find(words) != of_info.npos, "a printed info is " + of_info);
  PMIx_Info_destruct(&info);
  pmix_device_distance_t* distances = nullptr;
  size_t count = 0;
  pmix_cpuset_t here = PMIX_CPUSET_STATIC_INIT;
  check_status(PMIx_Get_cpuset(&here, PMIX_CPUBIND_PROCESS), PMIX_SUCCESS);
  check_status(PMIx_Compute_distances(&topology, &here, nullptr, 0, &distances, &count), PMIX_SUCCESS);
  check((distances == nullptr) == (count == 0), "distances and their number");
  if (distances != nullptr) PMIx_Device_distance_free(distances, count);
  PMIx_Cpuset_destruct(&here);
  PMIx_Topology_destruct(&topology);
}

/// A Get of the topology is the one of this process, which stays when the value goes; of another rank there
/// is none.
void get_topology(const Client& client) {
  pmix_topology_t loaded = PMIX_TOPOLOGY_STATIC_INIT;
  check_status(PMIx_Load_topology(&loaded), PMIX_SUCCESS);
  for (const auto* proc : {&client.me, &client.job, static_cast<const pmix_proc_t*>(nullptr)}) {
    pmix_value_t* value = nullptr;
    check_status(PMIx_Get(proc, PMIX_TOPOLOGY2, nullptr, 0, &value), PMIX_SUCCESS);
    check(value->type == PMIX_TOPO, "the type of the topology");
    check(value->data.topo->topology == loaded.topology, "the topology");
    PMIX_VALUE_RELEASE(value);
  }
  Waiter later;
  check_status(PMIx_Get_nb(&client.me, PMIX_TOPOLOGY2, nullptr, 0, Waiter::on_value, &later), PMIX_SUCCESS);
  check_status(later.wait(), PMIX_SUCCESS);
  const auto other = client.peer((client.me.rank + 1) % client.size);
  pmix_value_t* none = nullptr;
  check_status(PMIx_Get(&other, PMIX_TOPOLOGY2, nullptr, 0, &none), PMIX_ERR_NOT_FOUND);
  pmix_cpuset_t here = PMIX_CPUSET_STATIC_INIT;
  check_status(PMIx_Get_cpuset(&here, PMIX_CPUBIND_PROCESS), PMIX_SUCCESS);
  pmix_device_distance_t* distances = nullptr;
  size_t count = 0;
  check_status(PMIx_Compute_distances(&loaded, &here, nullptr, 0, &distances, &count), PMIX_SUCCESS);
  if (distances != nullptr) PMIx_Device_distance_free(distances, count);
  PMIx_Cpuset_destruct(&here);
  PMIx_Topology_destruct(&loaded);
}

/// Where the rank runs is where its key says that it is bound.
void compare_cpusets(const Client& client) {
  pmix_cpuset_t here = PMIX_CPUSET_STATIC_INIT, told = PMIX_CPUSET_STATIC_INIT;
  check_status(PMIx_Get_cpuset(&here, PMIX_CPUBIND_PROCESS), PMIX_SUCCESS);
  const auto key = get(client.me, PMIX_CPUSET);
  const std::string words = key.there() ? key.text() : "hwloc:0";
  check_status(PMIx_Parse_cpuset_string(words.c_str(), &told), PMIX_SUCCESS);
  if (key.there()) {
    pmix_value_t value{};
    value.type = PMIX_PROC_CPUSET;
    value.data.cpuset = &here;
    const auto printed = text(PMIx_Value_string(&value));
    check(printed.find(" " + words.substr(words.find(':') + 1)) != printed.npos,
          printed + " is not " + words);
  }
  PMIx_Cpuset_destruct(&here);
  PMIx_Cpuset_destruct(&told);
}

/// Every rank has a locality string, bound or not.
int has_a_topology(const Words&) {
  Client client;
  print_topology();
  get_topology(client);
  compare_cpusets(client);
  const auto mine = get(client.me, PMIX_LOCALITY_STRING);
  check_status(mine.status, PMIX_SUCCESS);
  for (pmix_rank_t r = 0; mine.there() && r < client.size; ++r) {
    const auto other = get(client.peer(r), PMIX_LOCALITY_STRING);
    pmix_locality_t shared = PMIX_LOCALITY_UNKNOWN;
    check_status(PMIx_Get_relative_locality(mine.text().c_str(), other.text().c_str(), &shared),
                 PMIX_SUCCESS);
    check((shared & PMIX_LOCALITY_SHARE_NODE) != 0, "not on one machine");
    check(r != client.me.rank || (shared & PMIX_LOCALITY_SHARE_CORE) != 0,
          "a rank shares its core with itself");
  }
  client.finalize();
  return 0;
}

}  // namespace

void add_topology_programs(Programs& programs) {
  programs.add("has_a_topology", has_a_topology);
}

}  // namespace weft::test
