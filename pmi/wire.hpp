// SPDX-License-Identifier: BSD-3-Clause
// The wire form of PMI-1: lines of words "name=value" over a socket that a process inherits, a request and
// its reply at a time. The bytes are a stranger's.
//   Source: the observed conversation of MPICH 4.0.2 with Hydra; Flux RFC 13,
//   "Simple Process Manager Interface v1".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pmi/spawn/spawn_order.hpp"
#include "pmi/spawn/spawn_wire.hpp"

namespace weft::pmi {

enum class Command : std::uint8_t {
  init,
  get_maxes,
  get_appnum,
  get_my_kvsname,
  get_universe_size,
  barrier_in,
  put,
  get,
  abort,
  finalize,
  publish_name,
  unpublish_name,
  lookup_name,
  spawn,
};
/// The names of commands on the wire.
inline constexpr std::array<std::pair<std::string_view, Command>, 14> command_names{{
    {"init", Command::init},
    {"get_maxes", Command::get_maxes},
    {"get_appnum", Command::get_appnum},
    {"get_my_kvsname", Command::get_my_kvsname},
    {"get_universe_size", Command::get_universe_size},
    {"barrier_in", Command::barrier_in},
    {"put", Command::put},
    {"get", Command::get},
    {"abort", Command::abort},
    {"finalize", Command::finalize},
    {"publish_name", Command::publish_name},
    {"unpublish_name", Command::unpublish_name},
    {"lookup_name", Command::lookup_name},
    {"spawn", Command::spawn},
}};

struct Request {
  Command command = Command::init;
  std::string space;             ///< kvsname
  std::string key, value;        ///< shorter than key_room and value_room
  std::string service, port;     ///< shorter than service_room and port_room
  std::int32_t version = 0;      ///< pmi_version of init
  std::int32_t exit_status = 1;  ///< of abort
  SpawnOrder spawn;
};

/// One line without its newline. No request: an unknown command, a word that is missing, or one that is too
/// long.
std::optional<Request> read_request(std::string_view line);

/// Whether a text can be told as a value: it fits the room that a program was told of, and ends no line. A
/// rank may have put the text by another interface.
bool is_value(std::string_view text) noexcept;

/// Bytes in, requests out; keeps no more than one line, or one order to spawn.
class RequestReader {
 public:
  static constexpr std::size_t longest_line = 4096;

  /// Takes as much of `bytes` as the next request needs, and removes it there. No request yet: all of it was
  /// taken. After an error every call is one.
  struct Result {
    std::optional<Request> request;
    bool is_error = false;
    std::string line;  ///< what is wrong, for an error
  };
  Result next(std::string_view& bytes);

 private:
  Result take_line();
  Result take_line_of_spawn(std::string_view line);
  Result fail(std::string_view line);
  std::string line_;
  SpawnReader spawn_;
  bool is_in_spawn_ = false, has_failed_ = false;
};

}  // namespace weft::pmi
