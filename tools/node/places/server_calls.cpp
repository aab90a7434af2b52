// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/places/server_calls.hpp"

#include <cstring>
#include <string_view>
#include <utility>

#include "tools/node/places/server_query.hpp"

namespace weft::node {
namespace {

constexpr const char* calls_key = "weft.calls";

std::string text_in(const pmix_value_t& value) {
  return value.type == PMIX_STRING && value.data.string != nullptr ? value.data.string : "";
}

void take(const pmix_info_t& info, job::Place& place) {
  const std::string_view key(info.key, ::strnlen(info.key, PMIX_MAX_KEYLEN));
  const auto& value = info.value;
  if (key == PMIX_RANK && value.type == PMIX_PROC_RANK) place.rank = job::Rank{value.data.rank};
  if (key == PMIX_PROC_PID && value.type == PMIX_PID) place.pid = value.data.pid;
  if (key == "weft.state" && value.type == PMIX_UINT32 && value.data.uint32 <= 3)
    place.phase = static_cast<job::Place::Phase>(value.data.uint32);
  if (key == "weft.function") place.call = text_in(value);
  if (key == "weft.last") place.last = text_in(value);
  if (key == "weft.age" && value.type == PMIX_UINT64) place.age_ms = value.data.uint64;
}

}  // namespace

std::vector<job::Place> places_in(const pmix_value_t& value) {
  std::vector<job::Place> out;
  for (const auto& one : infos_in(value)) {
    auto& place = out.emplace_back();
    for (const auto& info : infos_in(one.value)) take(info, place);
  }
  return out;
}

void ask_server_calls(const std::string& nspace, std::function<void(std::vector<job::Place>)> answered) {
  ask_server(calls_key, nspace, [answered = std::move(answered)](const pmix_value_t* value) {
    answered(value == nullptr ? std::vector<job::Place>() : places_in(*value));
  });
}

}  // namespace weft::node
