// SPDX-License-Identifier: BSD-3-Clause
// Attributes that a caller requires: each call refuses those that it does not understand, before anything
// happens; and the answers to PMIX_QUERY_ATTRIBUTE_SUPPORT.
#include <pmix_tool.h>
#include <unistd.h>

#include <cstring>

#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

Infos required(const char* key) {
  Infos out;
  out.flag(key);
  PMIX_INFO_REQUIRED(&out.data()[0]);
  return out;
}

void on_nothing(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                pmix_event_notification_cbfunc_fn_t done, void* data) {
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
}
void on_value(pmix_status_t, pmix_value_t*, void*) {}

struct Queried {
  pmix_status_t status = PMIX_ERROR;
  pmix_info_t* infos = nullptr;
  std::size_t count = 0;

  Queried() = default;
  Queried(const Queried&) = delete;
  ~Queried() { PMIX_INFO_FREE(infos, count); }
  const pmix_info_t* find(std::string_view key) const { return find_in(infos, count, key); }
  static const pmix_info_t* find_in(const pmix_info_t* infos, std::size_t count, std::string_view key) {
    for (std::size_t i = 0; i < count; ++i)
      if (key == infos[i].key) return &infos[i];
    return nullptr;
  }
};
void query(Queried& out, std::vector<const char*> keys, Infos& qualifiers) {
  keys.push_back(nullptr);
  pmix_query_t one{const_cast<char**>(keys.data()), qualifiers.data(), qualifiers.size()};
  out.status = PMIx_Query_info(&one, 1, &out.infos, &out.count);
}

void check_refusals() {
  auto unknown = required("no.such.attribute");
  auto* info = unknown.data();
  pmix_value_t* value = nullptr;
  auto me = proc_of("job", 0);
  check_status(PMIx_Get(&me, PMIX_JOB_SIZE, info, 1, &value), PMIX_ERR_NOT_SUPPORTED);
  check_status(PMIx_Get_nb(&me, PMIX_JOB_SIZE, info, 1, on_value, nullptr), PMIX_ERR_NOT_SUPPORTED);
  check_status(PMIx_Fence(nullptr, 0, info, 1), PMIX_ERR_NOT_SUPPORTED);
  check_status(PMIx_Fence_nb(nullptr, 0, info, 1, Waiter::on_status, nullptr), PMIX_ERR_NOT_SUPPORTED);
  check_status(PMIx_Notify_event(PMIX_ERR_SYS_OTHER, &me, PMIX_RANGE_PROC_LOCAL, info, 1, nullptr, nullptr),
               PMIX_ERR_NOT_SUPPORTED);
  check_status(PMIx_Register_event_handler(nullptr, 0, info, 1, on_nothing, nullptr, nullptr),
               PMIX_ERR_NOT_SUPPORTED);
  Infos text;
  text.text(PMIX_LOG_STDERR, "never written\n");
  check_status(PMIx_Log(text.data(), 1, info, 1), PMIX_ERR_NOT_SUPPORTED);
  check_status(PMIx_Finalize(info, 1), PMIX_ERR_NOT_SUPPORTED);
  check(PMIx_Initialized() != 0, "the refused Finalize has finalized");
  Queried queried;
  query(queried, {PMIX_QUERY_NAMESPACES}, unknown);
  check_status(queried.status, PMIX_ERR_NOT_SUPPORTED);
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  check_status(PMIx_Job_control(nullptr, 0, info, 1, &results, &count), PMIX_ERR_NOT_SUPPORTED);
}

/// What is understood may be required, and what is not may be there.
void check_the_rest() {
  auto me = proc_of("job", 0);
  auto optional = required(PMIX_OPTIONAL);
  pmix_value_t* value = nullptr;
  check_status(PMIx_Get(&me, PMIX_JOB_SIZE, optional.data(), 1, &value), PMIX_SUCCESS);
  PMIX_VALUE_RELEASE(value);
  auto collect = required(PMIX_COLLECT_DATA);
  check_status(PMIx_Fence(nullptr, 0, collect.data(), 1), PMIX_SUCCESS);
  Infos unknown;
  unknown.flag("no.such.attribute");
  check_status(PMIx_Fence(nullptr, 0, unknown.data(), 1), PMIX_SUCCESS);
}

int requires_attributes(const Words&) {
  auto unknown = required("no.such.attribute");
  check_status(PMIx_Init(nullptr, unknown.data(), 1), PMIX_ERR_NOT_SUPPORTED);
  check_equal(static_cast<std::uint64_t>(PMIx_Initialized()), 0);
  Client client;
  check_refusals();
  check_the_rest();
  client.finalize();
  return 0;
}

/// The level of a function in an answer; null: it was not asked for.
const pmix_value_t* level_of(const Queried& answer, const char* function, const char* level) {
  const auto* of = answer.find(function);
  check(of != nullptr && of->value.type == PMIX_DATA_ARRAY, std::string("no answer about ") + function);
  const auto& levels = *of->value.data.darray;
  check(levels.type == PMIX_INFO, "levels");
  const auto* found = Queried::find_in(static_cast<const pmix_info_t*>(levels.array), levels.size, level);
  return found != nullptr ? &found->value : nullptr;
}

const pmix_regattr_t* attribute_in(const pmix_value_t* level, std::string_view key) {
  check(level != nullptr && level->type == PMIX_DATA_ARRAY && level->data.darray->type == PMIX_REGATTR,
        "attributes of a level");
  const auto* all = static_cast<const pmix_regattr_t*>(level->data.darray->array);
  for (std::size_t i = 0; i < level->data.darray->size; ++i)
    if (key == all[i].string) return &all[i];
  return nullptr;
}

void ask_which_attributes() {
  Queried all;
  Infos none;
  query(all, {PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get", "PMIx_Fence_nb"}, none);
  check_status(all.status, PMIX_SUCCESS);
  const auto* timeout = attribute_in(level_of(all, "PMIx_Get", PMIX_CLIENT_ATTRIBUTES), PMIX_TIMEOUT);
  check(timeout != nullptr && std::strcmp(timeout->name, "PMIX_TIMEOUT") == 0, "no PMIX_TIMEOUT");
  check_equal(timeout->type, PMIX_INT);
  check(attribute_in(level_of(all, "PMIx_Fence_nb", PMIX_CLIENT_ATTRIBUTES), PMIX_COLLECT_DATA) != nullptr,
        "no PMIX_COLLECT_DATA");
  for (const char* empty : {PMIX_SERVER_ATTRIBUTES, PMIX_TOOL_ATTRIBUTES, PMIX_HOST_ATTRIBUTES})
    check_equal(level_of(all, "PMIx_Fence_nb", empty)->type, PMIX_UNDEF);

  Queried client_only;
  Infos at_client;
  at_client.flag(PMIX_CLIENT_ATTRIBUTES).flag(PMIX_CLIENT_FUNCTIONS);
  query(client_only, {PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get"}, at_client);
  check_status(client_only.status, PMIX_SUCCESS);
  check(level_of(client_only, "PMIx_Get", PMIX_SERVER_ATTRIBUTES) == nullptr, "a level not asked for");
  const auto* functions = client_only.find(PMIX_CLIENT_FUNCTIONS);
  check(functions != nullptr && functions->value.type == PMIX_STRING &&
            std::strstr(functions->value.data.string, "PMIx_Fence,") != nullptr,
        "functions");

  Queried partly, nothing;
  query(partly, {PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get", "PMIx_No_such"}, none);
  check_status(partly.status, PMIX_ERR_PARTIAL_SUCCESS);
  check_equal(partly.count, 1);
  query(nothing, {PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_No_such"}, none);
  check_status(nothing.status, PMIX_ERR_NOT_FOUND);
}

int asks_which_attributes(const Words&) {
  ask_which_attributes();  // no server is needed for that, no PMIx_Init either
  Client client;
  ask_which_attributes();
  client.finalize();
  return 0;
}

/// What the host of the test below has registered, as a server, a client and a tool of it are told.
void check_what_the_host_supports() {
  Queried all;
  Infos none;
  query(all, {PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Spawn", "PMIx_Init", "PMIx_Abort"}, none);
  check_status(all.status, PMIX_SUCCESS);
  const auto* of_spawn = level_of(all, "PMIx_Spawn", PMIX_HOST_ATTRIBUTES);
  const auto* timeout = attribute_in(of_spawn, PMIX_TIMEOUT);
  check(timeout != nullptr && std::strcmp(timeout->name, "PMIX_TIMEOUT") == 0 && timeout->type == PMIX_INT,
        "what was registered by its name");
  check(attribute_in(of_spawn, PMIX_MAPBY) != nullptr, "what was registered by its key");
  check(attribute_in(of_spawn, "host.own") != nullptr, "the host's own");
  const auto* of_init = level_of(all, "PMIx_Init", PMIX_HOST_ATTRIBUTES);
  check(attribute_in(of_init, PMIX_USERID) != nullptr && attribute_in(of_init, PMIX_GRPID) != nullptr,
        "two upcalls of one call");
  check_equal(level_of(all, "PMIx_Abort", PMIX_HOST_ATTRIBUTES)->type, PMIX_UNDEF);

  Queried functions;
  Infos at_host;
  at_host.flag(PMIX_HOST_FUNCTIONS);
  query(functions, {PMIX_QUERY_ATTRIBUTE_SUPPORT}, at_host);
  check_status(functions.status, PMIX_SUCCESS);
  check_equal(std::string_view(functions.find(PMIX_HOST_FUNCTIONS)->value.data.string),
              "PMIx_Abort,PMIx_Init,PMIx_Spawn");
  Queried not_the_host;
  Infos at_client;
  at_client.flag(PMIX_CLIENT_ATTRIBUTES);
  query(not_the_host, {PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Abort"}, at_client);
  check_status(not_the_host.status, PMIX_ERR_NOT_FOUND);

  struct Later {
    Waiter waiter;
    static void take(pmix_status_t status, pmix_info_t* infos, size_t count, void* self,
                     pmix_release_cbfunc_t release, void* open) {
      const bool is_there = Queried::find_in(infos, count, "PMIx_Spawn") != nullptr;
      if (release != nullptr) release(open);
      Waiter::on_status(is_there ? status : PMIX_ERROR, &static_cast<Later*>(self)->waiter);
    }
  } later;
  const char* keys[] = {PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Spawn", nullptr};
  pmix_query_t one{const_cast<char**>(keys), nullptr, 0};
  check_status(PMIx_Query_info_nb(&one, 1, Later::take, &later), PMIX_SUCCESS);
  check_status(later.waiter.wait(), PMIX_SUCCESS);
}

int asks_what_the_host_supports(const Words& words) {
  if (words.at(0) == "tool") {
    Infos server;
    server.pid(PMIX_SERVER_PIDINFO, ::getppid());
    check_status(PMIx_tool_init(nullptr, server.data(), server.size()), PMIX_SUCCESS);
    check_what_the_host_supports();
    return PMIx_tool_finalize() == PMIX_SUCCESS ? 0 : 1;
  }
  Client client;
  check_what_the_host_supports();
  client.finalize();
  return 0;
}

pmix_status_t register_attributes(const char* function, std::vector<const char*> attributes) {
  attributes.push_back(nullptr);
  return PMIx_Register_attributes(const_cast<char*>(function), const_cast<char**>(attributes.data()));
}

}  // namespace

void add_attribute_programs(Programs& programs) {
  programs.add("requires_attributes", requires_attributes);
  programs.add("asks_which_attributes", asks_which_attributes);
  programs.add("asks_what_the_host_supports", asks_what_the_host_supports);
}

TEST(AttributesTest, that_are_required_and_unknown_are_refused) {
  Host host;
  host.add_job("job", 1);
  host.start("job", 0, "requires_attributes").expect_success();
}

TEST(AttributesTest, of_a_server_that_are_required_and_unknown_are_refused) {
  auto unknown = required("no.such.attribute");
  EXPECT_EQ(PMIx_server_init(nullptr, unknown.data(), 1), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_Initialized(), 0);
  Host host({}, {}, required(PMIX_SERVER_TMPDIR));
  EXPECT_EQ(PMIx_server_collect_inventory(
                unknown.data(), 1, [](auto...) {}, nullptr),
            PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_server_setup_application(
                "job", unknown.data(), 1, [](auto...) {}, nullptr),
            PMIX_ERR_NOT_SUPPORTED);
}

TEST(AttributesTest, are_told_of_each_call) {
  Host host;
  host.add_job("job", 1);
  host.start("job", 0, "asks_which_attributes").expect_success();
}

TEST(AttributesTest, of_a_host_are_told_to_all) {
  EXPECT_EQ(register_attributes("spawn", {PMIX_TIMEOUT}), PMIX_ERR_INIT);
  Upcalls upcalls;
  upcalls.abort = [](auto&&...) { return PMIX_ERR_NOT_SUPPORTED; };
  Host host(upcalls);
  host.add_job("job", 1);
  EXPECT_EQ(register_attributes("spawn", {"PMIX_TIMEOUT", PMIX_MAPBY, "host.own"}), PMIX_SUCCESS);
  EXPECT_EQ(register_attributes("spawn", {"PMIX_RANKBY"}), PMIX_ERR_REPEAT_ATTR_REGISTRATION);
  EXPECT_EQ(register_attributes("client_connected", {PMIX_USERID}), PMIX_SUCCESS);
  EXPECT_EQ(register_attributes("client_connected2", {PMIX_GRPID}), PMIX_SUCCESS);
  EXPECT_EQ(register_attributes("PMIx_Spawn", {PMIX_TIMEOUT}), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(register_attributes("publish", {""}), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(register_attributes("publish", {std::string(PMIX_MAX_KEYLEN + 1, 'x').c_str()}),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Register_attributes(nullptr, nullptr), PMIX_ERR_BAD_PARAM);
  check_what_the_host_supports();
  host.start("job", 0, "asks_what_the_host_supports", {"client"}).expect_success();
  Child("asks_what_the_host_supports", {"tool"}, {}).expect_success();
}

}  // namespace weft::test
