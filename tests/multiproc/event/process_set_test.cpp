// SPDX-License-Identifier: BSD-3-Clause
// Process sets that a host defines: what it may say, what its clients hear of and can ask.
#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

std::mutex heard_mutex;
std::vector<std::string> heard;  // code, name and members of each event

void on_set(size_t, pmix_status_t code, const pmix_proc_t*, pmix_info_t* infos, size_t ninfo, pmix_info_t*,
            size_t, pmix_event_notification_cbfunc_fn_t done, void* open) {
  std::string line = code == PMIX_PROCESS_SET_DEFINE ? "define" : "delete", members;
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIx_Check_key(infos[i].key, PMIX_PSET_NAME)) line += std::string(" ") + infos[i].value.data.string;
    if (!PMIx_Check_key(infos[i].key, PMIX_PSET_MEMBERS)) continue;
    const auto& array = *infos[i].value.data.darray;
    for (size_t m = 0; m < array.size; ++m)
      members += " " + std::to_string(static_cast<pmix_proc_t*>(array.array)[m].rank);
  }
  {
    const std::lock_guard lock(heard_mutex);
    heard.push_back(line + members);
  }
  done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, open);
}

/// Texts as they are; of an array "host.rank" of each process; a status where there is no answer.
std::string answer_to(const char* key, const char* set = nullptr) {
  char* keys[] = {const_cast<char*>(key), nullptr};
  Infos qualifiers;
  if (set != nullptr) qualifiers.text(PMIX_PSET_NAME, set);
  pmix_query_t query{keys, qualifiers.data(), qualifiers.size()};
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  const auto status = PMIx_Query_info(&query, 1, &results, &count);
  if (status != PMIX_SUCCESS) return PMIx_Error_string(status);
  const auto& value = results[0].value;
  std::string out;
  if (value.type == PMIX_SIZE) out = std::to_string(value.data.size);
  if (value.type == PMIX_STRING) out = value.data.string;
  if (value.type == PMIX_DATA_ARRAY)
    for (std::size_t i = 0; i < value.data.darray->size; ++i) {
      const auto& proc = static_cast<pmix_proc_t*>(value.data.darray->array)[i];
      out += (out.empty() ? "" : " ") + std::string(proc.nspace) + "." + std::to_string(proc.rank);
    }
  PMIX_INFO_FREE(results, count);
  return out;
}

/// Hears of sets that were defined before it came, and of those that come and go while it is there.
int hears_of_sets(const Words&) {
  Client client;
  for (const auto code : {PMIX_PROCESS_SET_DEFINE, PMIX_PROCESS_SET_DELETE}) {
    auto copy = code;
    check(PMIx_Register_event_handler(&copy, 1, nullptr, 0, on_set, nullptr, nullptr) >= 0, "no handler");
  }
  const auto expect_heard = [](std::size_t count, const std::string& last) {
    check(eventually([&] {
            const std::lock_guard lock(heard_mutex);
            return heard.size() == count && heard.back() == last;
          }),
          last);
  };
  expect_heard(2, "define both 0 1 2 0 1");
  check_equal(answer_to(PMIX_QUERY_NUM_PSETS), "2");
  check_equal(answer_to(PMIX_QUERY_PSET_NAMES), "both,odd");
  check_equal(answer_to(PMIX_QUERY_PSET_MEMBERSHIP, "odd"), "job.1");
  check_equal(answer_to(PMIX_QUERY_PSET_MEMBERSHIP, "both"), "job.0 job.1 job.2 other.0 other.1");
  check_equal(answer_to(PMIX_QUERY_PSET_MEMBERSHIP, "none"), PMIx_Error_string(PMIX_ERR_NOT_FOUND));
  check_equal(answer_to(PMIX_QUERY_PSET_MEMBERSHIP), PMIx_Error_string(PMIX_ERR_NOT_FOUND));
  say("has heard");
  await("go on");
  expect_heard(3, "delete odd");
  check_equal(answer_to(PMIX_QUERY_NUM_PSETS), "1");
  client.finalize();
  return 0;
}

class ProcessSetTest : public Multiproc, public ::testing::WithParamInterface<Segment> {};
INSTANTIATE_TEST_SUITE_P(Segment, ProcessSetTest,
                         ::testing::ValuesIn(ways({Segment::mapped, Segment::refused})),
                         [](const auto& way) { return name_of(way.param); });

TEST_P(ProcessSetTest, clients_hear_of_them_and_can_ask) {
  Host host;
  host.add_job("job", 3);
  host.add_job("other", 2);
  const pmix_proc_t odd[] = {proc_of("job", 1)};
  const pmix_proc_t both[] = {proc_of("other", 1), proc_of("job", PMIX_RANK_WILDCARD), proc_of("other", 0),
                              proc_of("job", 2)};
  EXPECT_EQ(PMIx_server_define_process_set(odd, 1, "odd"), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_define_process_set(both, 4, "both"), PMIX_SUCCESS);
  auto client = host.start("job", 0, "hears_of_sets", {}, reach(GetParam(), 0));
  client.expect("has heard");
  char name[] = "odd";
  EXPECT_EQ(PMIx_server_delete_process_set(name), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_delete_process_set(name), PMIX_ERR_NOT_FOUND);
  client.tell("go on");
  client.expect_success();
}

TEST_F(Multiproc, process_sets_that_make_no_sense) {
  Host host;
  host.add_job("job", 3);
  const pmix_proc_t member = proc_of("job", 1), no_rank = proc_of("job", 3), no_job = proc_of("none", 0);
  const std::string longest(PMIX_MAX_NSLEN, 'x'), too_long(PMIX_MAX_NSLEN + 1, 'x');
  EXPECT_EQ(PMIx_server_define_process_set(&member, 1, longest.c_str()), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_define_process_set(&member, 1, longest.c_str()), PMIX_ERR_EXISTS);
  EXPECT_EQ(PMIx_server_define_process_set(&member, 1, "job"), PMIX_ERR_EXISTS);
  for (const char* name : {static_cast<const char*>(nullptr), "", "a,b", too_long.c_str()})
    EXPECT_EQ(PMIx_server_define_process_set(&member, 1, name), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_server_define_process_set(nullptr, 1, "set"), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_server_define_process_set(&member, 0, "set"), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_server_define_process_set(&no_rank, 1, "set"), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(PMIx_server_define_process_set(&no_job, 1, "set"), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(PMIx_server_delete_process_set(nullptr), PMIX_ERR_BAD_PARAM);
  char none[] = "set";
  EXPECT_EQ(PMIx_server_delete_process_set(none), PMIX_ERR_NOT_FOUND);
}

TEST_F(Multiproc, process_sets_end_with_their_namespaces) {
  Host host;
  host.add_job("job", 2);
  host.add_job("other", 2);
  const pmix_proc_t all[] = {proc_of("job", PMIX_RANK_WILDCARD), proc_of("other", 1)},
                    some[] = {proc_of("other", 0)};
  EXPECT_EQ(PMIx_server_define_process_set(all, 2, "both"), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_define_process_set(some, 1, "other's"), PMIX_SUCCESS);
  EXPECT_EQ(answer_to(PMIX_QUERY_PSET_NAMES), "both,other's");
  PMIx_server_deregister_nspace("other", nullptr, nullptr);
  EXPECT_EQ(answer_to(PMIX_QUERY_PSET_NAMES), "both");
  EXPECT_EQ(answer_to(PMIX_QUERY_PSET_MEMBERSHIP, "both"), "job.0 job.1");
  PMIx_server_deregister_nspace("job", nullptr, nullptr);
  EXPECT_EQ(answer_to(PMIX_QUERY_NUM_PSETS), "0");
}

}  // namespace

void add_process_set_programs(Programs& programs) {
  programs.add("hears_of_sets", hears_of_sets);
}

}  // namespace weft::test
