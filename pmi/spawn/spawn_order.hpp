// SPDX-License-Identifier: BSD-3-Clause
// A job that a rank asks for, as PMI-1, PMI-2 and their wire form say it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::pmi {

/// With the terminating zero, as the interfaces count. MPICH's client of the wire form reads lines of 1024
/// bytes.
inline constexpr std::size_t name_room = 256, key_room = 64, value_room = 1024;

struct KeyValue {
  std::string key, value;
  bool operator==(const KeyValue&) const = default;
};

struct SpawnCommand {
  std::string program;
  std::vector<std::string> arguments;  ///< without the program's name
  std::uint32_t ranks = 0;
  std::vector<KeyValue> infos;  ///< keys of MPI_Comm_spawn: "wdir", "host", ...
};

struct SpawnOrder {
  std::vector<SpawnCommand> commands;
  std::vector<KeyValue> preput;  ///< what the children find in their space of keys from the start
};

/// What one order may have. The bytes of all of its texts fit with these into the environment of a process.
inline constexpr std::size_t most_spawn_commands = 256, most_spawn_bytes = std::size_t{1} << 20;

}  // namespace weft::pmi
