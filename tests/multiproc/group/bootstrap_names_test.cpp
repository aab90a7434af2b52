// SPDX-License-Identifier: BSD-3-Clause
// Groups of leaders that do not know each other, of many names: a name decides at which server they come
// together, and under weftrun one server is there that has no process.
#include "tests/multiproc/group/group_calls.hpp"
#include "tests/multiproc/group/programs.hpp"
#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

constexpr int names = 30;

/// Rank 0 of each job leads, and brings all others of its job. members: by group rank.
void bootstrap(const Client& client, const std::string& name, std::uint64_t leaders, const Procs& members) {
  Infos infos;
  if (client.me.rank == 0)
    infos.unsigned64(PMIX_GROUP_BOOTSTRAP, leaders)
        .procs(PMIX_GROUP_ADD_MEMBERS, ranks_of(client, 0, client.size - 1));
  const auto made = construct(name, client.me.rank == 0 ? Procs{client.me} : Procs(), infos);
  check_status(made.status, PMIX_SUCCESS);
  check(is_same(made.members, members), "the members");
  check_status(destruct(name), PMIX_SUCCESS);
}

int bootstraps_of_many_names(const Words&) {
  Client client;
  for (int i = 0; i < names; ++i)
    bootstrap(client, "pr-" + std::to_string(i), 1, ranks_of(client, 0, client.size - 1));
  client.finalize();
  return 0;
}

/// Each job knows nothing of the other but how many leaders there are.
int bootstraps_of_two_jobs(const Words&) {
  Client client;
  Procs members;
  for (const char* job : {second_cluster_job, cluster_job})
    for (pmix_rank_t rank = 0; rank < client.size; ++rank) members.push_back(proc_of(job, rank));
  for (int i = 0; i < names; ++i) bootstrap(client, "pr-" + std::to_string(i), 2, members);
  client.finalize();
  return 0;
}

void run_under_weftrun(const char* nodes, const Variables& variables) {
  Child::Options options;
  options.before = {WEFTRUN, "--virtual-nodes", nodes, "-n", "6"};
  options.variables = variables;
  Child("bootstraps_of_many_names", {}, options).expect_success();
}

class BootstrapNamesTest : public Multiproc {};

TEST_F(BootstrapNamesTest, under_weftrun) {
  run_under_weftrun("1", {});
}

class ClusterBootstrapNamesTest : public ClusterTest {};
INSTANTIATE_TEST_SUITE_P(Over, ClusterBootstrapNamesTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& transport) { return transport.param; });

TEST_P(ClusterBootstrapNamesTest, under_weftrun) {
  for (const char* nodes : {"2", "3"}) run_under_weftrun(nodes, {{"WEFT_TRANSPORT", GetParam()}});
}
TEST_P(ClusterBootstrapNamesTest, of_two_jobs) {
  run("bootstraps_of_two_jobs");
}

}  // namespace

void add_bootstrap_name_programs(Programs& programs) {
  programs.add("bootstraps_of_many_names", bootstraps_of_many_names);
  programs.add("bootstraps_of_two_jobs", bootstraps_of_two_jobs);
}

}  // namespace weft::test
