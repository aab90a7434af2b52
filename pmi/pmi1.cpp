// SPDX-License-Identifier: BSD-3-Clause
// libpmi.so.0: the functions of PMI-1 over PMIx. As everywhere with this interface, calls come from one
// thread at a time. Further spaces of keys are not offered: PMI_FAIL.
//   Source of names, arguments and codes: Debian's libpmi0-dev (slurm/pmi.h).

#include "pmi/entry.hpp"

using namespace weft::pmi;

namespace {

/// The one space of keys there is: the job's.
int check_space(const Job& job, const char* space) {
  if (space == nullptr) return invalid_space;
  return job.name() == std::string_view(space, ::strnlen(space, name_room)) ? success : invalid_space;
}

int first_error(int one, int other) {
  return one != success ? one : other;
}

int name_out(char* out, int room) {
  return with_job([&](Job& job) { return copy_out(job.name(), out, room); });
}

}  // namespace

// ---- the process and its job

PMI_EXPORT int PMI_Init(int* spawned) {
  return guarded([&] {
    if (spawned == nullptr) return static_cast<int>(invalid_argument);
    const auto status = own_job().open();
    return status == PMIX_SUCCESS ? set(spawned, own_job().parent().has_value()) : fail;
  });
}

PMI_EXPORT int PMI_Initialized(int* initialized) {
  return set(initialized, own_job().is_open());
}

PMI_EXPORT int PMI_Finalize() {
  return with_job([](Job& job) { return code_of(job.close()); });
}

PMI_EXPORT int PMI_Abort(int exit_code, const char message[]) {
  return with_job([&](Job& job) { return code_of(job.abort(exit_code, message)); });
}

PMI_EXPORT int PMI_Get_size(int* size) {
  return with_job([&](Job& job) { return set(size, job.size()); });
}

PMI_EXPORT int PMI_Get_rank(int* rank) {
  return with_job([&](Job& job) { return set(rank, job.rank()); });
}

PMI_EXPORT int PMI_Get_universe_size(int* size) {
  return with_job([&](Job& job) { return set(size, job.universe_size()); });
}

PMI_EXPORT int PMI_Get_appnum(int* number) {
  return with_job([&](Job& job) { return set(number, job.app_number()); });
}

PMI_EXPORT int PMI_Barrier() {
  return with_job([](Job& job) { return code_of(job.fence()); });
}

PMI_EXPORT int PMI_Get_id(char id[], int length) {
  return name_out(id, length);
}

PMI_EXPORT int PMI_Get_kvs_domain_id(char id[], int length) {
  return name_out(id, length);
}

PMI_EXPORT int PMI_Get_id_length_max(int* length) {
  return set(length, name_room);
}

PMI_EXPORT int PMI_Get_clique_size(int* size) {
  return with_job([&](Job& job) { return set(size, static_cast<long long>(job.local_ranks().size())); });
}

PMI_EXPORT int PMI_Get_clique_ranks(int ranks[], int length) {
  return with_job([&](Job& job) -> int {
    if (ranks == nullptr) return invalid_argument;
    const auto local = job.local_ranks();
    if (length < 0 || local.size() > static_cast<std::size_t>(length)) return invalid_length;
    std::copy(local.begin(), local.end(), ranks);
    return success;
  });
}

// ---- the space of keys

PMI_EXPORT int PMI_KVS_Get_my_name(char name[], int length) {
  return name_out(name, length);
}

PMI_EXPORT int PMI_KVS_Get_name_length_max(int* length) {
  return set(length, name_room);
}

PMI_EXPORT int PMI_KVS_Get_key_length_max(int* length) {
  return set(length, key_room);
}

PMI_EXPORT int PMI_KVS_Get_value_length_max(int* length) {
  return set(length, value_room);
}

PMI_EXPORT int PMI_KVS_Put(const char space[], const char key[], const char value[]) {
  return with_job([&](Job& job) {
    const int error = first_error(check_space(job, space), first_error(check_key(key), check_value(value)));
    return error != success ? error : code_of(job.put(key, value));
  });
}

PMI_EXPORT int PMI_KVS_Commit(const char space[]) {
  // PMI_Barrier publishes what was put: before it no other process may read it.
  return with_job([&](Job& job) { return check_space(job, space); });
}

PMI_EXPORT int PMI_KVS_Get(const char space[], const char key[], char value[], int length) {
  return with_job([&](Job& job) -> int {
    const int error = first_error(check_space(job, space), check_key(key));
    if (error != success) return error;
    const auto found = std::string_view(key) == "PMI_process_mapping" ? job.process_mapping() : job.get(key);
    return found ? copy_out(*found, value, length) : fail;
  });
}

// ---- services

PMI_EXPORT int PMI_Publish_name(const char service[], const char port[]) {
  return with_job([&](Job& job) { return publish(job, service, port); });
}
PMI_EXPORT int PMI_Unpublish_name(const char service[]) {
  return with_job([&](Job& job) { return unpublish(job, service); });
}
/// port: of port_room bytes, as that of every caller.
PMI_EXPORT int PMI_Lookup_name(const char service[], char port[]) {
  return with_job([&](Job& job) { return look_up(job, service, port, static_cast<int>(port_room)); });
}

// ---- further processes

namespace {

/// slurm/pmi.h's PMI_keyval_t.
struct KeyValueArgument {
  char* key;
  char* value;
};

}  // namespace

/// errors [count]: of each command; NULL: not wanted. All commands run as one job, or none.
PMI_EXPORT int PMI_Spawn_multiple(int count, const char* programs[], const char** arguments[],
                                  const int ranks[], const int info_counts[], const KeyValueArgument* infos[],
                                  int preput_count, const KeyValueArgument preput[], int errors[]) {
  return with_job([&](Job& job) -> int {
    if (preput_count > 0 && preput == nullptr) return invalid_argument;
    SpawnOrder order;
    if (!set_commands(count, programs, arguments, nullptr, ranks, info_counts, infos, order.commands))
      return invalid_argument;
    for (int i = 0; i < preput_count; ++i)
      if (!add_preput(preput[i].key, preput[i].value, order.preput)) return invalid_argument;
    const int code = code_of(job.spawn(order).status);
    set_errors(errors, count, code);
    return code;
  });
}

// ---- what is not offered

PMI_EXPORT int PMI_KVS_Create(char[], int) {
  return fail;
}
PMI_EXPORT int PMI_KVS_Destroy(const char[]) {
  return fail;
}
PMI_EXPORT int PMI_KVS_Iter_first(const char[], char[], int, char[], int) {
  return fail;
}
PMI_EXPORT int PMI_KVS_Iter_next(const char[], char[], int, char[], int) {
  return fail;
}
PMI_EXPORT int PMI_Parse_option(int, char*[], int*, void**, int*) {
  return fail;
}
PMI_EXPORT int PMI_Args_to_keyval(int*, char***, void**, int*) {
  return fail;
}
PMI_EXPORT int PMI_Free_keyvals(void*, int) {
  return fail;
}
PMI_EXPORT int PMI_Get_options(char*, int*) {
  return fail;
}
