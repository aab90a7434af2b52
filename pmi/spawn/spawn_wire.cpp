// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/spawn/spawn_wire.hpp"

#include <utility>

#include "pmi/spawn/words.hpp"

namespace weft::pmi {

SpawnReader::Step SpawnReader::take(std::string_view line) {
  if (line == "endcmd") return end_block();
  bytes_ += line.size();
  const auto equals = line.find('=');
  const bool is_word = equals != std::string_view::npos && bytes_ <= most_spawn_bytes &&
                       line.find('\0') == std::string_view::npos;
  if (!is_word) return Step::is_wrong;
  return take_word(line.substr(0, equals), line.substr(equals + 1)) ? Step::more : Step::is_wrong;
}

/// Words that are not known are other clients' and say nothing that is needed.
bool SpawnReader::take_word(std::string_view name, std::string_view value) {
  if (name == "execname") return command_.program = value, !value.empty();
  if (begins(name, "preput_key_")) return begin_pair(order_.preput, value);
  if (begins(name, "preput_val_")) return end_pair(order_.preput, value, value_room);
  if (begins(name, "info_key_")) return begin_pair(command_.infos, value);
  if (begins(name, "info_val_")) return end_pair(command_.infos, value, most_spawn_bytes);
  if (begins(name, "arg") && name != "argcnt") return take_argument(name.substr(3), value);
  return take_count(name, value);
}

bool SpawnReader::take_count(std::string_view name, std::string_view value) {
  const auto number = count_of(value);
  if (name == "nprocs") return command_.ranks = number.value_or(0), number.has_value();
  if (name == "totspawns")
    return programs_ = number.value_or(0), programs_ != 0 && programs_ <= most_spawn_commands;
  if (name == "spawnssofar") return number == order_.commands.size() + 1;
  if (name == "argcnt") return number == command_.arguments.size();
  return true;
}

bool SpawnReader::take_argument(std::string_view number, std::string_view value) {
  if (count_of(number) != command_.arguments.size() + 1) return false;
  command_.arguments.emplace_back(value);
  return true;
}

SpawnReader::Step SpawnReader::end_block() {
  if (command_.program.empty()) return Step::is_wrong;
  order_.commands.push_back(std::exchange(command_, {}));
  if (order_.commands.size() > programs_) return Step::is_wrong;
  return order_.commands.size() < programs_ ? Step::block_ends : Step::order_ends;
}

SpawnOrder SpawnReader::release() {
  programs_ = 1;
  bytes_ = 0;
  return std::exchange(order_, {});
}

}  // namespace weft::pmi
