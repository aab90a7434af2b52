// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/wire2/spawn_fields.hpp"

#include <utility>

#include "pmi/spawn/words.hpp"
#include "pmi/wire2/requests.hpp"

namespace weft::pmi::wire2 {

SpawnFields::Step SpawnFields::begin(const Message& message) {
  release();
  thread_ = thread_of(message);
  for (const auto& field : message.fields)
    if (!take(field)) return fail();
  if (is_in_program_ && !end_program()) return fail();
  if (programs_ == 0) programs_ = static_cast<std::uint32_t>(order_.commands.size());
  return end_message();
}

SpawnFields::Step SpawnFields::add(const Message& message) {
  if (!is_open_ || thread_of(message) != thread_) return fail();
  if (!begin_program({})) return fail();
  for (const auto& field : message.fields)
    if (!take(field)) return fail();
  return end_program() ? end_message() : fail();
}

/// Programs come all in the message, or all behind it.
SpawnFields::Step SpawnFields::end_message() {
  const auto there = order_.commands.size();
  if (programs_ == 0 || there > programs_) return fail();
  if (there != 0 && there < programs_ && !is_open_) return fail();
  is_open_ = there < programs_;
  return is_open_ ? Step::more : Step::order_ends;
}

SpawnFields::Step SpawnFields::fail() {
  release();
  return Step::is_wrong;
}

bool SpawnFields::take(const KeyValue& field) {
  bytes_ += field.key.size() + field.value.size();
  if (bytes_ > most_spawn_bytes || field.value.find('\0') != std::string::npos) return false;
  if (field.key == "subcmd") return begin_program(field.value);
  return is_in_program_ ? take_of_program(field.key, field.value) : take_of_order(field.key, field.value);
}

/// Fields that are not known are other clients' and say nothing that is needed.
bool SpawnFields::take_of_order(std::string_view name, std::string_view value) {
  if (name == "ncmds") {
    programs_ = count_of(value).value_or(0);
    return programs_ != 0 && programs_ <= most_spawn_commands;
  }
  if (begins(name, "ppkey")) return begin_pair(order_.preput, value);
  if (begins(name, "ppval")) return end_pair(order_.preput, value, value_room);
  return true;
}

bool SpawnFields::take_of_program(std::string_view name, std::string_view value) {
  auto& program = order_.commands.back();
  if (name == "maxprocs") {
    const auto number = count_of(value);
    program.ranks = number.value_or(0);
    return number.has_value();
  }
  if (name == "argc") return (arguments_ = count_of(value)).has_value();
  if (begins(name, "argv")) return take_argument(name.substr(4), value);
  if (name == "infokeycount") return count_of(value).has_value();
  if (begins(name, "infokey")) return begin_pair(program.infos, value);
  if (begins(name, "infoval")) return end_pair(program.infos, value, most_spawn_bytes);
  return true;
}

/// Counted from 0 or from 1.
bool SpawnFields::take_argument(std::string_view number, std::string_view value) {
  auto& arguments = order_.commands.back().arguments;
  const auto place = count_of(number);
  if (!place) return false;
  if (!first_argument_) first_argument_ = *place;
  if (*first_argument_ > 1 || *place != *first_argument_ + arguments.size()) return false;
  arguments.emplace_back(value);
  return true;
}

bool SpawnFields::begin_program(std::string_view name) {
  if (is_in_program_ && !end_program()) return false;
  if (order_.commands.size() == most_spawn_commands) return false;
  order_.commands.emplace_back().program = name;
  is_in_program_ = true;
  return true;
}

/// Of a program that has no subcmd the first argument is the name.
bool SpawnFields::end_program() {
  auto& program = order_.commands.back();
  is_in_program_ = false;
  first_argument_.reset();
  const auto told = std::exchange(arguments_, std::nullopt);
  if (told && *told != program.arguments.size()) return false;
  if (program.program.empty() && !program.arguments.empty()) {
    program.program = std::move(program.arguments.front());
    program.arguments.erase(program.arguments.begin());
  }
  return !program.program.empty();
}

SpawnOrder SpawnFields::release() {
  auto order = std::move(order_);
  *this = {};
  return order;
}

}  // namespace weft::pmi::wire2
