// SPDX-License-Identifier: BSD-3-Clause
#include "tests/multiproc/host/asks_host.hpp"

#include <unistd.h>

#include <cstring>

namespace weft::test {
namespace {

Asked* asked = nullptr;

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

}  // namespace

void ask_into(Asked& to) {
  asked = &to;
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

}  // namespace weft::test
