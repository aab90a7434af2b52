// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Data Packing and Unpacking": copies and printed forms of single data.
#include "core/abi/calls/guard.hpp"
#include "core/data/operations/print.hpp"
#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/types.hpp"
#include "pmix.h"

using namespace weft;

namespace {

/// Where a C caller passes the text itself and not the address of a pointer to it.
bool is_passed_as_text(pmix_data_type_t type) noexcept {
  return type == PMIX_STRING || type == PMIX_REGEX;
}

Result<void> copy(void** dest, const void* src, pmix_data_type_t type, const data::Type& known) {
  void* out = is_passed_as_text(type) ? data::new_text(static_cast<const char*>(src))
                                      : data::new_elements(known.width, 1);
  if (out == nullptr) return fail(Errc::no_memory);
  if (!is_passed_as_text(type)) {
    if (const auto done = data::copy_elements(type, out, src, 1); !done) {
      std::free(out);
      return done;
    }
  }
  *dest = out;
  return {};
}

}  // namespace

extern "C" {

/// PMIx_Data_copy: a deep copy of one datum in new memory.
///   src  the datum; for PMIX_STRING and PMIX_REGEX the text itself
///   Errors: PMIX_ERR_BAD_PARAM (NULL), _UNKNOWN_DATA_TYPE, _NOMEM, _NOT_SUPPORTED (a handle of another
///   library); *dest is then unchanged. Source: PMIx Standard 5, chapter "Data Packing and Unpacking".
pmix_status_t PMIx_Data_copy(void** dest, void* src, pmix_data_type_t type) {
  if (dest == nullptr || src == nullptr) return PMIX_ERR_BAD_PARAM;
  const data::Type* known = data::find_type(type);
  if (known == nullptr || type == PMIX_UNDEF) return PMIX_ERR_UNKNOWN_DATA_TYPE;
  return abi::guarded([&] { return copy(dest, src, type, *known); });
}

/// PMIx_Data_print: one line for people, with `prefix` (may be NULL) before it; free() it.
///   src  as for PMIx_Data_copy; NULL prints as such
///   Errors: PMIX_ERR_BAD_PARAM (output is NULL), _UNKNOWN_DATA_TYPE, _NOMEM.
pmix_status_t PMIx_Data_print(char** output, char* prefix, void* src, pmix_data_type_t type) {
  if (output == nullptr) return PMIX_ERR_BAD_PARAM;
  const data::Type* known = data::find_type(type);
  if (known == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
  char* text = abi::guarded_text([&] {
    std::string out = prefix == nullptr ? "" : prefix;
    if (type != PMIX_VALUE && type != PMIX_INFO) out += std::string(known->name) + ": ";
    const bool is_text = is_passed_as_text(type) && src != nullptr;
    data::print_element(out, is_text ? pmix_data_type_t{PMIX_STRING} : type, is_text ? &src : src);
    return out;
  });
  if (text == nullptr) return PMIX_ERR_NOMEM;
  *output = text;
  return PMIX_SUCCESS;
}

}  // extern "C"
