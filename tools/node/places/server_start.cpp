// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/places/server_start.hpp"

#include <cstring>
#include <string_view>
#include <utility>

#include "tools/node/places/server_query.hpp"

namespace weft::node {
namespace {

constexpr const char* start_key = "weft.start";

FirstCalls calls_in(const pmix_value_t& value) {
  if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) return {};
  const auto& array = *value.data.darray;
  if (array.type != PMIX_UINT64 || array.array == nullptr || array.size != 4) return {};
  const auto* const numbers = static_cast<const std::uint64_t*>(array.array);
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

constexpr std::uint64_t microseconds(std::uint64_t nanoseconds) noexcept {
  return nanoseconds / 1000;
}

}  // namespace

ServerStart start_in(const pmix_value_t& value) {
  ServerStart out;
  for (const auto& info : infos_in(value)) {
    const std::string_view key(info.key, ::strnlen(info.key, PMIX_MAX_KEYLEN));
    if (key == "weft.start.init") out.init = calls_in(info.value);
    if (key == "weft.start.fence") out.fence = calls_in(info.value);
    if (key == "weft.start.fetch") out.fetch = calls_in(info.value);
    if (key == "weft.bytes" && info.value.type == PMIX_UINT64) out.fence_bytes = info.value.data.uint64;
  }
  return out;
}

void add_to(job::NodeStart& start, const ServerStart& said, std::uint64_t started) {
  start.in_init = static_cast<std::uint32_t>(said.init.ranks);
  start.fenced = static_cast<std::uint32_t>(said.fence.ranks);
  start.fetched = static_cast<std::uint32_t>(said.fetch.ranks);
  start.fence_bytes = said.fence_bytes;
  if (said.init.ranks != 0) start.init = microseconds(said.init.longest);
  if (said.fence.ranks != 0) start.fence = microseconds(said.fence.after_last);
  if (said.fetch.ranks != 0) start.fetch = microseconds(said.fetch.longest);
  // A rank that was started early may be in PMIx_Init before the last one is there.
  if (said.init.ranks != 0 && started != 0)
    start.load = said.init.last_begun > started ? microseconds(said.init.last_begun - started) : 0;
}

void ask_server_start(const std::string& nspace, std::function<void(const ServerStart&)> answered) {
  ask_server(start_key, nspace, [answered = std::move(answered)](const pmix_value_t* value) {
    answered(value == nullptr ? ServerStart() : start_in(*value));
  });
}

}  // namespace weft::node
