// SPDX-License-Identifier: BSD-3-Clause
// A job of a million ranks on ten thousand nodes, registered on one of them: what its map takes of that
// node's memory, and that clients read in it of any rank what the host has not said of that rank.
#include <pmix_server.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

constexpr std::uint32_t nodes = 10'000, ranks_a_node = 100, all = nodes * ranks_a_node;
constexpr std::uint32_t mine = nodes / 2;
constexpr pmix_rank_t first_here = mine * ranks_a_node, last_here = first_here + ranks_a_node - 1;

std::string name_of_node(std::uint32_t node) {
  return "node" + std::to_string(100'000 + node);
}

std::string peers_on(std::uint32_t node) {
  std::string out;
  for (std::uint32_t i = 0; i < ranks_a_node; ++i)
    out += (i == 0 ? "" : ",") + std::to_string(node * ranks_a_node + i);
  return out;
}

int read_million(const Words&) {
  const Client client;
  check_equal(client.size, all);
  check_equal(get(client.job, PMIX_NUM_NODES).u32(), nodes);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    const pmix_rank_t rank = (client.me.rank + i * 7919) % all;
    const auto peer = client.peer(rank);
    const auto node = rank / ranks_a_node;
    check_equal(get(peer, PMIX_NODEID).u32(), node);
    check_equal(get(peer, PMIX_LOCAL_RANK).u16(), rank % ranks_a_node);
    check_equal(get(peer, PMIX_HOSTNAME).text(), name_of_node(node));
    if (i % 100 == 0) check_equal(get(peer, PMIX_LOCAL_PEERS).text(), peers_on(node));
  }
  return 0;
}

/// Kilobytes of shared memory that this process has touched.
std::uint64_t shared_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssShmem:")) return std::stoull(line.substr(sizeof "RssShmem:"));
  ADD_FAILURE() << "no RssShmem in /proc/self/status";
  return 0;
}

/// As a host makes it: in its compact form.
std::string compact(pmix_status_t make(const char*, char**), const std::string& list) {
  char* made = nullptr;
  EXPECT_EQ(make(list.c_str(), &made), PMIX_SUCCESS);
  const std::string out = made == nullptr ? "" : made;
  std::free(made);
  return out;
}

Infos million() {
  std::string names, ranks;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const auto first = node * ranks_a_node;
    names += (node == 0 ? "" : ",") + name_of_node(node);
    ranks += (node == 0 ? "" : ";") + std::to_string(first) + "-" + std::to_string(first + ranks_a_node - 1);
  }
  Infos infos;
  infos.number(PMIX_JOB_SIZE, all).number(PMIX_NODEID, mine);
  infos.text(PMIX_NODE_MAP, compact(PMIx_generate_regex, names));
  infos.text(PMIX_PROC_MAP, compact(PMIx_generate_ppn, ranks));
  return infos;
}

}  // namespace

void add_large_job_programs(Programs& programs) {
  programs.add("read_million", read_million);
}

class LargeJobTest : public Multiproc {};

TEST_F(LargeJobTest, of_a_million_ranks_takes_32_bytes_a_rank) {
  Host host;
  auto infos = million();
  const auto before = shared_memory();
  host.add_job("million", ranks_a_node, infos);
  EXPECT_LE((shared_memory() - before) * 1024, std::uint64_t{32} * all);
  std::vector<Child> children;
  for (const auto rank : {first_here, last_here}) {
    host.add_client(proc_of("million", rank));
    children.push_back(host.start("million", rank, "read_million"));
  }
  expect_success(children);
}

}  // namespace weft::test
