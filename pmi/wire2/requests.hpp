// SPDX-License-Identifier: BSD-3-Clause
// What a message of PMI-2 asks for, with every field that the request needs, checked.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pmi/spawn/spawn_order.hpp"
#include "pmi/wire2/frames.hpp"

namespace weft::pmi::wire2 {

enum class Command : std::uint8_t {
  fullinit,
  finalize,
  abort,
  spawn,
  spawn_command,
  job_getid,
  job_connect,
  job_disconnect,
  kvs_put,
  kvs_get,
  kvs_fence,
  info_putnodeattr,
  info_getnodeattr,
  info_getjobattr,
  name_publish,
  name_lookup,
  name_unpublish,
};

/// Fields that a request cannot do without.
enum Need : std::uint8_t {
  need_nothing = 0,
  need_key = 1,
  need_value = 2,
  need_job = 4,
  need_name = 8,
  need_port = 16
};

struct CommandRow {
  std::string_view name;
  Command command;
  std::uint8_t needs;
};
inline constexpr std::array<CommandRow, 17> command_rows{{
    {"fullinit", Command::fullinit, need_nothing},
    {"finalize", Command::finalize, need_nothing},
    {"abort", Command::abort, need_nothing},
    {"spawn", Command::spawn, need_nothing},
    {"spawn-cmd", Command::spawn_command, need_nothing},
    {"job-getid", Command::job_getid, need_nothing},
    {"job-connect", Command::job_connect, need_job},
    {"job-disconnect", Command::job_disconnect, need_job},
    {"kvs-put", Command::kvs_put, need_key | need_value},
    {"kvs-get", Command::kvs_get, need_key},
    {"kvs-fence", Command::kvs_fence, need_nothing},
    {"info-putnodeattr", Command::info_putnodeattr, need_key | need_value},
    {"info-getnodeattr", Command::info_getnodeattr, need_key},
    {"info-getjobattr", Command::info_getjobattr, need_key},
    {"name-publish", Command::name_publish, need_name | need_port},
    {"name-lookup", Command::name_lookup, need_name},
    {"name-unpublish", Command::name_unpublish, need_name},
}};

/// rc of a reply: the numbers of PMI-2's interface. other: also for a command that is not known, which has no
/// number of its own.
enum class Code : std::uint8_t {
  success = 0,
  not_initialized = 1,
  no_memory = 2,
  invalid_argument = 3,
  invalid_key = 4,
  invalid_key_length = 5,
  invalid_value = 6,
  invalid_value_length = 7,
  invalid_length = 8,
  other = 14,
};

struct Request {
  Command command = Command::finalize;
  std::string key, value;               ///< shorter than key_room and value_room
  std::string job, service, port;       ///< shorter than name_room, service_room, port_room
  std::string text;                     ///< msg of abort
  std::optional<std::uint32_t> source;  ///< the rank that has probably put the key
  bool is_waiting = false;              ///< info-getnodeattr: until the attribute is there
  bool is_whole_job = true;             ///< abort
};

/// A request, or why it is none.
struct Reading {
  std::optional<Request> request;
  Code code = Code::success;
  std::string_view text;
};
/// All but the programs of spawn and spawn-cmd (spawn_fields).
Reading read_request(const Message& message);

/// thrid, which the reply repeats; empty: the request has none, or none that could be repeated.
std::string thread_of(const Message& message);
/// The command whose reply tells how a request has ended: a program of an order is a part of spawn.
std::string_view answered_command(const Message& message);

}  // namespace weft::pmi::wire2
