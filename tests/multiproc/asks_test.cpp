// SPDX-License-Identifier: BSD-3-Clause
// What a client asks its host for: each call becomes the upcall that it is for, with what the Standard has it given, and the host's
// answer comes back, in each style in which a host may give it.
#include <pmix_tool.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "tests/multiproc/host.hpp"

namespace weft::test {
namespace {

// ---- the host

enum class Style { in_the_upcall, later, twice, refused, at_once, never };

/// What the host was asked, a line each, and how it answers.
struct Asked {
  Style style = Style::later;
  std::mutex mutex;
  std::vector<std::string> lines;
  std::vector<pmix_proc_t> gathered;  ///< of the last connect, in its order

  void add(std::string line) {
    const std::lock_guard lock(mutex);
    lines.push_back(std::move(line));
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex);
    return lines;
  }
  bool wait_for(const std::string& line) {
    return eventually([&] {
      const auto now = all();
      return std::find(now.begin(), now.end(), line) != now.end();
    });
  }
};
Asked* asked = nullptr;  // the module's functions carry no context

/// "key=value " of what a test looks at; of the requester's user and group whether they are right.
std::string text_of(const pmix_info_t* infos, size_t ninfo) {
  std::string out;
  for (size_t i = 0; i < ninfo; ++i) {
    const auto& value = infos[i].value;
    const std::string key(infos[i].key);
    if (key == PMIX_USERID)
      out += value.data.uint32 == ::getuid() ? "user " : "another_user ";
    else if (key == PMIX_GRPID)
      out += value.data.uint32 == ::getgid() ? "group " : "another_group ";
    else if (value.type == PMIX_STRING)
      out += key + "=" + value.data.string + " ";
    else if (value.type == PMIX_BOOL)
      out += key + " ";
    else if (value.type == PMIX_STATUS)
      out += key + "=" + PMIx_Error_string(value.data.status) + " ";
    else if (value.type == PMIX_PROC)
      out += key + "=" + std::to_string(value.data.proc->rank) + " ";
  }
  return out;
}

std::string text_of(char** argv) {
  std::string out;
  for (; argv != nullptr && *argv != nullptr; ++argv) out += std::string(*argv) + " ";
  return out;
}

std::string text_of(const pmix_proc_t* procs, size_t nprocs) {
  std::string out;
  for (size_t i = 0; i < nprocs; ++i)
    out += (procs[i].rank == PMIX_RANK_WILDCARD ? std::string("*") : std::to_string(procs[i].rank)) + " ";
  return out;
}

/// Notes the line and answers in the style of the test: answer(status) calls the library back.
template <class Answer>
pmix_status_t answer(std::string line, Answer&& answer) {
  asked->add(std::move(line));
  switch (asked->style) {
    case Style::in_the_upcall:
      answer(PMIX_SUCCESS);
      return PMIX_SUCCESS;
    case Style::later:
      Host::now()->later.run([answer] { answer(PMIX_SUCCESS); });
      return PMIX_SUCCESS;
    case Style::twice:
      Host::now()->later.run([answer] {
        answer(PMIX_SUCCESS);
        answer(PMIX_ERR_NOT_FOUND);
      });
      return PMIX_SUCCESS;
    case Style::refused:
      return PMIX_ERR_NO_PERMISSIONS;
    case Style::at_once:
      return PMIX_OPERATION_SUCCEEDED;
    case Style::never:
      return PMIX_SUCCESS;
  }
  return PMIX_ERROR;
}

auto done_with(pmix_op_cbfunc_t done, void* open) {
  return [done, open](pmix_status_t status) { done(status, open); };
}

/// One info, which the host takes back.
auto infos_to(pmix_info_cbfunc_t done, void* open) {
  return [done, open](pmix_status_t status) {
    if (status != PMIX_SUCCESS) return done(status, nullptr, 0, open, nullptr, nullptr);
    auto* infos = new Infos;
    infos->text("answer", "of the host");
    const auto release = [](void* kept) { delete static_cast<Infos*>(kept); };
    done(status, infos->data(), infos->size(), open, release, infos);
  };
}

pmix_status_t on_publish(const pmix_proc_t* proc, const pmix_info_t* infos, size_t ninfo,
                         pmix_op_cbfunc_t done, void* open) {
  return answer("publish " + text_of(proc, 1) + text_of(infos, ninfo), done_with(done, open));
}

pmix_status_t on_lookup(const pmix_proc_t* proc, char** keys, const pmix_info_t* infos, size_t ninfo,
                        pmix_lookup_cbfunc_t done, void* open) {
  return answer("lookup " + text_of(proc, 1) + text_of(keys) + text_of(infos, ninfo),
                [done, open](pmix_status_t status) {
                  pmix_pdata_t found{};
                  found.proc = proc_of("publisher", 7);
                  std::strcpy(found.key, "port");
                  PMIx_Value_load(&found.value, "tcp://here", PMIX_STRING);
                  done(status, &found, 1, open);
                  PMIx_Value_destruct(&found.value);
                });
}

pmix_status_t on_unpublish(const pmix_proc_t* proc, char** keys, const pmix_info_t* infos, size_t ninfo,
                           pmix_op_cbfunc_t done, void* open) {
  return answer(
      "unpublish " + text_of(proc, 1) + (keys == nullptr ? "all " : text_of(keys)) + text_of(infos, ninfo),
      done_with(done, open));
}

pmix_status_t on_spawn(const pmix_proc_t* proc, const pmix_info_t* infos, size_t ninfo,
                       const pmix_app_t* apps, size_t napps, pmix_spawn_cbfunc_t done, void* open) {
  std::string line = "spawn " + text_of(proc, 1) + text_of(infos, ninfo);
  for (size_t i = 0; i < napps; ++i)
    line += std::string("app ") + apps[i].cmd + " " + text_of(apps[i].argv) + text_of(apps[i].env) +
            std::to_string(apps[i].maxprocs) + " " + text_of(apps[i].info, apps[i].ninfo);
  return answer(std::move(line), [done, open](pmix_status_t status) {
    char nspace[] = "spawned";
    done(status, nspace, open);
  });
}

pmix_status_t on_connect(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* infos, size_t ninfo,
                         pmix_op_cbfunc_t done, void* open) {
  return answer("connect " + text_of(procs, nprocs) + text_of(infos, ninfo), done_with(done, open));
}

pmix_status_t on_disconnect(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* infos, size_t ninfo,
                            pmix_op_cbfunc_t done, void* open) {
  return answer("disconnect " + text_of(procs, nprocs) + text_of(infos, ninfo), done_with(done, open));
}

pmix_status_t on_register_events(pmix_status_t* codes, size_t ncodes, const pmix_info_t* infos, size_t ninfo,
                                 pmix_op_cbfunc_t done, void* open) {
  std::string line = "register_events ";
  for (size_t i = 0; i < ncodes; ++i) line += std::string(PMIx_Error_string(codes[i])) + " ";
  return answer(line + text_of(infos, ninfo), done_with(done, open));
}

pmix_status_t on_deregister_events(pmix_status_t* codes, size_t ncodes, pmix_op_cbfunc_t done, void* open) {
  std::string line = "deregister_events ";
  for (size_t i = 0; i < ncodes; ++i) line += std::string(PMIx_Error_string(codes[i])) + " ";
  return answer(line, done_with(done, open));
}

pmix_status_t on_allocate(const pmix_proc_t* proc, pmix_alloc_directive_t directive, const pmix_info_t* infos,
                          size_t ninfo, pmix_info_cbfunc_t done, void* open) {
  return answer("allocate " + text_of(proc, 1) + std::to_string(directive) + " " + text_of(infos, ninfo),
                infos_to(done, open));
}

pmix_status_t on_job_control(const pmix_proc_t* proc, const pmix_proc_t* targets, size_t ntargets,
                             const pmix_info_t* infos, size_t ninfo, pmix_info_cbfunc_t done, void* open) {
  return answer(
      "job_control " + text_of(proc, 1) + "of " + text_of(targets, ntargets) + text_of(infos, ninfo),
      infos_to(done, open));
}

pmix_status_t on_monitor(const pmix_proc_t* proc, const pmix_info_t* monitor, pmix_status_t error,
                         const pmix_info_t* infos, size_t ninfo, pmix_info_cbfunc_t done, void* open) {
  return answer("monitor " + text_of(proc, 1) + text_of(monitor, 1) + PMIx_Error_string(error) + " " +
                    text_of(infos, ninfo),
                infos_to(done, open));
}

pmix_status_t on_get_credential(const pmix_proc_t* proc, const pmix_info_t* infos, size_t ninfo,
                                pmix_credential_cbfunc_t done, void* open) {
  return answer("get_credential " + text_of(proc, 1) + text_of(infos, ninfo),
                [done, open](pmix_status_t status) {
                  char bytes[] = "a credential";
                  pmix_byte_object_t credential{bytes, sizeof bytes};
                  Infos infos_now;
                  infos_now.text("answer", "of the host");
                  done(status, &credential, infos_now.data(), infos_now.size(), open);
                });
}

pmix_status_t on_validate(const pmix_proc_t* proc, const pmix_byte_object_t* credential,
                          const pmix_info_t* infos, size_t ninfo, pmix_validation_cbfunc_t done, void* open) {
  return answer("validate_credential " + text_of(proc, 1) + credential->bytes + " " + text_of(infos, ninfo),
                [done, open](pmix_status_t status) {
                  Infos infos_now;
                  infos_now.text("answer", "of the host");
                  done(status, infos_now.data(), infos_now.size(), open);
                });
}

pmix_status_t on_pull(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* infos, size_t ninfo,
                      pmix_iof_channel_t channels, pmix_op_cbfunc_t done, void* open) {
  return answer("iof_pull " + text_of(procs, nprocs) + std::to_string(channels) + " " + text_of(infos, ninfo),
                done_with(done, open));
}

pmix_status_t on_push(const pmix_proc_t* proc, const pmix_proc_t* targets, size_t ntargets,
                      const pmix_info_t* infos, size_t ninfo, const pmix_byte_object_t* bytes,
                      pmix_op_cbfunc_t done, void* open) {
  return answer("push_stdin " + text_of(proc, 1) + "to " + text_of(targets, ntargets) +
                    std::string(bytes->bytes, bytes->size) + " " + text_of(infos, ninfo),
                done_with(done, open));
}

pmix_status_t on_fabric(const pmix_proc_t* proc, pmix_fabric_operation_t operation, const pmix_info_t* infos,
                        size_t ninfo, pmix_info_cbfunc_t done, void* open) {
  return answer("fabric " + text_of(proc, 1) + std::to_string(operation) + " " + text_of(infos, ninfo),
                infos_to(done, open));
}

pmix_status_t on_query(pmix_proc_t* proc, pmix_query_t* queries, size_t nqueries, pmix_info_cbfunc_t done,
                       void* open) {
  std::string line = "query " + text_of(proc, 1);
  for (size_t i = 0; i < nqueries; ++i)
    line += text_of(queries[i].keys) + text_of(queries[i].qualifiers, queries[i].nqual);
  return answer(line, infos_to(done, open));
}

void set_all(pmix_server_module_t& module) {
  module.query = on_query;
  module.publish = on_publish;
  module.lookup = on_lookup;
  module.unpublish = on_unpublish;
  module.spawn = on_spawn;
  module.connect = on_connect;
  module.disconnect = on_disconnect;
  module.register_events = on_register_events;
  module.deregister_events = on_deregister_events;
  module.allocate = on_allocate;
  module.job_control = on_job_control;
  module.monitor = on_monitor;
  module.get_credential = on_get_credential;
  module.validate_credential = on_validate;
  module.iof_pull = on_pull;
  module.push_stdin = on_push;
  module.fabric = on_fabric;
}

// ---- the clients

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
  check_status(PMIx_Publish(infos.data(), infos.size()), wanted);
  pmix_pdata_t data[2]{};
  std::strcpy(data[0].key, "port");
  std::strcpy(data[1].key, "missing");
  const auto looked_up = PMIx_Lookup(data, 2, infos.data(), infos.size());
  check_status(looked_up, is_empty                 ? PMIX_ERR_NOT_FOUND
                          : wanted == PMIX_SUCCESS ? PMIX_ERR_PARTIAL_SUCCESS
                                                   : wanted);
  if (with_results == PMIX_SUCCESS) {
    check_equal(std::string_view(data[0].value.data.string), "tcp://here");
    check_equal(data[0].proc.rank, 7);
    check_equal(data[1].value.type, PMIX_UNDEF);
    PMIx_Value_destruct(&data[0].value);
  }
  check_status(PMIx_Unpublish(nullptr, infos.data(), infos.size()), wanted);
  char program[] = "program", word[] = "word", variable[] = "NAME=value";
  char* argv[] = {program, word, nullptr};
  char* env[] = {variable, nullptr};
  const pmix_app_t app{program, argv, env, nullptr, 3, infos.data(), infos.size()};
  pmix_nspace_t nspace{};
  check_status(PMIx_Spawn(infos.data(), infos.size(), &app, 1, nspace), wanted);
  if (with_results == PMIX_SUCCESS) check_equal(std::string_view(nspace), "spawned");
  const auto connected = asker == Asker::client ? wanted : PMIX_ERR_NOT_SUPPORTED;  // a tool is in no set
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
  call([&](auto** out, size_t* count) {
    return PMIx_Process_monitor(monitor.data(), PMIX_ERR_TIMEOUT, infos.data(), infos.size(), out, count);
  });
  pmix_byte_object_t credential{};
  const auto certified = PMIx_Get_credential(infos.data(), infos.size(), &credential);
  check_status(certified, is_empty ? PMIX_ERR_NOT_FOUND : wanted);
  if (with_results == PMIX_SUCCESS) check_equal(std::string_view(credential.bytes), "a credential");
  char mine[] = "mine";
  const pmix_byte_object_t shown{mine, sizeof mine};
  call([&](auto** out, size_t* count) {
    return PMIx_Validate_credential(&shown, infos.data(), infos.size(), out, count);
  });
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

int asks_for_everything(const Words& words) {
  Client client;
  ask_for_everything(client.me, words.at(0), Asker::client);
  client.finalize();
  return 0;
}

/// The same, by a tool of the server that started it.
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

/// All ranks connect, each naming itself first, and disconnect. Words: the status wanted; a rank that stays away, and how.
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

/// One query that the server answers, one that it leaves to the host in part. Its words: the status wanted, how many results.
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

size_t handler_of(std::vector<pmix_status_t> codes, Infos infos = {}) {
  const auto made = PMIx_Register_event_handler(codes.empty() ? nullptr : codes.data(), codes.size(),
                                                infos.data(), infos.size(), ignore, nullptr, nullptr);
  check(made >= 0, "no handler");
  return static_cast<size_t>(made);
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

// ---- tests

class AsksTest : public Multiproc {
 protected:
  void SetUp() override {
    Multiproc::SetUp();
    asked = &asked_;
  }
  static Upcalls all() {
    Upcalls upcalls;
    upcalls.others = set_all;
    return upcalls;
  }
  Asked asked_;
};

const std::vector<std::string> every_call = {
    "publish 0 directive=mine user group ",
    "lookup 0 port missing directive=mine user group ",
    "unpublish 0 all directive=mine user group ",
    "spawn 0 directive=mine user group pmix.spawned pmix.parent=0 pmix.req.client app program program word "
    "NAME=value 3 "
    "directive=mine ",
    "connect 0 directive=mine ",
    "disconnect 0 directive=mine ",
    "allocate 0 2 directive=mine user group ",
    "job_control 0 of 0 directive=mine user group ",
    "monitor 0 pmix.monitor.fmon=a file PMIX_ERR_TIMEOUT directive=mine user group ",
    "get_credential 0 directive=mine user group ",
    "validate_credential 0 mine directive=mine user group ",
    "iof_pull 0 2 directive=mine user group ",
    "push_stdin 0 to 0 input directive=mine user group ",
    "fabric 0 0 directive=mine user group ",
    "fabric 0 1 user group ",
};

TEST_F(AsksTest, each_call_is_the_upcall_that_it_is_for) {
  for (const auto style : {Style::later, Style::in_the_upcall, Style::twice}) {
    asked_.style = style;
    asked_.lines.clear();
    Host host(all());
    host.add_job("asks", 1);
    host.start("asks", 0, "asks_for_everything", {std::to_string(PMIX_SUCCESS)}).expect_success();
    auto lines = asked_.all();
    std::erase_if(lines, [](const auto& line) { return line.find("pmix.iof.stop") != std::string::npos; });
    EXPECT_EQ(lines, every_call);
  }
}
TEST_F(AsksTest, a_tools_calls_are_the_same_upcalls) {
  Host host(all());
  Child("asks_as_a_tool", {std::to_string(PMIX_SUCCESS)}, {}).expect_success();
  auto lines = asked_.all();
  std::erase_if(lines, [](const auto& line) { return line.find("pmix.iof.stop") != std::string::npos; });
  auto wanted = every_call;
  std::erase_if(wanted, [](const auto& line) { return line.find("connect ") != std::string::npos; });
  const std::string client = "pmix.req.client", tool = "pmix.req.tool";
  for (auto& line : wanted)
    if (const auto at = line.find(client); at != std::string::npos) line.replace(at, client.size(), tool);
  EXPECT_EQ(lines, wanted);
}
TEST_F(AsksTest, a_refusal_is_the_tools) {
  asked_.style = Style::refused;
  Host host(all());
  Child("asks_as_a_tool", {std::to_string(PMIX_ERR_NO_PERMISSIONS)}, {}).expect_success();
}
TEST_F(AsksTest, a_host_without_upcalls_tells_tools_as_well) {
  Host host;
  Child("asks_as_a_tool", {std::to_string(PMIX_ERR_NOT_SUPPORTED)}, {}).expect_success();
}
TEST_F(AsksTest, with_callbacks) {
  Host host(all());
  host.add_job("asks", 1);
  host.start("asks", 0, "asks_without_waiting").expect_success();
}
TEST_F(AsksTest, a_refusal_is_the_callers) {
  asked_.style = Style::refused;
  Host host(all());
  host.add_job("asks", 1);
  host.start("asks", 0, "asks_for_everything", {std::to_string(PMIX_ERR_NO_PERMISSIONS)}).expect_success();
}
TEST_F(AsksTest, success_at_once_has_no_results) {
  asked_.style = Style::at_once;
  Host host(all());
  host.add_job("asks", 1);
  host.start("asks", 0, "asks_for_everything", {"empty"}).expect_success();
}
TEST_F(AsksTest, a_host_without_upcalls) {
  Host host;
  host.add_job("asks", 1);
  host.start("asks", 0, "asks_for_everything", {std::to_string(PMIX_ERR_NOT_SUPPORTED)}).expect_success();
}
TEST_F(AsksTest, bad_arguments) {
  Host host(all());
  host.add_job("asks", 1);
  host.start("asks", 0, "asks_badly").expect_success();
  EXPECT_TRUE(asked_.all().empty());
}
TEST_F(AsksTest, a_host_that_never_answers_ends) {
  asked_.style = Style::never;
  Child client;
  {
    Host host(all());
    host.add_job("asks", 1);
    client = host.start("asks", 0, "asks_for_everything", {std::to_string(PMIX_ERR_LOST_CONNECTION)});
    EXPECT_TRUE(asked_.wait_for(every_call[0]));
  }
  EXPECT_NE(client.wait(), -1) << "the client's call went on without its server";
}
TEST_F(AsksTest, the_last_participant_calls_the_host) {
  Host host(all());
  host.add_job("asks", 3);
  auto clients = host.start_all("asks", 3, "connects", {std::to_string(PMIX_SUCCESS)});
  expect_success(clients);
  auto lines = asked_.all();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].substr(0, 8), "connect ");
  EXPECT_EQ(lines[1].substr(0, 11), "disconnect ");
}
TEST_F(AsksTest, a_participant_that_dies_or_leaves) {
  const std::pair<const char*, pmix_status_t> ways[] = {{"die", PMIX_ERR_PROC_ABORTED},
                                                        {"finalize", PMIX_ERR_UNREACH}};
  for (const auto& [way, status] : ways) {
    asked_.lines.clear();
    Host host(all());
    host.add_job("asks", 2);
    auto clients = host.start_all("asks", 2, "connects", {std::to_string(status), "1", way});
    clients[1].expect("here");
    std::string(way) == "die" ? clients[1].kill() : clients[1].tell("go");
    clients[0].expect_success();
    EXPECT_TRUE(asked_.wait_for(std::string("connect 0 1 ") + PMIX_LOCAL_COLLECTIVE_STATUS + "=" +
                                PMIx_Error_string(status) + " "))
        << way << ": the host heard nothing";
  }
}
TEST_F(AsksTest, a_participant_that_has_died_or_left_before) {
  const std::pair<const char*, pmix_status_t> ways[] = {{"die", PMIX_ERR_PROC_ABORTED},
                                                        {"finalize", PMIX_ERR_UNREACH}};
  for (const auto& [way, status] : ways) {
    Host host(all());
    host.add_job("asks", 2);
    const Words words{std::to_string(status), "1", way};
    auto gone = host.start("asks", 1, "connects", words);
    gone.expect("here");
    std::string(way) == "die" ? gone.kill() : gone.tell("go");
    EXPECT_NE(gone.wait(), -1);
    host.start("asks", 0, "connects", words).expect_success();
  }
}
TEST_F(AsksTest, a_participant_that_is_late) {
  Host host(all());
  host.add_job("asks", 2);
  auto clients = host.start_all("asks", 2, "connects", {std::to_string(PMIX_ERR_TIMEOUT), "1", "timeout"});
  clients[0].expect_success();
  EXPECT_TRUE(
      asked_.wait_for(std::string("connect 0 1 ") + PMIX_LOCAL_COLLECTIVE_STATUS + "=PMIX_ERR_TIMEOUT "));
  clients[1].tell("go");
  clients[1].expect_success();
}
void deliver_output_to(Child& puller) {
  puller.expect("pulling");
  const auto deliver = [](const char* nspace, pmix_iof_channel_t channel) {
    char text[] = "text";
    const pmix_byte_object_t bytes{text, 4};
    const auto source = proc_of(nspace, 3);
    EXPECT_EQ(PMIx_server_IOF_deliver(&source, channel, &bytes, nullptr, 0, nullptr, nullptr),
              PMIX_OPERATION_SUCCEEDED);
  };
  deliver("source", PMIX_FWD_STDERR_CHANNEL);
  deliver("another", PMIX_FWD_STDOUT_CHANNEL);
  deliver("source", PMIX_FWD_STDOUT_CHANNEL);
  puller.expect("stopped");
  deliver("source", PMIX_FWD_STDOUT_CHANNEL);
  puller.tell("delivered");
  puller.expect_success();
}
TEST_F(AsksTest, output_reaches_the_client_that_pulls_it) {
  Host host(all());
  host.add_job("asks", 1);
  auto client = host.start("asks", 0, "pulls_output");
  deliver_output_to(client);
}
TEST_F(AsksTest, output_reaches_the_tool_that_pulls_it) {
  Host host(all());
  Child tool("pulls_output_as_a_tool", {}, {});
  deliver_output_to(tool);
}
TEST_F(AsksTest, queries_that_the_server_cannot_answer_go_to_the_host) {
  const std::pair<Style, Words> ways[] = {{Style::later, {std::to_string(PMIX_SUCCESS), "3"}},
                                          {Style::at_once, {std::to_string(PMIX_SUCCESS), "2"}},
                                          {Style::refused, {std::to_string(PMIX_ERR_PARTIAL_SUCCESS), "2"}}};
  for (const auto& [style, words] : ways) {
    asked_.style = style;
    asked_.lines.clear();
    Host host(all());
    host.add_job("asks", 1);
    host.start("asks", 0, "queries", words).expect_success();
    EXPECT_EQ(asked_.all(), std::vector<std::string>{"query 0 of.the.host qualifier=mine user group "});
  }
}
TEST_F(AsksTest, the_host_hears_which_events_are_wanted) {
  Host host(all());
  host.add_job("asks", 2);
  const std::string down = std::string(PMIx_Error_string(PMIX_EVENT_NODE_DOWN)) + " ",
                    offline = std::string(PMIx_Error_string(PMIX_EVENT_NODE_OFFLINE)) + " ";
  host.start("asks", 0, "watches_codes").expect_success();
  EXPECT_TRUE(asked_.wait_for("deregister_events " + offline + down));  // the lowest code first
  EXPECT_EQ(asked_.all().front(), "register_events " + down + offline + "user group ");
  EXPECT_EQ(asked_.all().size(), 2u) << "the second handler of a code asked again";
}
TEST_F(AsksTest, the_host_hears_which_events_are_wanted_no_more) {
  Host host(all());
  host.add_job("asks", 1);
  const std::string down = std::string(PMIx_Error_string(PMIX_EVENT_NODE_DOWN)) + " ",
                    of_program = std::string(PMIx_Error_string(7)) + " ", user = "user group ";
  const auto hears = [&](const std::vector<std::string>& lines) {
    EXPECT_TRUE(eventually([&] { return asked_.all().size() >= lines.size(); }));
    EXPECT_EQ(asked_.all(), lines);
    const std::lock_guard lock(asked_.mutex);
    asked_.lines.clear();
  };
  auto client = host.start("asks", 0, "watches_codes_for_a_while");
  hears({"register_events " + down + of_program + user});
  client.tell("leave 7");
  hears({"deregister_events " + of_program});
  client.tell("leave the other");
  hears({"deregister_events " + down});
  client.tell("come back");
  EXPECT_TRUE(asked_.wait_for("register_events " + down + user));
  client.tell("a default handler");
  EXPECT_TRUE(asked_.wait_for("deregister_events "));
  client.tell("a one-shot");
  EXPECT_TRUE(asked_.wait_for("deregister_events " + of_program));
  client.tell("end");
  client.expect_success();
  EXPECT_TRUE(eventually([&] { return asked_.all().back() == "deregister_events " + down; }));
  const auto all = asked_.all();
  const auto count = [&](const std::string& line) { return std::count(all.begin(), all.end(), line); };
  EXPECT_EQ(count("register_events " + down + user), count("deregister_events " + down));
  EXPECT_EQ(count("register_events " + user), 1);
  EXPECT_EQ(count("deregister_events "), 1);
}
TEST_F(AsksTest, a_code_that_another_client_or_the_host_wants_stays_registered) {
  Host host(all());
  host.add_job("asks", 2);
  size_t own = 0;
  {
    own = handler_of({PMIX_EVENT_NODE_DOWN});
    auto first = host.start("asks", 0, "watches_codes");
    first.expect_success();
    const std::string codes = std::string(PMIx_Error_string(PMIX_EVENT_NODE_OFFLINE)) + " ";
    EXPECT_TRUE(asked_.wait_for("deregister_events " + codes));
  }
  host.start("asks", 1, "watches_codes").expect_success();
  EXPECT_TRUE(eventually([&] { return asked_.all().size() == 4; }));
  EXPECT_EQ(PMIx_Deregister_event_handler(own, nullptr, nullptr), PMIX_OPERATION_SUCCEEDED);
  EXPECT_TRUE(
      asked_.wait_for("deregister_events " + std::string(PMIx_Error_string(PMIX_EVENT_NODE_DOWN)) + " "));
}

}  // namespace

void add_asks_programs(Programs& programs) {
  programs.add("asks_for_everything", asks_for_everything);
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
