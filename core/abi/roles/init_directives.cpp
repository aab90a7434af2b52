// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/roles/init_directives.hpp"

#include <algorithm>
#include <iterator>

#include "core/data/names/status.hpp"

namespace weft::abi {
namespace {

constexpr const char* model_keys[] = {
    PMIX_PROGRAMMING_MODEL, PMIX_MODEL_LIBRARY_NAME,   PMIX_MODEL_LIBRARY_VERSION, PMIX_THREADING_MODEL,
    PMIX_MODEL_NUM_THREADS, PMIX_MODEL_NUM_CPUS,       PMIX_MODEL_CPU_TYPE,        PMIX_MODEL_PHASE_NAME,
    PMIX_MODEL_PHASE_TYPE,  PMIX_MODEL_AFFINITY_POLICY};

bool is_same(const pmix_info_t& first, const pmix_info_t& second) {
  return data::compare_values(first.value, second.value) == PMIX_EQUAL;
}

}  // namespace

bool is_model_key(std::string_view key) noexcept {
  return std::any_of(std::begin(model_keys), std::end(model_keys),
                     [&](const char* each) { return key == each; });
}

pmix_status_t InitDirectives::add(const pmix_info_t* infos, std::size_t ninfo) {
  data::Infos fresh;
  for (const auto* info = infos; info != infos + ninfo; ++info) {
    const auto key = data::key_of(*info);
    for (const auto* earlier = infos; earlier != info; ++earlier)
      if (data::key_of(*earlier) == key && !is_same(*earlier, *info)) return PMIX_ERR_BAD_PARAM;
    if (is_model_key(key)) continue;
    if (const auto* known = known_.find(key); known != nullptr) {
      if (!is_same(*known, *info)) return PMIX_ERR_BAD_PARAM;
      continue;
    }
    if (fresh.find(key) != nullptr) continue;
    auto value = data::Value::copy_of(info->value);
    if (!value) return data::to_status(value.error());
    fresh.add(key, std::move(*value), info->flags);
  }
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    known_.add(data::key_of(fresh.data()[i]), data::Value::adopt(fresh.data()[i].value),
               fresh.data()[i].flags);
    fresh.data()[i].value.type = PMIX_UNDEF;  // known_ owns it now
  }
  return PMIX_SUCCESS;
}

}  // namespace weft::abi
