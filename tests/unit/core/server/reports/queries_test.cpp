// SPDX-License-Identifier: BSD-3-Clause
// What a server that is alone answers to queries, by key and by qualifier.
#include "core/server/reports/queries.hpp"

#include <map>

#include "core/data/types/array.hpp"
#include "tests/unit/core/server/clients/one_node.hpp"

namespace weft::server {
namespace {

class QueriesTest : public OneNode {
 protected:
  struct Answer {
    pmix_status_t status = PMIX_ERROR;
    data::Infos results;
    const pmix_value_t* of(const char* key) const {
      const auto* info = results.find(key);
      return info == nullptr ? nullptr : &info->value;
    }
    std::string text(const char* key) const {
      const auto* value = of(key);
      return value != nullptr && value->type == PMIX_STRING ? value->data.string : "no text";
    }
    std::vector<pmix_proc_info_t> table(const char* key) const {
      const auto* value = of(key);
      if (value == nullptr || value->type != PMIX_DATA_ARRAY || value->data.darray->type != PMIX_PROC_INFO)
        return {};
      const auto* first = static_cast<const pmix_proc_info_t*>(value->data.darray->array);
      return {first, first + value->data.darray->size};
    }
  };
  Answer ask(std::vector<std::string> keys, data::Infos qualifiers = {},
             const pmix_proc_t& caller = proc(1)) {
    link::Query query;
    query.items.push_back({std::move(keys), std::move(qualifiers)});
    Answer answer;
    rooms->queries.query(caller, std::move(query), [&](pmix_status_t status, data::Infos results) {
      answer.status = status;
      answer.results = std::move(results);
    });
    return answer;
  }
  template <class... More>
  static data::Infos with(const char* key, data::Value value, More... more) {
    data::Infos out;
    if constexpr (sizeof...(more) != 0) out = with(std::move(more)...);
    out.add(key, std::move(value));
    return out;
  }
};

TEST_F(QueriesTest, answers_what_it_knows_and_says_how_much) {
  const auto all = ask({PMIX_QUERY_NAMESPACES, PMIX_JOB_SIZE});
  EXPECT_EQ(all.status, PMIX_SUCCESS);
  EXPECT_EQ(all.text(PMIX_QUERY_NAMESPACES), "job");
  ASSERT_NE(all.of(PMIX_JOB_SIZE), nullptr);
  EXPECT_EQ(all.of(PMIX_JOB_SIZE)->data.uint32, 3u);
  const auto part = ask({PMIX_QUERY_NAMESPACES, "nobody.knows", PMIX_QUERY_QUEUE_LIST});
  EXPECT_EQ(part.status, PMIX_ERR_PARTIAL_SUCCESS);
  EXPECT_EQ(part.results.size(), 1u);
  EXPECT_EQ(ask({"nobody.knows"}).status, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(ask({}).status, PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(ask({PMIX_JOB_SIZE, PMIX_JOB_SIZE}).results.size(), 2u) << "a key twice is answered twice";
}

using Lines = std::map<std::string, std::string>;
/// By namespace, what runs in it.
Lines lines_in(const pmix_value_t* info_of_namespaces) {
  Lines out;
  if (info_of_namespaces == nullptr) return out;
  for (const auto& one : data::elements_of<pmix_info_t>(*info_of_namespaces, PMIX_INFO)) {
    EXPECT_STREQ(one.key, PMIX_QUERY_NAMESPACE_INFO);
    std::string name, line;
    for (const auto& info : data::elements_of<pmix_info_t>(one.value, PMIX_INFO))
      (data::key_of(info) == PMIX_NSPACE ? name : line) = info.value.data.string;
    out[name] = line;
  }
  return out;
}

TEST_F(QueriesTest, namespaces_are_told_with_what_runs_in_them) {
  data::Infos infos;
  infos.add(PMIX_JOB_SIZE, data::Value::of(std::uint32_t{1}));
  infos.add(PMIX_CMD_LINE, data::Value::of("a.out -x"));
  bool is_new = false;
  ASSERT_TRUE(rooms->jobs.register_job(rooms->jobs.announce("second"), 1, infos, is_new));
  const auto asked = ask({PMIX_QUERY_NAMESPACE_INFO});
  EXPECT_EQ(lines_in(asked.of(PMIX_QUERY_NAMESPACE_INFO)), (Lines{{"job", ""}, {"second", "a.out -x"}}));
  const auto one = ask({PMIX_QUERY_NAMESPACE_INFO}, with(PMIX_NSPACE, data::Value::of("second")));
  EXPECT_EQ(lines_in(one.of(PMIX_QUERY_NAMESPACE_INFO)), (Lines{{"second", "a.out -x"}}));
  EXPECT_EQ(ask({PMIX_QUERY_NAMESPACE_INFO}, with(PMIX_NSPACE, data::Value::of("third"))).status,
            PMIX_ERR_NOT_FOUND);
}

TEST_F(QueriesTest, namespaces_of_other_nodes_are_told_by_name) {
  const Processes processes(rooms->jobs, cluster);
  const QueryKeys keys(rooms->jobs, rooms->own_report, rooms->host_attributes, processes, rooms->process_sets,
                       rooms->groups.table(), cluster, rooms->calls);
  Gathered gathered;
  gathered.report.emplace().jobs = {{"job", 3, 2, {}, 0}, {"elsewhere", 2, 1, {}, 0}};
  const auto told = [&](const data::Infos& qualifiers) {
    const auto scope = QueryScope::parse(qualifiers, proc(1));
    const auto value = keys.answer(PMIX_QUERY_NAMESPACE_INFO, *scope, gathered);
    return value ? lines_in(&value->get()) : Lines{{"none", ""}};
  };
  EXPECT_TRUE(QueryKeys::needs_report(PMIX_QUERY_NAMESPACE_INFO, *QueryScope::parse({}, proc(1))));
  EXPECT_EQ(told({}), (Lines{{"job", ""}, {"elsewhere", ""}}));
  EXPECT_EQ(told(with(PMIX_NSPACE, data::Value::of("elsewhere"))), (Lines{{"elsewhere", ""}}));
  EXPECT_EQ(told(with(PMIX_QUERY_LOCAL_ONLY, data::Value::of(true))), (Lines{{"job", ""}}));
  EXPECT_EQ(told(with(PMIX_NSPACE, data::Value::of("nowhere"))), (Lines{{"none", ""}}));
}

TEST_F(QueriesTest, processes_of_other_nodes_are_told_by_their_servers) {
  const Processes processes(rooms->jobs, cluster);
  const QueryKeys keys(rooms->jobs, rooms->own_report, rooms->host_attributes, processes, rooms->process_sets,
                       rooms->groups.table(), cluster, rooms->calls);
  Gathered gathered;
  gathered.tables["elsewhere"] = {{0, 17, PMIX_PROC_STATE_CONNECTED, 1, "a", "./p"},
                                  {1, 18, PMIX_PROC_STATE_CONNECTED, 2, "b", "./p"}};
  gathered.tables["nowhere"] = {};
  const auto hosts = [&](data::Infos qualifiers) {
    std::vector<std::string> out;
    const auto scope = QueryScope::parse(qualifiers, proc(1));
    const auto value = keys.answer(PMIX_QUERY_PROC_TABLE, *scope, gathered);
    if (!value) return std::vector<std::string>{"none"};
    for (const auto& info : data::elements_of<pmix_proc_info_t>(value->get(), PMIX_PROC_INFO)) {
      EXPECT_EQ(info.pid, 17 + static_cast<pid_t>(info.proc.rank));
      EXPECT_STREQ(info.executable_name, "./p");
      out.emplace_back(info.hostname);
    }
    return out;
  };
  const auto named = [](const char* nspace) { return with(PMIX_NSPACE, data::Value::of(nspace)); };
  EXPECT_EQ(hosts(named("elsewhere")), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(hosts(named("nowhere")), (std::vector<std::string>{"none"}));
  auto of_b = named("elsewhere");
  of_b.add(PMIX_HOSTNAME, data::Value::of("b"));
  EXPECT_EQ(hosts(std::move(of_b)), (std::vector<std::string>{"b"}));
  auto of_node = named("elsewhere");
  of_node.add(PMIX_NODEID, data::Value::of(std::uint32_t{1}));
  EXPECT_EQ(hosts(std::move(of_node)), (std::vector<std::string>{"a"}));
  EXPECT_EQ(ask({PMIX_QUERY_PROC_TABLE}, named("nowhere")).status, PMIX_ERR_NOT_FOUND);
}

TEST_F(QueriesTest, the_uri_of_the_server_is_there_for_tools_too) {
  rooms->jobs.tell_server(self, "server.0;weft:name");
  const auto tool = link::make_proc("a.tool", 0);
  EXPECT_EQ(ask({PMIX_SERVER_URI}, {}, tool).text(PMIX_SERVER_URI), "server.0;weft:name");
  EXPECT_EQ(ask({PMIX_SERVER_URI}, with(PMIX_HOSTNAME, data::Value::of("elsewhere")), tool).status,
            PMIX_ERR_NOT_FOUND);
  data::Infos infos;
  infos.add(PMIX_JOB_SIZE, data::Value::of(std::uint32_t{1}));
  bool is_new = false;
  ASSERT_TRUE(rooms->jobs.register_job(rooms->jobs.announce("second"), 1, infos, is_new));
  EXPECT_EQ(ask({PMIX_SERVER_URI}, with(PMIX_NSPACE, data::Value::of("second")), tool).text(PMIX_SERVER_URI),
            "server.0;weft:name");
  EXPECT_EQ(ask({PMIX_SERVER_URI}, with(PMIX_NSPACE, data::Value::of("third")), tool).status,
            PMIX_ERR_NOT_FOUND);
}

TEST_F(QueriesTest, the_namespace_is_that_of_the_qualifiers_or_else_the_callers) {
  const auto tool = link::make_proc("", 0);
  EXPECT_EQ(ask({PMIX_JOB_SIZE}, {}, tool).status, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(ask({PMIX_JOB_SIZE}, with(PMIX_NSPACE, data::Value::of("job")), tool).status, PMIX_SUCCESS);
  EXPECT_EQ(
      ask({PMIX_JOB_SIZE}, with(PMIX_PROCID, data::Value::of_proc(proc(PMIX_RANK_WILDCARD))), tool).status,
      PMIX_SUCCESS);
  EXPECT_EQ(ask({PMIX_JOB_SIZE}, with(PMIX_NSPACE, data::Value::of("another"))).status, PMIX_ERR_NOT_FOUND);
  const auto rank =
      ask({PMIX_LOCAL_RANK}, with(PMIX_NSPACE, data::Value::of("job"), PMIX_RANK, data::Value::of_rank(2)));
  ASSERT_EQ(rank.status, PMIX_SUCCESS);
  EXPECT_EQ(rank.of(PMIX_LOCAL_RANK)->data.uint16, 2u);
}

TEST_F(QueriesTest, qualifiers_that_make_no_sense_are_refused) {
  EXPECT_EQ(ask({PMIX_JOB_SIZE},
                with(PMIX_PROCID, data::Value::of_proc(proc(1)), PMIX_RANK, data::Value::of_rank(1)))
                .status,
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(ask({PMIX_JOB_SIZE},
                with(PMIX_PROCID, data::Value::of_proc(proc(1)), PMIX_NSPACE, data::Value::of("job")))
                .status,
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(ask({PMIX_JOB_SIZE}, with(PMIX_NSPACE, data::Value::of(true))).status, PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(ask({PMIX_JOB_SIZE}, with(PMIX_PROCID, data::Value::of("job"))).status, PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(ask({PMIX_JOB_SIZE}, with(PMIX_RANK, data::Value::of("one"))).status, PMIX_ERR_BAD_PARAM);
}

TEST_F(QueriesTest, tables_of_processes_have_what_each_has_told) {
  enter(1);
  for (const char* key : {PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE}) {
    const auto table = ask({key}).table(key);
    ASSERT_EQ(table.size(), 3u) << key;
    for (const auto& row : table) {
      EXPECT_STREQ(row.proc.nspace, "job");
      EXPECT_EQ(row.pid, row.proc.rank == 1 ? ::getpid() : 0);
      EXPECT_EQ(row.state, row.proc.rank == 1 ? PMIX_PROC_STATE_CONNECTED : PMIX_PROC_STATE_LAUNCH_UNDERWAY);
    }
  }
  EXPECT_EQ(ask({PMIX_QUERY_PROC_TABLE}, with(PMIX_HOSTNAME, data::Value::of("elsewhere")))
                .table(PMIX_QUERY_PROC_TABLE)
                .size(),
            0u);
  const auto pid =
      ask({PMIX_PROC_PID, PMIX_PROC_STATE_STATUS}, with(PMIX_PROCID, data::Value::of_proc(proc(1))));
  ASSERT_EQ(pid.status, PMIX_SUCCESS);
  EXPECT_EQ(pid.of(PMIX_PROC_PID)->data.pid, ::getpid());
  EXPECT_EQ(pid.of(PMIX_PROC_STATE_STATUS)->data.state, PMIX_PROC_STATE_CONNECTED);
  EXPECT_EQ(ask({PMIX_PROC_PID}, with(PMIX_PROCID, data::Value::of_proc(proc(2)))).status,
            PMIX_ERR_NOT_FOUND);
}

TEST_F(QueriesTest, the_status_of_a_job_says_whether_a_process_was_lost) {
  auto& line = enter(1);
  const auto status = [&] {
    const auto answer = ask({PMIX_QUERY_JOB_STATUS});
    return answer.of(PMIX_QUERY_JOB_STATUS) == nullptr ? PMIX_ERROR
                                                       : answer.of(PMIX_QUERY_JOB_STATUS)->data.status;
  };
  EXPECT_EQ(status(), PMIX_SUCCESS);
  rooms->clients.closed(line.connection, false);
  EXPECT_EQ(status(), PMIX_ERR_PROC_TERM_WO_SYNC);
}

TEST_F(QueriesTest, what_is_not_there_is_none_of_it) {
  const auto answer =
      ask({PMIX_QUERY_NUM_PSETS, PMIX_QUERY_PSET_NAMES, PMIX_QUERY_SPAWN_SUPPORT, PMIX_QUERY_DEBUG_SUPPORT});
  EXPECT_EQ(answer.status, PMIX_SUCCESS);
  EXPECT_EQ(answer.of(PMIX_QUERY_NUM_PSETS)->type, PMIX_SIZE);
  EXPECT_EQ(answer.of(PMIX_QUERY_NUM_PSETS)->data.size, 0u);
  for (const char* key : {PMIX_QUERY_PSET_NAMES, PMIX_QUERY_SPAWN_SUPPORT, PMIX_QUERY_DEBUG_SUPPORT})
    EXPECT_EQ(answer.text(key), "") << key;
}

TEST_F(QueriesTest, memory_is_that_of_this_node) {
  enter(1);  // this process
  const auto answer = ask({PMIX_DAEMON_MEMORY, PMIX_CLIENT_AVG_MEMORY, PMIX_QUERY_MEMORY_USAGE});
  ASSERT_EQ(answer.status, PMIX_SUCCESS);
  EXPECT_GT(answer.of(PMIX_DAEMON_MEMORY)->data.fval, 0.5f);
  EXPECT_GT(answer.of(PMIX_CLIENT_AVG_MEMORY)->data.fval, 0.5f);
  EXPECT_EQ(answer.of(PMIX_QUERY_MEMORY_USAGE)->type, PMIX_DATA_ARRAY);
  EXPECT_EQ(ask({PMIX_DAEMON_MEMORY}, with(PMIX_HOSTNAME, data::Value::of("node"))).status, PMIX_SUCCESS);
  EXPECT_EQ(ask({PMIX_DAEMON_MEMORY}, with(PMIX_HOSTNAME, data::Value::of("elsewhere"))).status,
            PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(ask({PMIX_DAEMON_MEMORY}, with(PMIX_NODEID, data::Value::of(std::uint32_t{7}))).status,
            PMIX_ERR_NOT_FOUND);
}

TEST_F(QueriesTest, says_which_keys_and_qualifiers_it_takes) {
  const auto keys = ask({PMIX_QUERY_SUPPORTED_KEYS}).text(PMIX_QUERY_SUPPORTED_KEYS);
  EXPECT_NE(keys.find(PMIX_QUERY_PROC_TABLE), std::string::npos) << keys;
  const auto how = [] { return with(PMIX_QUERY_SUPPORTED_QUALIFIERS, data::Value::of(true)); };
  EXPECT_EQ(ask({PMIX_QUERY_NAMESPACES}, how()).text(PMIX_QUERY_NAMESPACES), PMIX_QUERY_LOCAL_ONLY);
  EXPECT_NE(ask({PMIX_JOB_SIZE}, how()).text(PMIX_JOB_SIZE).find(PMIX_NSPACE), std::string::npos);
  EXPECT_EQ(ask({"nobody.knows"}, how()).status, PMIX_ERR_NOT_FOUND);
}

}  // namespace
}  // namespace weft::server
