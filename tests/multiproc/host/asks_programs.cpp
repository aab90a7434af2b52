// SPDX-License-Identifier: BSD-3-Clause
// The clients and tools of asks_test.cpp.
#include <pmix_tool.h>
#include <unistd.h>

#include <cstring>
#include <mutex>

#include "tests/multiproc/host/asks_host.hpp"

namespace weft::test {
namespace {

/// What every call with a result gets from the host above, where it answers well.
struct Results {
  pmix_info_t* infos = nullptr;
  size_t count = 0;
  ~Results() {
    if (infos != nullptr) PMIX_INFO_FREE(infos, count);
  }
  void check_answer(pmix_status_t wanted) const {
    if (wanted != PMIX_SUCCESS) return;
    check_equal(count, 1);
    check_equal(std::string_view(infos[0].value.data.string), "of the host");
  }
};

enum class Asker { client, tool };

/// Each call once. ending: the status that each is to end with; "empty": success without results.
void ask_for_everything(const pmix_proc_t& me, const std::string& ending, Asker asker) {
  const bool is_empty = ending == "empty";
  const pmix_status_t wanted = is_empty ? PMIX_SUCCESS : std::stoi(ending);
  const auto with_results = is_empty ? PMIX_ERROR : wanted;  // of calls whose results are looked at
  Infos infos;
  infos.text("directive", "mine");
  // Where the host keeps no names, the servers do.
  const bool are_names_ours = wanted == PMIX_ERR_NOT_SUPPORTED;
  check_status(PMIx_Publish(infos.data(), infos.size()), are_names_ours ? PMIX_SUCCESS : wanted);
  pmix_pdata_t data[2]{};
  std::strcpy(data[0].key, "port");
  std::strcpy(data[1].key, "missing");
  const auto looked_up = PMIx_Lookup(data, 2, infos.data(), infos.size());
  check_status(looked_up, is_empty || are_names_ours ? PMIX_ERR_NOT_FOUND
                          : wanted == PMIX_SUCCESS   ? PMIX_ERR_PARTIAL_SUCCESS
                                                     : wanted);
  if (with_results == PMIX_SUCCESS) {
    check_equal(std::string_view(data[0].value.data.string), "tcp://here");
    check_equal(data[0].proc.rank, 7);
    check_equal(data[1].value.type, PMIX_UNDEF);
    PMIx_Value_destruct(&data[0].value);
  }
  check_status(PMIx_Unpublish(nullptr, infos.data(), infos.size()), are_names_ours ? PMIX_SUCCESS : wanted);
  char program[] = "program", word[] = "word", variable[] = "NAME=value";
  char* argv[] = {program, word, nullptr};
  char* env[] = {variable, nullptr};
  const pmix_app_t app{program, argv, env, nullptr, 3, infos.data(), infos.size()};
  pmix_nspace_t nspace{};
  check_status(PMIx_Spawn(infos.data(), infos.size(), &app, 1, nspace), wanted);
  if (with_results == PMIX_SUCCESS) check_equal(std::string_view(nspace), "spawned");
  // A tool is in no set; where the host does not connect, the servers do.
  const auto connected = asker != Asker::client             ? PMIX_ERR_NOT_SUPPORTED
                         : wanted == PMIX_ERR_NOT_SUPPORTED ? PMIX_SUCCESS
                                                            : wanted;
  check_status(PMIx_Connect(&me, 1, infos.data(), infos.size()), connected);
  check_status(PMIx_Disconnect(&me, 1, infos.data(), infos.size()), connected);
  const auto call = [&](auto&& function) {
    Results results;
    check_status(function(&results.infos, &results.count), wanted);
    results.check_answer(with_results);
  };
  call([&](auto** out, size_t* count) {
    return PMIx_Allocation_request(PMIX_ALLOC_EXTEND, infos.data(), infos.size(), out, count);
  });
  call([&](auto** out, size_t* count) {
    return PMIx_Job_control(&me, 1, infos.data(), infos.size(), out, count);
  });
  Infos monitor;
  monitor.text(PMIX_MONITOR_FILE, "a file");
  Results monitored;
  const auto watched = PMIx_Process_monitor(monitor.data(), PMIX_ERR_TIMEOUT, infos.data(), infos.size(),
                                            &monitored.infos, &monitored.count);
  const bool is_served_here = wanted == PMIX_ERR_NOT_SUPPORTED;         // by the server
  check_status(watched, is_served_here ? PMIX_ERR_BAD_PARAM : wanted);  // whose paths are absolute
  monitored.check_answer(with_results);
  pmix_byte_object_t credential{};
  const auto certified = PMIx_Get_credential(infos.data(), infos.size(), &credential);
  check_status(certified, is_empty ? PMIX_ERR_NOT_FOUND : is_served_here ? PMIX_SUCCESS : wanted);
  if (with_results == PMIX_SUCCESS) check_equal(std::string_view(credential.bytes), "a credential");
  char mine[] = "mine";
  const pmix_byte_object_t shown{mine, sizeof mine};
  Results validated;
  const auto valid =
      PMIx_Validate_credential(&shown, infos.data(), infos.size(), &validated.infos, &validated.count);
  check_status(valid, is_served_here ? PMIX_ERR_INVALID_CRED : wanted);
  validated.check_answer(with_results);
  std::free(credential.bytes);
  const auto pulled =
      PMIx_IOF_pull(&me, 1, infos.data(), infos.size(), PMIX_FWD_STDOUT_CHANNEL, nullptr, nullptr, nullptr);
  check_status(pulled, wanted);
  if (pulled >= 0)
    check_status(PMIx_IOF_deregister(static_cast<size_t>(pulled), nullptr, 0, nullptr, nullptr), wanted);
  char input[] = "input";
  pmix_byte_object_t bytes{input, 5};
  check_status(PMIx_IOF_push(&me, 1, &bytes, infos.data(), infos.size(), nullptr, nullptr), wanted);
  pmix_fabric_t fabric{};
  check_status(PMIx_Fabric_register(&fabric, infos.data(), infos.size()), wanted);
  if (with_results == PMIX_SUCCESS) check_equal(fabric.ninfo, 1);
  fabric.index = 4;
  check_status(PMIx_Fabric_update(&fabric), wanted);
  check_status(PMIx_Fabric_deregister(&fabric), PMIX_SUCCESS);
}

/// Names a group of ranks 1 and 0 where a call takes processes, its second member and all of it.
int asks_about_a_group(const Words&) {
  Client client;
  const pmix_proc_t members[] = {client.peer(1), client.peer(0)};
  check_status(PMIx_Group_construct("asked", members, 2, nullptr, 0, nullptr, nullptr), PMIX_SUCCESS);
  if (client.me.rank == 0) {
    Infos infos;
    infos.text("directive", "mine");
    for (const auto& named : {proc_of("asked", 1), proc_of("asked", PMIX_RANK_WILDCARD)}) {
      auto procs = named;
      check_status(PMIx_Job_control(&procs, 1, infos.data(), infos.size(), nullptr, nullptr), PMIX_SUCCESS);
      const auto pulled = PMIx_IOF_pull(&procs, 1, infos.data(), infos.size(), PMIX_FWD_STDOUT_CHANNEL,
                                        nullptr, nullptr, nullptr);
      check(pulled >= 0, "no pull");
      check_status(PMIx_Abort(7, "of a group", &procs, 1), PMIX_SUCCESS);
    }
  }
  check_status(PMIx_Group_destruct("asked", nullptr, 0), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

int asks_for_everything(const Words& words) {
  Client client;
  ask_for_everything(client.me, words.at(0), Asker::client);
  client.finalize();
  return 0;
}

/// Asks as the clients above, as a tool of the server that started it.
int asks_as_a_tool(const Words& words) {
  pmix_proc_t me{};
  Infos server;
  server.pid(PMIX_SERVER_PIDINFO, ::getppid());
  check_status(PMIx_tool_init(&me, server.data(), server.size()), PMIX_SUCCESS);
  ask_for_everything(me, words.at(0), Asker::tool);
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  return 0;
}

/// Each call with a callback; all are open at once. The host answers well.
int asks_without_waiting(const Words&) {
  Client client;
  Infos infos;
  infos.text("directive", "mine");
  char port[] = "port";
  char* keys[] = {port, nullptr};
  Waiter published, looked_up, unpublished, spawned, connected, allocated, controlled, monitored, certified,
      validated, pushed;
  const auto on_found = [](pmix_status_t status, pmix_pdata_t* found, size_t count, void* self) {
    Waiter::on_status(status == PMIX_SUCCESS && count == 1 && found->proc.rank == 7 ? status : PMIX_ERROR,
                      self);
  };
  const auto on_spawned = [](pmix_status_t status, char* nspace, void* self) {
    Waiter::on_status(status == PMIX_SUCCESS && std::strcmp(nspace, "spawned") == 0 ? status : PMIX_ERROR,
                      self);
  };
  const auto on_infos = [](pmix_status_t status, pmix_info_t* found, size_t count, void* self,
                           pmix_release_cbfunc_t release, void* open) {
    const bool is_good = count == 1 && std::strcmp(found[0].value.data.string, "of the host") == 0;
    if (release != nullptr) release(open);
    Waiter::on_status(is_good ? status : PMIX_ERROR, self);
  };
  const auto on_credential = [](pmix_status_t status, pmix_byte_object_t* credential, pmix_info_t*,
                                size_t count, void* self) {
    const bool is_good = credential != nullptr && credential->size == sizeof "a credential" && count == 1;
    Waiter::on_status(is_good ? status : PMIX_ERROR, self);
  };
  const auto on_validated = [](pmix_status_t status, pmix_info_t*, size_t count, void* self) {
    Waiter::on_status(count == 1 ? status : PMIX_ERROR, self);
  };
  check_status(PMIx_Publish_nb(infos.data(), infos.size(), Waiter::on_status, &published), PMIX_SUCCESS);
  check_status(PMIx_Lookup_nb(keys, infos.data(), infos.size(), on_found, &looked_up), PMIX_SUCCESS);
  check_status(PMIx_Unpublish_nb(keys, nullptr, 0, Waiter::on_status, &unpublished), PMIX_SUCCESS);
  char* argv[] = {port, nullptr};
  const pmix_app_t app{port, argv, nullptr, nullptr, 1, nullptr, 0};
  check_status(PMIx_Spawn_nb(nullptr, 0, &app, 1, on_spawned, &spawned), PMIX_SUCCESS);
  check_status(PMIx_Connect_nb(&client.me, 1, nullptr, 0, Waiter::on_status, &connected), PMIX_SUCCESS);
  check_status(PMIx_Allocation_request_nb(PMIX_ALLOC_NEW, infos.data(), infos.size(), on_infos, &allocated),
               PMIX_SUCCESS);
  check_status(PMIx_Job_control_nb(nullptr, 0, infos.data(), infos.size(), on_infos, &controlled),
               PMIX_SUCCESS);
  check_status(PMIx_Process_monitor_nb(infos.data(), PMIX_SUCCESS, nullptr, 0, on_infos, &monitored),
               PMIX_SUCCESS);
  check_status(PMIx_Get_credential_nb(infos.data(), infos.size(), on_credential, &certified), PMIX_SUCCESS);
  const pmix_byte_object_t shown{port, sizeof port};
  check_status(PMIx_Validate_credential_nb(&shown, nullptr, 0, on_validated, &validated), PMIX_SUCCESS);
  pmix_byte_object_t bytes{port, 4};
  check_status(PMIx_IOF_push(&client.me, 1, &bytes, nullptr, 0, Waiter::on_status, &pushed), PMIX_SUCCESS);
  for (auto* each : {&published, &looked_up, &unpublished, &spawned, &connected, &allocated, &controlled,
                     &monitored, &certified, &validated, &pushed})
    check_status(each->wait(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// Calls that no server is asked about.
int asks_badly(const Words&) {
  Client client;
  check_status(PMIx_Publish(nullptr, 0), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Publish(nullptr, 1), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Lookup(nullptr, 1, nullptr, 0), PMIX_ERR_BAD_PARAM);
  pmix_pdata_t nameless{};
  check_status(PMIx_Lookup(&nameless, 1, nullptr, 0), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Spawn(nullptr, 0, nullptr, 0, nullptr), PMIX_ERR_BAD_PARAM);
  const pmix_app_t nothing{};
  check_status(PMIx_Spawn(nullptr, 0, &nothing, 1, nullptr), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Connect(nullptr, 0, nullptr, 0), PMIX_ERR_BAD_PARAM);
  const auto other = proc_of("another namespace", 0);
  check_status(PMIx_Connect(&other, 1, nullptr, 0), PMIX_ERR_BAD_PARAM);
  Infos soon;
  soon.text(PMIX_TIMEOUT, "soon");
  check_status(PMIx_Connect(&client.me, 1, soon.data(), soon.size()), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_Validate_credential(nullptr, nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
  check_status(PMIx_IOF_deregister(99, nullptr, 0, nullptr, nullptr), PMIX_ERR_NOT_FOUND);
  check_status(PMIx_Fabric_register(nullptr, nullptr, 0), PMIX_ERR_BAD_PARAM);
  Infos relative;
  relative.text(PMIX_REGISTER_CLEANUP, "a/relative/path");
  check_status(PMIx_Job_control(nullptr, 0, relative.data(), relative.size(), nullptr, nullptr),
               PMIX_ERR_BAD_PARAM);
  Infos somewhere;
  somewhere.text(PMIX_REGISTER_CLEANUP, "/nonexistent/file");
  const auto nobody = client.peer(99);
  check_status(PMIx_Job_control(&nobody, 1, somewhere.data(), somewhere.size(), nullptr, nullptr),
               PMIX_ERR_NOT_FOUND);
  client.finalize();
  return 0;
}

/// All ranks connect, each naming itself first, and disconnect. Words: the status wanted; a rank that stays
/// away, and how.
int connects(const Words& words) {
  Client client;
  if (words.size() > 1 && client.me.rank == static_cast<pmix_rank_t>(std::stoi(words[1]))) {
    say("here");
    (void)listen();  // until the test ends it
    if (words[2] == "finalize") client.finalize();
    return 0;
  }
  std::vector<pmix_proc_t> set{client.me};
  for (pmix_rank_t rank = 0; rank < client.size; ++rank)
    if (rank != client.me.rank) set.push_back(client.peer(rank));
  Infos infos;
  if (words.size() > 2 && words[2] == "timeout") infos.integer(PMIX_TIMEOUT, 1);
  const auto wanted = std::stoi(words[0]);
  check_status(PMIx_Connect(set.data(), set.size(), infos.data(), infos.size()), wanted);
  if (wanted == PMIX_SUCCESS) check_status(PMIx_Disconnect(set.data(), set.size(), nullptr, 0), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

struct Pulled {
  std::mutex mutex;
  std::string text;
  static Pulled* now;
  static void take(size_t, pmix_iof_channel_t channel, pmix_proc_t* source, pmix_byte_object_t* bytes,
                   pmix_info_t*, size_t) {
    const std::lock_guard lock(now->mutex);
    now->text += std::to_string(source->rank) + ":" + std::to_string(channel) + ":" +
                 std::string(bytes->bytes, bytes->size);
  }
};
Pulled* Pulled::now = nullptr;

/// Pulls the output of another namespace, and hears what its host delivers, until the pull ends.
void pull_output() {
  Pulled pulled;
  Pulled::now = &pulled;
  const auto source = proc_of("source", PMIX_RANK_WILDCARD);
  const auto handle =
      PMIx_IOF_pull(&source, 1, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, Pulled::take, nullptr, nullptr);
  check(handle >= 0, "no handle");
  say("pulling");
  const auto has = [&](std::string_view text) {
    const std::lock_guard lock(pulled.mutex);
    return pulled.text == text;
  };
  check(eventually([&] { return has("3:2:text"); }), "the output did not come");
  check_status(PMIx_IOF_deregister(static_cast<size_t>(handle), nullptr, 0, nullptr, nullptr), PMIX_SUCCESS);
  say("stopped");
  await("delivered");
  check(has("3:2:text"), "output of another channel or process came, or some after the end");
}

int pulls_output(const Words&) {
  Client client;
  pull_output();
  client.finalize();
  return 0;
}

int pulls_output_as_a_tool(const Words&) {
  Infos server;
  server.pid(PMIX_SERVER_PIDINFO, ::getppid());
  check_status(PMIx_tool_init(nullptr, server.data(), server.size()), PMIX_SUCCESS);
  pull_output();
  check_status(PMIx_tool_finalize(), PMIX_SUCCESS);
  return 0;
}

/// One query that the server answers, one that it leaves to the host in part. Its words: the status wanted,
/// how many results.
int queries(const Words& words) {
  Client client;
  char known[] = PMIX_QUERY_NAMESPACES, unknown[] = "of.the.host";
  char* first[] = {known, nullptr};
  char* second[] = {unknown, known, nullptr};
  Infos qualifiers;
  qualifiers.text("qualifier", "mine");
  pmix_query_t asked_for[] = {{first, nullptr, 0}, {second, qualifiers.data(), qualifiers.size()}};
  pmix_info_t* results = nullptr;
  size_t count = 0;
  check_status(PMIx_Query_info(asked_for, 2, &results, &count), std::stoi(words[0]));
  check_equal(count, std::stoul(words[1]));
  if (results != nullptr) PMIX_INFO_FREE(results, count);
  client.finalize();
  return 0;
}

void ignore(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
            pmix_event_notification_cbfunc_fn_t done, void* open) {
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, open);
}

/// Registers two handlers for two codes and finalizes.
int watches_codes(const Words&) {
  Client client;
  pmix_status_t codes[] = {PMIX_EVENT_NODE_DOWN, PMIX_EVENT_NODE_OFFLINE};
  for (int i = 0; i < 2; ++i)
    check(PMIx_Register_event_handler(codes, 2, nullptr, 0, ignore, nullptr, nullptr) >= 0, "no handler");
  client.finalize();
  return 0;
}

/// Handlers that come and go, a step for each line of the test, which looks at what the host hears of it.
int watches_codes_for_a_while(const Words&) {
  Client client;
  const auto leave = [](size_t handler) {
    check_status(PMIx_Deregister_event_handler(handler, nullptr, nullptr), PMIX_OPERATION_SUCCEEDED);
  };
  const auto both = handler_of({PMIX_EVENT_NODE_DOWN, 7});
  const auto one = handler_of({PMIX_EVENT_NODE_DOWN, PMIX_ERR_PROC_ABORTED});
  await("leave 7");
  leave(both);
  await("leave the other");
  leave(one);
  await("come back");
  const auto again = handler_of({PMIX_EVENT_NODE_DOWN});
  leave(again);
  handler_of({PMIX_EVENT_NODE_DOWN});  // at once: the one before may count, or be followed by this one
  await("a default handler");
  leave(handler_of({}));
  await("a one-shot");
  Infos one_shot;
  one_shot.flag(PMIX_EVENT_ONESHOT);
  handler_of({8}, std::move(one_shot));
  check_status(PMIx_Notify_event(8, &client.me, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr),
               PMIX_OPERATION_SUCCEEDED);
  await("end");
  client.finalize();
  return 0;
}

}  // namespace

size_t handler_of(std::vector<pmix_status_t> codes, Infos infos) {
  const auto made = PMIx_Register_event_handler(codes.empty() ? nullptr : codes.data(), codes.size(),
                                                infos.data(), infos.size(), ignore, nullptr, nullptr);
  check(made >= 0, "no handler");
  return static_cast<size_t>(made);
}

void add_asks_programs(Programs& programs) {
  programs.add("asks_for_everything", asks_for_everything);
  programs.add("asks_about_a_group", asks_about_a_group);
  programs.add("asks_as_a_tool", asks_as_a_tool);
  programs.add("asks_without_waiting", asks_without_waiting);
  programs.add("asks_badly", asks_badly);
  programs.add("connects", connects);
  programs.add("pulls_output", pulls_output);
  programs.add("pulls_output_as_a_tool", pulls_output_as_a_tool);
  programs.add("queries", queries);
  programs.add("watches_codes", watches_codes);
  programs.add("watches_codes_for_a_while", watches_codes_for_a_while);
}

}  // namespace weft::test
