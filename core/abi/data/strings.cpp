// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Data Structures and Types", section "String Representations".
//
// A single value is represented by its constant's name ("PMIX_ERR_NOT_FOUND"), a set of flags by short words.
// Texts that are returned as const char* are static; those returned as char* are new and the caller's.
#include <array>
#include <limits>

#include "core/abi/calls/guard.hpp"
#include "core/data/names/names.hpp"
#include "core/data/operations/print.hpp"
#include "pmix.h"

using namespace weft;

namespace {

const char* or_unknown(const char* name) noexcept {
  return name != nullptr ? name : "UNKNOWN";
}

const char* name_of(pmix_data_type_t type, std::uint64_t number) noexcept {
  return or_unknown(data::constant_name(type, number));
}

/// "(null)" for NULL.
char* printed(pmix_data_type_t type, const void* element,
              const char* function = __builtin_FUNCTION()) noexcept {
  return abi::guarded_text(
      [&] {
        std::string out;
        data::print_element(out, type, element);
        return out;
      },
      function);
}

struct Words {
  char text[40];
};

/// Every combination of the four channels, so that a static text exists for each.
consteval std::array<Words, 16> channel_words() {
  constexpr std::string_view names[] = {"STDIN", "STDOUT", "STDERR", "STDDIAG"};
  std::array<Words, 16> out{};
  for (unsigned set = 0; set < 16; ++set) {
    std::size_t at = 0;
    for (unsigned bit = 0; bit < 4; ++bit) {
      if ((set & (1U << bit)) == 0) continue;
      if (at != 0) out[set].text[at++] = ' ';
      for (const char c : names[bit]) out[set].text[at++] = c;
    }
  }
  return out;
}
constexpr auto channels = channel_words();

}  // namespace

extern "C" {

const char* PMIx_Error_string(pmix_status_t status) {
  return or_unknown(data::status_name(status));
}

/// PMIx_Error_code: the way back, also from deprecated names and from what a library of 4.2.2 prints.
/// INT32_MIN, which is no status, if the name is not known.
pmix_status_t PMIx_Error_code(const char* name) {
  return name == nullptr ? std::numeric_limits<std::int32_t>::min()
                         : data::status_of(name).value_or(std::numeric_limits<std::int32_t>::min());
}

const char* PMIx_Proc_state_string(pmix_proc_state_t state) {
  return name_of(PMIX_PROC_STATE, state);
}
const char* PMIx_Job_state_string(pmix_job_state_t state) {
  return name_of(PMIX_JOB_STATE, state);
}
const char* PMIx_Scope_string(pmix_scope_t scope) {
  return name_of(PMIX_SCOPE, scope);
}
const char* PMIx_Persistence_string(pmix_persistence_t persistence) {
  return name_of(PMIX_PERSIST, persistence);
}
const char* PMIx_Data_range_string(pmix_data_range_t range) {
  return name_of(PMIX_DATA_RANGE, range);
}
const char* PMIx_Data_type_string(pmix_data_type_t type) {
  return name_of(PMIX_DATA_TYPE, type);
}
const char* PMIx_Alloc_directive_string(pmix_alloc_directive_t directive) {
  return name_of(PMIX_ALLOC_DIRECTIVE, directive);
}
const char* PMIx_Alloc_inheritance_string(pmix_alloc_inheritance_t inheritance) {
  return name_of(PMIX_ALLOC_INHERIT, inheritance);
}
const char* PMIx_Resource_block_directive_string(pmix_resource_block_directive_t directive) {
  return name_of(PMIX_RESBLOCK_DIRECTIVE, directive);
}
const char* PMIx_Link_state_string(pmix_link_state_t state) {
  return name_of(PMIX_LINK_STATE, state);
}
/// The name of one device type; "UNKNOWN" for several at once, as 4.2.2 answers too.
const char* PMIx_Device_type_string(pmix_device_type_t type) {
  return name_of(PMIX_DEVTYPE, type);
}

/// "STDIN STDERR"; "NONE" for no channel.
const char* PMIx_IOF_channel_string(pmix_iof_channel_t channel) {
  const unsigned set = channel & 15U;
  return set == 0 ? "NONE" : channels[set].text;
}

const char* PMIx_Group_operation_string(pmix_group_operation_t operation) {
  switch (operation) {
    case PMIX_GROUP_CONSTRUCT:
      return "PMIX_GROUP_CONSTRUCT";
    case PMIX_GROUP_DESTRUCT:
      return "PMIX_GROUP_DESTRUCT";
    case PMIX_GROUP_NONE:
      return "PMIX_GROUP_NONE";
    case PMIX_GROUP_CANCEL:
      return "PMIX_GROUP_CANCEL";
  }
  return "UNKNOWN";
}

const char* PMIx_Value_comparison_string(pmix_value_cmp_t comparison) {
  switch (comparison) {
    case PMIX_EQUAL:
      return "PMIX_EQUAL";
    case PMIX_VALUE1_GREATER:
      return "PMIX_VALUE1_GREATER";
    case PMIX_VALUE2_GREATER:
      return "PMIX_VALUE2_GREATER";
    case PMIX_VALUE_TYPE_DIFFERENT:
      return "PMIX_VALUE_TYPE_DIFFERENT";
    case PMIX_VALUE_INCOMPATIBLE_OBJECTS:
      return "PMIX_VALUE_INCOMPATIBLE_OBJECTS";
    case PMIX_VALUE_COMPARISON_NOT_AVAIL:
      return "PMIX_VALUE_COMPARISON_NOT_AVAIL";
  }
  return "UNKNOWN";
}

/// The key of the attribute with that name, and the name for a key. What is not known, or is the answer
/// already, comes back as it is. Observed in 4.2.2.
const char* PMIx_Get_attribute_string(const char* name) {
  const char* key = name == nullptr ? nullptr : data::attribute_key(name);
  return key != nullptr ? key : or_unknown(name);
}
const char* PMIx_Get_attribute_name(const char* key) {
  const char* name = key == nullptr ? nullptr : data::attribute_name(key);
  return name != nullptr ? name : or_unknown(key);
}

char* PMIx_Info_directives_string(pmix_info_directives_t directives) {
  return abi::guarded_text([&] { return data::print_directives(directives); });
}

char* PMIx_Info_string(const pmix_info_t* info) {
  return printed(PMIX_INFO, info);
}
char* PMIx_Value_string(const pmix_value_t* value) {
  return printed(PMIX_VALUE, value);
}
char* PMIx_Proc_string(const pmix_proc_t* proc) {
  return printed(PMIX_PROC, proc);
}
char* PMIx_App_string(const pmix_app_t* app) {
  return printed(PMIX_APP, app);
}
char* PMIx_Resource_unit_string(const pmix_resource_unit_t* unit) {
  return printed(PMIX_RESOURCE_UNIT, unit);
}

}  // extern "C"
