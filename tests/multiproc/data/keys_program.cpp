// SPDX-License-Identifier: BSD-3-Clause
// What an MPI library asks for right after PMIx_Init, with the types that it compares strictly. Run by
// weftrun.
#include <unistd.h>

#include "tests/multiproc/harness/harness.hpp"
#include "tests/multiproc/harness/values.hpp"

namespace weft::test {
namespace {

struct Key {
  const char* name;
  bool of_job;  ///< asked of {namespace, PMIX_RANK_WILDCARD}, else of a rank
  pmix_data_type_t type;
  bool may_miss;  ///< a value that only some launches have; its type counts if it is there
};

// The business-card document's list, and what Open MPI 4.1.4 and later ask for.
const Key keys[] = {
    {PMIX_NODE_LIST, true, PMIX_STRING, false},
    {PMIX_NUM_NODES, true, PMIX_UINT32, false},
    {PMIX_JOB_SIZE, true, PMIX_UINT32, false},
    {PMIX_PROC_MAP, true, PMIX_STRING, false},
    {PMIX_NODE_MAP, true, PMIX_STRING, false},
    {PMIX_LOCAL_PEERS, true, PMIX_STRING, false},
    {PMIX_LOCAL_SIZE, true, PMIX_UINT32, false},
    {PMIX_MAX_PROCS, true, PMIX_UINT32, false},
    {PMIX_UNIV_SIZE, true, PMIX_UINT32, false},
    {PMIX_JOB_NUM_APPS, true, PMIX_UINT32, false},
    {PMIX_LOCALLDR, true, PMIX_PROC_RANK, false},
    {PMIX_MAPBY, true, PMIX_STRING, false},
    {PMIX_NODEID, false, PMIX_UINT32, false},
    {PMIX_RANK, false, PMIX_PROC_RANK, false},
    {PMIX_LOCAL_RANK, false, PMIX_UINT16, false},
    {PMIX_NODE_RANK, false, PMIX_UINT16, false},
    {PMIX_GLOBAL_RANK, false, PMIX_PROC_RANK, false},
    {PMIX_APPNUM, false, PMIX_UINT32, false},
    {PMIX_APP_RANK, false, PMIX_PROC_RANK, false},
    {PMIX_APPLDR, false, PMIX_PROC_RANK, false},
    {PMIX_APP_SIZE, false, PMIX_UINT32, false},
    {PMIX_HOSTNAME, false, PMIX_STRING, false},
    {PMIX_LOCALITY_STRING, false, PMIX_STRING, true},
    {PMIX_CPUSET, false, PMIX_STRING, true},
    {PMIX_PACKAGE_RANK, false, PMIX_UINT16, true},
    {PMIX_TMPDIR, true, PMIX_STRING, true},
    {PMIX_NSDIR, true, PMIX_STRING, true},
    {PMIX_PROCDIR, true, PMIX_STRING, true},
    {PMIX_TDIR_RMCLEAN, true, PMIX_BOOL, true},
    {PMIX_TOPOLOGY_SIGNATURE, true, PMIX_STRING, true},
    {PMIX_AVAIL_PHYS_MEMORY, true, PMIX_UINT64, true},
    {PMIX_HWLOC_XML_V2, true, PMIX_STRING, true},
    {PMIX_WDIR, false, PMIX_STRING, true},
    {PMIX_APP_ARGV, false, PMIX_STRING, true},
    {PMIX_REINCARNATION, false, PMIX_UINT32, true},
    {PMIX_ANL_MAP, true, PMIX_STRING, true},
};

void ask(const Client& client, const Key& key, const pmix_proc_t& whom) {
  // Optional first: it must be here already, and no answer of the server's may be better.
  const auto here = get(whom, key.name, std::move(Infos().flag(PMIX_OPTIONAL)));
  const auto anywhere = get(whom, key.name);
  const auto name = std::string(key.name) + " of rank " + std::to_string(static_cast<int>(whom.rank));
  check(here.status == anywhere.status, name + ": optional or not makes a difference");
  check(here.there() || key.may_miss, name + " is missing: " + PMIx_Error_string(here.status));
  if (here.there())
    check(here.value().type == key.type, name + " has type " + std::to_string(here.value().type));
  check(client.size > whom.rank || whom.rank == PMIX_RANK_WILDCARD,
        "rank " + std::to_string(whom.rank) + " of " + std::to_string(client.size));
}

int all_keys(const Words&) {
  Client client;
  for (const auto& key : keys) {
    if (key.of_job) ask(client, key, client.job);
    for (pmix_rank_t r = 0; !key.of_job && r < client.size; ++r) ask(client, key, client.peer(r));
  }
  // And they say the truth.
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  check(get(client.me, PMIX_HOSTNAME).text() == host, "HOSTNAME");
  check_equal(get(client.me, PMIX_RANK).rank(), client.me.rank);
  check_equal(get(client.me, PMIX_LOCAL_RANK).u16(), client.me.rank);
  check_equal(get(client.job, PMIX_LOCAL_SIZE).u32(), client.size);
  const auto most = get(client.job, PMIX_MAX_PROCS).u32();
  check(most >= client.size,
        "MAX_PROCS " + std::to_string(most) + " of a job of " + std::to_string(client.size));
  std::string peers;
  for (pmix_rank_t r = 0; r < client.size; ++r) peers += (r == 0 ? "" : ",") + std::to_string(r);
  check(get(client.job, PMIX_LOCAL_PEERS).text() == peers, "LOCAL_PEERS");
  // A rank that is not there has none of them.
  for (const auto& key : keys)
    if (!key.of_job) check_status(get(client.peer(client.size + 3), key.name).status, PMIX_ERR_NOT_FOUND);
  client.finalize();
  return 0;
}

}  // namespace

void add_key_programs(Programs& programs) {
  programs.add("all_keys", all_keys);
}

}  // namespace weft::test
