// SPDX-License-Identifier: BSD-3-Clause
// The attributes of PMIx_Spawn as words of weftrun's command line.
#include "tools/host/requests/spawn_call.hpp"

#include <gtest/gtest.h>
#include <pmix.h>

#include <string>
#include <utility>
#include <vector>

#include "tools/host/info_list.hpp"

namespace weft::host {
namespace {

using Words = std::vector<std::string>;
using How = job::EnvironmentSetting::How;

/// A program as a caller has it.
struct Program {
  explicit Program(Words of, Words set = {}, std::string in = {}, int count = 1)
      : words(std::move(of)), variables(std::move(set)), directory(std::move(in)), ranks(count) {}
  Words words, variables;
  std::string directory;
  int ranks;
  InfoList infos;

  pmix_app_t app() {
    for (auto& word : words) argv_.push_back(word.data());
    argv_.push_back(nullptr);
    for (auto& variable : variables) env_.push_back(variable.data());
    env_.push_back(nullptr);
    pmix_app_t out = PMIX_APP_STATIC_INIT;
    out.argv = argv_.data();
    out.env = env_.data();
    out.cwd = directory.data();
    out.maxprocs = ranks;
    out.info = infos.data();
    out.ninfo = infos.size();
    return out;
  }

 private:
  std::vector<char*> argv_, env_;
};

const pmix_proc_t parent{"job", 3};

pmix_status_t read(InfoList& infos, Program& program, job::SpawnRequest& out) {
  const auto app = program.app();
  return read_spawn_call(parent, infos.data(), infos.size(), &app, 1, out);
}

pmix_status_t status_of(InfoList infos) {
  Program program(Words{"p"});
  job::SpawnRequest request;
  return read(infos, program, request);
}

TEST(SpawnCall, attributes_are_options) {
  InfoList infos;
  infos.add_string(PMIX_MAPBY, "node");
  infos.add_string(PMIX_PPR, "2:node");
  infos.add_u32(PMIX_CPUS_PER_PROC, 3);
  infos.add_bool(PMIX_TAG_OUTPUT, true);
  infos.add_bool(PMIX_TIMESTAMP_OUTPUT, false);
  infos.add_bool(PMIX_JOB_CONTINUOUS, true);
  infos.add_bool(PMIX_NO_OVERSUBSCRIBE, true);
  infos.add_int(PMIX_TIMEOUT, 7);
  Program program({"p", ":", "-n"}, {"A=b=c"}, "/tmp", 4);
  program.infos.add_string(PMIX_HOST, "a,b");
  job::SpawnRequest request;
  ASSERT_EQ(read(infos, program, request), PMIX_SUCCESS);
  EXPECT_EQ(request.parent, (job::ProcessName{"job", job::Rank{3}}));
  EXPECT_EQ(request.words, (Words{"--map-by", "node", "--map-by", "ppr:2:node", "--cpus-per-rank", "3",
                                  "--tag-output", "--on-failure", "continue"}));
  EXPECT_EQ(request.may_oversubscribe, false);
  EXPECT_EQ(request.start_seconds, 7u);
  ASSERT_EQ(request.programs.size(), 1u);
  const auto& only = request.programs[0];
  EXPECT_EQ(only.words, (Words{"--wdir", "/tmp", "--host", "a,b"}));
  EXPECT_EQ(only.argv, (Words{"p", ":", "-n"}));
  EXPECT_EQ(only.ranks, 4u);
  ASSERT_EQ(only.settings.size(), 1u);
  EXPECT_EQ(only.settings[0].name + "|" + *only.settings[0].value, "A|b=c");
}

TEST(SpawnCall, changes_of_the_environment_keep_their_order) {
  InfoList infos;
  infos.add_variable(PMIX_SET_ENVAR, "A", "1");
  infos.add_variable(PMIX_PREPEND_ENVAR, "B", "2", ';');
  infos.add_string(PMIX_UNSET_ENVAR, "C");
  Program program({"p"}, {"D=4"});
  job::SpawnRequest request;
  ASSERT_EQ(read(infos, program, request), PMIX_SUCCESS);
  const auto& settings = request.programs[0].settings;
  ASSERT_EQ(settings.size(), 4u);
  EXPECT_EQ(settings[0].how, How::set);
  EXPECT_EQ(settings[1].how, How::prepend);
  EXPECT_EQ(settings[1].separator, ';');
  EXPECT_EQ(settings[2].how, How::unset);
  EXPECT_EQ(settings[3].name, "D") << "a program's own come behind those of the job";
}

TEST(SpawnCall, ranks_that_stop_for_a_debugger) {
  InfoList infos;
  infos.add_bool(PMIX_DEBUG_STOP_ON_EXEC, true);
  infos.add_rank(PMIX_DEBUG_STOP_IN_INIT, job::Rank{2});
  infos.add_ranks(PMIX_DEBUG_STOP_IN_APP, {job::Rank{1}, job::Rank{3}});
  Program program(Words{"p"});
  program.infos.add_procs(PMIX_DEBUG_STOP_IN_INIT, {{"job", 0}, {"job", PMIX_RANK_WILDCARD}});
  program.infos.add_bool(PMIX_DEBUG_STOP_ON_EXEC, false);
  job::SpawnRequest request;
  ASSERT_EQ(read(infos, program, request), PMIX_SUCCESS);
  EXPECT_EQ(request.words, (Words{"--stop-on-exec=all", "--stop-in-init=2", "--stop-in-app=1,3"}));
  EXPECT_EQ(request.programs[0].words, (Words{"--stop-in-init=all", "--stop-on-exec=none"}));
  for (const char* key : {PMIX_DEBUG_STOP_ON_EXEC, PMIX_DEBUG_STOP_IN_INIT, PMIX_DEBUG_STOP_IN_APP}) {
    InfoList text, texts;
    text.add_string(key, "all");
    EXPECT_EQ(status_of(std::move(text)), PMIX_ERR_BAD_PARAM);
    texts.add_strings(key, {"0"});
    EXPECT_EQ(status_of(std::move(texts)), PMIX_ERR_BAD_PARAM);
  }
}

TEST(SpawnCall, daemons_of_a_debugger) {
  InfoList infos;
  infos.add_proc(PMIX_DEBUG_TARGET, {"target", 5});
  Program program({"d"}, {}, {}, 0);
  program.infos.add_bool(PMIX_DEBUGGER_DAEMONS, true);
  program.infos.add_u16(PMIX_DEBUG_DAEMONS_PER_NODE, 2);
  job::SpawnRequest request;
  ASSERT_EQ(read(infos, program, request), PMIX_SUCCESS);
  const auto& daemons = request.programs[0].daemons;
  EXPECT_TRUE(daemons.are_meant);
  EXPECT_EQ(daemons.target, (job::ProcessName{"target", job::Rank{5}}));
  EXPECT_EQ(daemons.per_node, 2u);
  EXPECT_EQ(daemons.per_process, 0u);
}

TEST(SpawnCall, daemons_that_no_process_is_for_are_refused) {
  const auto status = [](bool has_target, bool names_both) {
    InfoList infos;
    infos.add_bool(PMIX_DEBUGGER_DAEMONS, true);
    if (has_target) infos.add_proc(PMIX_DEBUG_TARGET, {"target", 5});
    infos.add_u16(PMIX_DEBUG_DAEMONS_PER_NODE, 2);
    if (names_both) infos.add_u16(PMIX_DEBUG_DAEMONS_PER_PROC, 2);
    return status_of(std::move(infos));
  };
  EXPECT_EQ(status(true, false), PMIX_SUCCESS);
  EXPECT_EQ(status(false, false), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status(true, true), PMIX_ERR_BAD_PARAM);
  InfoList no_process, too_many;
  no_process.add_string(PMIX_DEBUG_TARGET, "target");
  EXPECT_EQ(status_of(std::move(no_process)), PMIX_ERR_BAD_PARAM);
  too_many.add_u32(PMIX_DEBUG_DAEMONS_PER_NODE, job::most_ranks_a_node + 1);
  EXPECT_EQ(status_of(std::move(too_many)), PMIX_ERR_BAD_PARAM);
}

TEST(SpawnCall, what_makes_no_sense_is_refused) {
  InfoList wrong_type, wrong_number, unknown, required;
  wrong_type.add_bool(PMIX_MAPBY, true);
  EXPECT_EQ(status_of(std::move(wrong_type)), PMIX_ERR_BAD_PARAM);
  wrong_number.add_int(PMIX_JOB_TIMEOUT, -1);
  EXPECT_EQ(status_of(std::move(wrong_number)), PMIX_ERR_BAD_PARAM);
  unknown.add_string("no.such", "x");
  EXPECT_EQ(status_of(std::move(unknown)), PMIX_SUCCESS);
  required.add_string("no.such", "x");
  PMIX_INFO_REQUIRED(&required.data()[0]);
  EXPECT_EQ(status_of(std::move(required)), PMIX_ERR_NOT_SUPPORTED);
  job::SpawnRequest request;
  InfoList none;
  EXPECT_EQ(read_spawn_call(parent, nullptr, 0, nullptr, 0, request), PMIX_ERR_BAD_PARAM);
  Program without_name(Words{});
  EXPECT_EQ(read(none, without_name, request), PMIX_ERR_JOB_NO_EXE_SPECIFIED);
  Program of_nothing({"p"}, {}, {}, 0);
  EXPECT_EQ(read(none, of_nothing, request), PMIX_ERR_BAD_PARAM);
  Program of_less({"p"}, {}, {}, -1);
  EXPECT_EQ(read(none, of_less, request), PMIX_ERR_BAD_PARAM);
  Program no_variable({"p"}, {"A"});
  EXPECT_EQ(read(none, no_variable, request), PMIX_ERR_BAD_PARAM);
  pmix_app_t many[1] = {PMIX_APP_STATIC_INIT};
  EXPECT_EQ(read_spawn_call(parent, nullptr, 0, many, most_spawned_programs + 1, request),
            PMIX_ERR_OUT_OF_RESOURCE);
}

}  // namespace
}  // namespace weft::host
