// SPDX-License-Identifier: BSD-3-Clause
// What the entry points of libpmi.so.0 and libpmi2.so.0 share: the job of this process, texts of callers,
// guarded bodies. The codes of both interfaces are the same numbers.
#pragma once

#include <algorithm>
#include <climits>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "pmi/job/job.hpp"

#define PMI_EXPORT extern "C" __attribute__((visibility("default")))

namespace weft::pmi {

enum Code : int {
  success = 0,
  fail = -1,
  not_initialized = 1,
  no_memory = 2,
  invalid_argument = 3,
  invalid_key = 4,
  invalid_key_length = 5,
  invalid_value = 6,
  invalid_value_length = 7,
  invalid_length = 8,
  invalid_space = 14,
};

/// This process's: the interfaces pass no handle.
inline Job& own_job() {
  static Job job;
  return job;
}

inline int code_of(pmix_status_t status) {
  return status == PMIX_SUCCESS ? success : status == PMIX_ERR_NOMEM ? no_memory : fail;
}

/// The body of an entry point that needs no job.
template <class Body>
int guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return no_memory;
  } catch (const std::exception&) {
    return fail;
  }
}

/// body: gets the job.
template <class Body>
int with_job(Body&& body) noexcept {
  return guarded([&] { return own_job().is_open() ? body(own_job()) : not_initialized; });
}

/// success, or why `text` is no key.
inline int check_key(const char* text) {
  if (text == nullptr || *text == '\0') return invalid_key;
  return ::strnlen(text, key_room) < key_room ? success : invalid_key_length;
}
inline int check_value(const char* text) {
  if (text == nullptr) return invalid_value;
  return ::strnlen(text, value_room) < value_room ? success : invalid_value_length;
}

/// Writes text and its zero. invalid_length: it does not fit, and nothing is written.
inline int copy_out(std::string_view text, char* out, int room) {
  if (out == nullptr) return invalid_argument;
  if (room < 0 || text.size() >= static_cast<std::size_t>(room)) return invalid_length;
  std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
  return success;
}

inline int set(int* out, long long value) {
  if (out == nullptr) return invalid_argument;
  *out = static_cast<int>(value);
  return success;
}

// ---- further processes

/// A command and its arguments, as both interfaces give these: argv ends with NULL, or is NULL; most: a
/// number of arguments that is told beside. False: nothing is to be started.
inline bool set_command(const char* program, const char* const argv[], int most, int ranks,
                        SpawnCommand& out) {
  if (program == nullptr || *program == '\0' || ranks <= 0) return false;
  out.program = program;
  out.ranks = static_cast<std::uint32_t>(ranks);
  for (int i = 0; argv != nullptr && i < most && argv[i] != nullptr; ++i) out.arguments.emplace_back(argv[i]);
  return true;
}

/// False: the pair is none.
inline bool add_pair(const char* key, const char* value, std::vector<KeyValue>& out) {
  if (key == nullptr || value == nullptr) return false;
  out.push_back({key, value});
  return true;
}
/// The commands of a call. Info: has `key` and `value`. argument_counts: of each argv, or NULL. False: one of
/// them is none.
template <class Info>
bool set_commands(int count, const char* const programs[], const char** const arguments[],
                  const int argument_counts[], const int ranks[], const int info_counts[],
                  const Info* const infos[], std::vector<SpawnCommand>& out) {
  if (count <= 0 || programs == nullptr || ranks == nullptr) return false;
  for (int i = 0; i < count; ++i) {
    auto& command = out.emplace_back();
    const auto* const argv = arguments == nullptr ? nullptr : arguments[i];
    const int most = argument_counts == nullptr ? INT_MAX : argument_counts[i];
    if (!set_command(programs[i], argv, most, ranks[i], command)) return false;
    const auto* const own = infos == nullptr || info_counts == nullptr ? nullptr : infos[i];
    for (int n = 0; own != nullptr && n < info_counts[i]; ++n)
      if (!add_pair(own[n].key, own[n].value, command.infos)) return false;
  }
  return true;
}
/// False: a key or value that the children could not read.
inline bool add_preput(const char* key, const char* value, std::vector<KeyValue>& out) {
  return check_key(key) == success && check_value(value) == success && add_pair(key, value, out);
}

/// How each command has ended: all have in the same way.
inline void set_errors(int errors[], int count, int code) {
  if (errors != nullptr) std::fill_n(errors, count, code);
}

// ---- services

inline bool is_service(const char* name) {
  return name != nullptr && *name != '\0' && ::strnlen(name, service_room) < service_room;
}
inline int publish(Job& job, const char* service, const char* port) {
  if (!is_service(service) || port == nullptr) return invalid_argument;
  if (::strnlen(port, port_room) == port_room) return invalid_length;
  return code_of(job.publish(service, port));
}
inline int unpublish(Job& job, const char* service) {
  return is_service(service) ? code_of(job.unpublish(service)) : invalid_argument;
}
inline int look_up(const Job& job, const char* service, char* port, int room) {
  if (!is_service(service)) return invalid_argument;
  const auto found = job.look_up(service);
  return found ? copy_out(*found, port, room) : fail;
}

}  // namespace weft::pmi
