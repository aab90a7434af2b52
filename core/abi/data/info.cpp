// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Data Structures and Types": infos and their directives.
#include "core/abi/calls/guard.hpp"
#include "core/abi/data/load.hpp"
#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/value.hpp"
#include "pmix.h"

using namespace weft;

namespace {

void set(pmix_info_t* info, pmix_info_directives_t flag) noexcept {
  if (info != nullptr) info->flags |= flag;
}
bool has(const pmix_info_t* info, pmix_info_directives_t flag) noexcept {
  return info != nullptr && (info->flags & flag) != 0;
}

}  // namespace

extern "C" {

void PMIx_Info_construct(pmix_info_t* info) {
  if (info != nullptr) std::memset(info, 0, sizeof *info);
}

void PMIx_Info_destruct(pmix_info_t* info) {
  if (info != nullptr) data::destroy_elements(PMIX_INFO, info, 1);
}

/// The last element carries PMIX_INFO_ARRAY_END, as the macro of 4.2.2 does it.
pmix_info_t* PMIx_Info_create(std::size_t n) {
  if (n == 0) return nullptr;
  auto* array = static_cast<pmix_info_t*>(data::new_elements(sizeof(pmix_info_t), n));
  if (array != nullptr) array[n - 1].flags = PMIX_INFO_ARRAY_END;
  return array;
}

void PMIx_Info_free(pmix_info_t* array, std::size_t n) {
  if (array == nullptr) return;
  data::destroy_elements(PMIX_INFO, array, n);
  std::free(array);
}

/// PMIx_Info_load: key and a copy of the data (see PMIx_Value_load); directives are cleared, a longer key
/// is cut at PMIX_MAX_KEYLEN. Errors: PMIX_ERR_BAD_PARAM (NULL info or key), as PMIx_Value_load.
pmix_status_t PMIx_Info_load(pmix_info_t* info, const char* key, const void* data, pmix_data_type_t type) {
  if (info == nullptr || key == nullptr) return PMIX_ERR_BAD_PARAM;
  return abi::guarded_status([&] {
    const pmix_status_t status = abi::load_status(abi::load_value(info->value, data, type));
    if (status != PMIX_SUCCESS) return status;
    data::load_fixed(info->key, sizeof(pmix_key_t), key);
    info->flags = 0;
    return status;
  });
}

pmix_status_t PMIx_Info_xfer(pmix_info_t* dest, const pmix_info_t* src) {
  if (dest == nullptr || src == nullptr) return PMIX_ERR_BAD_PARAM;
  if (data::find_type(src->value.type) == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
  return abi::guarded([&] { return data::copy_elements(PMIX_INFO, dest, src, 1); });
}

pmix_status_t PMIx_Info_get_size(const pmix_info_t* info, std::size_t* size) {
  return info == nullptr ? PMIX_ERR_BAD_PARAM : PMIx_Value_get_size(&info->value, size);
}

pmix_boolean_t PMIx_Info_true(const pmix_info_t* info) {
  return info == nullptr ? PMIX_NON_BOOL : data::truth(info->value);
}

void PMIx_Info_required(pmix_info_t* info) {
  set(info, PMIX_INFO_REQD);
}
void PMIx_Info_optional(pmix_info_t* info) {
  if (info != nullptr) info->flags &= ~static_cast<pmix_info_directives_t>(PMIX_INFO_REQD);
}
bool PMIx_Info_is_required(const pmix_info_t* info) {
  return has(info, PMIX_INFO_REQD);
}
bool PMIx_Info_is_optional(const pmix_info_t* info) {
  return !has(info, PMIX_INFO_REQD);
}
void PMIx_Info_processed(pmix_info_t* info) {
  set(info, PMIX_INFO_REQD_PROCESSED);
}
bool PMIx_Info_was_processed(const pmix_info_t* info) {
  return has(info, PMIX_INFO_REQD_PROCESSED);
}
void PMIx_Info_set_end(pmix_info_t* info) {
  set(info, PMIX_INFO_ARRAY_END);
}
bool PMIx_Info_is_end(const pmix_info_t* info) {
  return has(info, PMIX_INFO_ARRAY_END);
}
void PMIx_Info_qualifier(pmix_info_t* info) {
  set(info, PMIX_INFO_QUALIFIER);
}
bool PMIx_Info_is_qualifier(const pmix_info_t* info) {
  return has(info, PMIX_INFO_QUALIFIER);
}
void PMIx_Info_persistent(pmix_info_t* info) {
  set(info, PMIX_INFO_PERSISTENT);
}
bool PMIx_Info_is_persistent(const pmix_info_t* info) {
  return has(info, PMIX_INFO_PERSISTENT);
}

}  // extern "C"
