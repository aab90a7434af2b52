// SPDX-License-Identifier: BSD-3-Clause
// libpmi2.so.0: the functions of PMI-2 over PMIx. Names of services, other jobs and further processes are not
// offered: PMI2_FAIL. Source of names, arguments and codes: Debian's libpmi2-0-dev (slurm/pmi2.h).
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "pmi/entry.hpp"

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

std::optional<std::string> attribute_of_job(const Job& job, std::string_view name) {
  if (name == "PMI_process_mapping") return job.process_mapping();
  if (name == "universeSize") return std::to_string(job.universe_size());
  return std::nullopt;
}

/// Waits for an attribute that another rank of this node puts, by looking again: no call of PMIx waits for a
/// key of any rank.
std::optional<std::string> await_attribute(const Job& job, const char* name) {
  constexpr std::chrono::milliseconds first_pause{1}, longest_pause{64};
  for (auto pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    if (auto text = job.get_on_node(name)) return text;
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
    set(spawned, 0);
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
    if (id != nullptr && job.name() != std::string_view(id, ::strnlen(id, name_room)))
      return invalid_argument;
    const auto hint = source >= 0 ? std::optional(static_cast<std::uint32_t>(source)) : std::nullopt;
    const auto found = job.get(key, hint);
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
    return attribute_out(wait != 0 ? await_attribute(job, name) : job.get_on_node(name), value, room, found);
  });
}

PMI_EXPORT int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int room, int* length,
                                             int* found) {
  return with_job([&](Job& job) -> int {
    if (check_key(name) != success) return check_key(name);
    return numbers_out(job.get_on_node(name), array, room, length, found);
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

// ---- what is not offered

PMI_EXPORT int PMI2_Job_Spawn(int, const char*[], int[], const char**[], const int[], const int[],
                              const void*[], int, const void*[], char[], int, int[]) {
  return fail;
}
PMI_EXPORT int PMI2_Job_Connect(const char[], void*) {
  return fail;
}
PMI_EXPORT int PMI2_Job_Disconnect(const char[]) {
  return fail;
}
