// SPDX-License-Identifier: BSD-3-Clause
// libpmi2.so.0: the functions of PMI-2 over PMIx.
//   Source of names, arguments and codes: Debian's libpmi2-0-dev (slurm/pmi2.h).
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "pmi/entry.hpp"
#include "pmi/job/attributes.hpp"

using namespace weft::pmi;

namespace {

/// An attribute that is not there is no error: `found` says so.
int attribute_out(const std::optional<std::string>& text, char value[], int room, int* found) {
  if (found == nullptr) return invalid_argument;
  *found = 0;
  if (!text) return success;
  const int error = copy_out(*text, value, room);
  *found = error == success;
  return error;
}

/// "1,2,3" into an array, as much as it holds.
int numbers_out(const std::optional<std::string>& text, int array[], int room, int* length, int* found) {
  if (array == nullptr || length == nullptr || found == nullptr || room < 0) return invalid_argument;
  *found = 0;
  *length = 0;
  if (!text) return success;
  const char* at = text->data();
  const char* const end = at + text->size();
  while (at != end && *length < room) {
    const auto [next, error] = std::from_chars(at, end, array[*length]);
    if (error != std::errc() || (next != end && *next != ',')) return fail;
    ++*length;
    at = next == end ? end : next + 1;
  }
  *found = 1;
  return success;
}

/// Waits for an attribute that another rank of this node puts, by looking again: no call of PMIx waits for a
/// key of any rank.
std::optional<std::string> await_attribute(const Job& job, const char* name) {
  constexpr std::chrono::milliseconds first_pause{1}, longest_pause{64};
  for (auto pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    if (auto text = attribute_of_node(job, name)) return text;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

// ---- the process and its job

PMI_EXPORT int PMI2_Init(int* spawned, int* size, int* rank, int* appnum) {
  return guarded([&]() -> int {
    if (spawned == nullptr || size == nullptr || rank == nullptr || appnum == nullptr)
      return invalid_argument;
    Job& job = own_job();
    if (job.open() != PMIX_SUCCESS) return fail;
    set(spawned, job.parent().has_value());
    set(size, job.size());
    set(rank, job.rank());
    return set(appnum, job.app_number());
  });
}

PMI_EXPORT int PMI2_Initialized() {
  return own_job().is_open() ? 1 : 0;
}

PMI_EXPORT int PMI2_Finalize() {
  return with_job([](Job& job) { return code_of(job.close()); });
}

/// whole: false for this process alone, which its exit status ends.
PMI_EXPORT int PMI2_Abort(int whole, const char message[]) {
  return with_job([&](Job& job) -> int { return whole != 0 ? code_of(job.abort(1, message)) : fail; });
}

PMI_EXPORT int PMI2_Job_GetId(char id[], int room) {
  return with_job([&](Job& job) { return copy_out(job.name(), id, room); });
}

PMI_EXPORT int PMI2_Job_GetRank(int* rank) {
  return with_job([&](Job& job) { return set(rank, job.rank()); });
}

PMI_EXPORT int PMI2_Info_GetSize(int* size) {
  return with_job([&](Job& job) { return set(size, static_cast<long long>(job.local_ranks().size())); });
}

// ---- the space of keys

PMI_EXPORT int PMI2_KVS_Put(const char key[], const char value[]) {
  return with_job([&](Job& job) {
    const int error = check_key(key) != success ? check_key(key) : check_value(value);
    return error != success ? error : code_of(job.put(key, value));
  });
}

PMI_EXPORT int PMI2_KVS_Fence() {
  return with_job([](Job& job) { return code_of(job.fence()); });
}

PMI_EXPORT int PMI2_KVS_Get(const char* id, int source, const char key[], char value[], int room,
                            int* length) {
  return with_job([&](Job& job) -> int {
    if (length == nullptr || value == nullptr || room < 0) return invalid_argument;
    if (check_key(key) != success) return check_key(key);
    const auto hint = source >= 0 ? std::optional(static_cast<std::uint32_t>(source)) : std::nullopt;
    const std::string_view other(id == nullptr ? "" : id, id == nullptr ? 0 : ::strnlen(id, name_room));
    const bool is_own = id == nullptr || other == job.name();
    if (!is_own && !job.is_connected(other)) return invalid_argument;
    const auto found = is_own ? job.get(key, hint) : job.get_of(other, key, hint);
    if (!found) return fail;
    const auto size = static_cast<int>(found->size());
    if (copy_out(*found, value, room) != success) return set(length, -(size + 1));
    return set(length, size);
  });
}

// ---- attributes

PMI_EXPORT int PMI2_Info_PutNodeAttr(const char name[], const char value[]) {
  return with_job([&](Job& job) {
    const int error = check_key(name) != success ? check_key(name) : check_value(value);
    return error != success ? error : code_of(job.put_on_node(name, value));
  });
}

PMI_EXPORT int PMI2_Info_GetNodeAttr(const char name[], char value[], int room, int* found, int wait) {
  return with_job([&](Job& job) -> int {
    if (check_key(name) != success) return check_key(name);
    return attribute_out(wait != 0 ? await_attribute(job, name) : attribute_of_node(job, name), value, room,
                         found);
  });
}

PMI_EXPORT int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int room, int* length,
                                             int* found) {
  return with_job([&](Job& job) -> int {
    if (check_key(name) != success) return check_key(name);
    return numbers_out(attribute_of_node(job, name), array, room, length, found);
  });
}

PMI_EXPORT int PMI2_Info_GetJobAttr(const char name[], char value[], int room, int* found) {
  return with_job([&](Job& job) -> int {
    if (check_key(name) != success) return check_key(name);
    return attribute_out(attribute_of_job(job, name), value, room, found);
  });
}

PMI_EXPORT int PMI2_Info_GetJobAttrIntArray(const char name[], int array[], int room, int* length,
                                            int* found) {
  return with_job([&](Job& job) -> int {
    if (check_key(name) != success) return check_key(name);
    const auto text = std::string_view(name) == "universeSize" ? attribute_of_job(job, name) : std::nullopt;
    return numbers_out(text, array, room, length, found);
  });
}

// ---- services; what the infos say is of no use here

PMI_EXPORT int PMI2_Nameserv_publish(const char service[], const void*, const char port[]) {
  return with_job([&](Job& job) { return publish(job, service, port); });
}
PMI_EXPORT int PMI2_Nameserv_lookup(const char service[], const void*, char port[], int room) {
  return with_job([&](Job& job) { return look_up(job, service, port, room); });
}
PMI_EXPORT int PMI2_Nameserv_unpublish(const char service[], const void*) {
  return with_job([&](Job& job) { return unpublish(job, service); });
}

// ---- further processes

namespace {

/// slurm/pmi2.h's MPID_Info, as far as it is read here: an array of them for the infos of a command, an array
/// of pointers for what is preput.
struct InfoArgument {
  int handle, mutex, references;
  InfoArgument* next;
  char *key, *value;
};

bool read_preput(const InfoArgument* const preput[], int count, SpawnOrder& order) {
  for (int i = 0; i < count; ++i)
    if (preput[i] == nullptr || !add_preput(preput[i]->key, preput[i]->value, order.preput)) return false;
  return true;
}

/// slurm/pmi2.h's PMI2_Connect_comm_t: a way to the other job for a server that does not see that job's
/// values. Ours does, so there is none.
struct ConnectArgument {
  int (*read)(void*, int, void*);
  int (*write)(const void*, int, void*);
  void* context;
  int is_master;
};

std::string name_of_job(const char* id) {
  return id == nullptr ? std::string() : std::string(id, ::strnlen(id, name_room));
}

}  // namespace

/// id [room]: gets the name of the new job; errors [count]: of each command, NULL: not wanted. All commands
/// run as one job, or none.
PMI_EXPORT int PMI2_Job_Spawn(int count, const char* programs[], int argument_counts[],
                              const char** arguments[], const int ranks[], const int info_counts[],
                              const InfoArgument* infos[], int preput_count, const InfoArgument* preput[],
                              char id[], int room, int errors[]) {
  return with_job([&](Job& job) -> int {
    if (preput_count > 0 && preput == nullptr) return invalid_argument;
    SpawnOrder order;
    if (!set_commands(count, programs, arguments, argument_counts, ranks, info_counts, infos, order.commands))
      return invalid_argument;
    if (!read_preput(preput, preput_count, order)) return invalid_argument;
    const auto spawned = job.spawn(order);
    const int code = code_of(spawned.status);
    set_errors(errors, count, code);
    return code == success && id != nullptr ? copy_out(spawned.job, id, room) : code;
  });
}

/// Not collective; PMI2_KVS_Get reads values of that job from now on.
PMI_EXPORT int PMI2_Job_Connect(const char id[], ConnectArgument* way) {
  return with_job([&](Job& job) -> int {
    if (id == nullptr) return invalid_argument;
    const auto status = job.connect(name_of_job(id));
    if (status == PMIX_SUCCESS && way != nullptr) *way = {};
    return code_of(status);
  });
}

PMI_EXPORT int PMI2_Job_Disconnect(const char id[]) {
  return with_job([&](Job& job) -> int {
    return id == nullptr ? static_cast<int>(invalid_argument) : code_of(job.disconnect(name_of_job(id)));
  });
}
