// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/places/server_query.hpp"

#include <pmix.h>

#include <memory>

#include "tools/host/info_list.hpp"

namespace weft::node {
namespace {

/// What the library reads until it calls back.
struct OpenQuery {
  host::InfoList qualifiers;
  char* keys[2] = {nullptr, nullptr};
  pmix_query_t query{};
  std::function<void(const pmix_value_t*)> answered;

  static void completed(pmix_status_t, pmix_info_t* infos, std::size_t count, void* self,
                        pmix_release_cbfunc_t release, void* held) {
    const std::unique_ptr<OpenQuery> open(static_cast<OpenQuery*>(self));
    open->answered(count == 1 ? &infos[0].value : nullptr);
    if (release != nullptr) release(held);
  }
};

}  // namespace

void ask_server(const char* key, const std::string& nspace,
                std::function<void(const pmix_value_t* value)> answered) {
  auto open = std::make_unique<OpenQuery>();
  open->answered = std::move(answered);
  open->keys[0] = const_cast<char*>(key);  // the library writes to none
  open->qualifiers.add_string(PMIX_NSPACE, nspace);
  open->query = {open->keys, open->qualifiers.data(), open->qualifiers.size()};
  auto* const call = open.release();
  const auto status = PMIx_Query_info_nb(&call->query, 1, &OpenQuery::completed, call);
  if (status != PMIX_SUCCESS) OpenQuery::completed(status, nullptr, 0, call, nullptr, nullptr);
}

std::span<const pmix_info_t> infos_in(const pmix_value_t& value) {
  if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) return {};
  const auto& array = *value.data.darray;
  if (array.type != PMIX_INFO || array.array == nullptr) return {};
  return {static_cast<const pmix_info_t*>(array.array), array.size};
}

}  // namespace weft::node
