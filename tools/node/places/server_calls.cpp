// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/places/server_calls.hpp"

#include <pmix.h>

#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "tools/host/info_list.hpp"

namespace weft::node {
namespace {

constexpr const char* calls_key = "weft.calls";

std::span<const pmix_info_t> infos_in(const pmix_value_t& value) {
  if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) return {};
  const auto& array = *value.data.darray;
  if (array.type != PMIX_INFO || array.array == nullptr) return {};
  return {static_cast<const pmix_info_t*>(array.array), array.size};
}

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

/// What the library reads until it calls back.
struct OpenQuery {
  host::InfoList qualifiers;
  char* keys[2] = {const_cast<char*>(calls_key), nullptr};
  pmix_query_t query{};
  std::function<void(std::vector<job::Place>)> answered;

  static void completed(pmix_status_t, pmix_info_t* infos, std::size_t count, void* self,
                        pmix_release_cbfunc_t release, void* held) {
    const std::unique_ptr<OpenQuery> open(static_cast<OpenQuery*>(self));
    auto places = count == 1 ? places_in(infos[0].value) : std::vector<job::Place>();
    if (release != nullptr) release(held);
    open->answered(std::move(places));
  }
};

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
  auto open = std::make_unique<OpenQuery>();
  open->answered = std::move(answered);
  open->qualifiers.add_string(PMIX_NSPACE, nspace);
  open->query = {open->keys, open->qualifiers.data(), open->qualifiers.size()};
  auto* const call = open.release();
  const auto status = PMIx_Query_info_nb(&call->query, 1, &OpenQuery::completed, call);
  if (status != PMIX_SUCCESS) OpenQuery::completed(status, nullptr, 0, call, nullptr, nullptr);
}

}  // namespace weft::node
