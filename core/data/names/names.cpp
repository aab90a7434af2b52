// SPDX-License-Identifier: BSD-3-Clause
// A long file because of its tables. Their texts lie inside the rows, not behind pointers: nothing needs
// relocating when the library is loaded into every process of a job. Only printing and parsing for people
// comes here, so what is not sorted is searched from the front.
#include "core/data/names/names.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "core/data/types/types.hpp"

namespace weft::data {
namespace {

struct StatusRow {
  char name[48];
  pmix_status_t status;
  bool preferred;  ///< among the names of that status
};
constexpr StatusRow statuses[] = {
#include "core/data/names/status_table.inc"
};

struct AttributeRow {
  char name[48];
  char key[32];
  pmix_data_type_t type;
  bool preferred;  ///< among the names of that key
};
constexpr AttributeRow attributes[] = {
// sorted by name
#include "core/data/names/attribute_table.inc"
};

struct ConstantRow {
  pmix_data_type_t type;
  std::uint16_t number;
  char name[44];
};
constexpr ConstantRow constants[] = {
    {PMIX_SCOPE, PMIX_SCOPE_UNDEF, "PMIX_SCOPE_UNDEF"},
    {PMIX_SCOPE, PMIX_LOCAL, "PMIX_LOCAL"},
    {PMIX_SCOPE, PMIX_REMOTE, "PMIX_REMOTE"},
    {PMIX_SCOPE, PMIX_GLOBAL, "PMIX_GLOBAL"},
    {PMIX_SCOPE, PMIX_INTERNAL, "PMIX_INTERNAL"},
    {PMIX_SCOPE, PMIX_DEL_LOCAL, "PMIX_DEL_LOCAL"},
    {PMIX_SCOPE, PMIX_DEL_REMOTE, "PMIX_DEL_REMOTE"},
    {PMIX_SCOPE, PMIX_DEL_GLOBAL, "PMIX_DEL_GLOBAL"},
    {PMIX_SCOPE, PMIX_DEL_INTERNAL, "PMIX_DEL_INTERNAL"},
    {PMIX_DATA_RANGE, PMIX_RANGE_UNDEF, "PMIX_RANGE_UNDEF"},
    {PMIX_DATA_RANGE, PMIX_RANGE_RM, "PMIX_RANGE_RM"},
    {PMIX_DATA_RANGE, PMIX_RANGE_LOCAL, "PMIX_RANGE_LOCAL"},
    {PMIX_DATA_RANGE, PMIX_RANGE_NAMESPACE, "PMIX_RANGE_NAMESPACE"},
    {PMIX_DATA_RANGE, PMIX_RANGE_SESSION, "PMIX_RANGE_SESSION"},
    {PMIX_DATA_RANGE, PMIX_RANGE_GLOBAL, "PMIX_RANGE_GLOBAL"},
    {PMIX_DATA_RANGE, PMIX_RANGE_CUSTOM, "PMIX_RANGE_CUSTOM"},
    {PMIX_DATA_RANGE, PMIX_RANGE_PROC_LOCAL, "PMIX_RANGE_PROC_LOCAL"},
    {PMIX_DATA_RANGE, PMIX_RANGE_INVALID, "PMIX_RANGE_INVALID"},
    {PMIX_PERSIST, PMIX_PERSIST_INDEF, "PMIX_PERSIST_INDEF"},
    {PMIX_PERSIST, PMIX_PERSIST_FIRST_READ, "PMIX_PERSIST_FIRST_READ"},
    {PMIX_PERSIST, PMIX_PERSIST_PROC, "PMIX_PERSIST_PROC"},
    {PMIX_PERSIST, PMIX_PERSIST_APP, "PMIX_PERSIST_APP"},
    {PMIX_PERSIST, PMIX_PERSIST_SESSION, "PMIX_PERSIST_SESSION"},
    {PMIX_PERSIST, PMIX_PERSIST_INVALID, "PMIX_PERSIST_INVALID"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_UNDEF, "PMIX_PROC_STATE_UNDEF"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_PREPPED, "PMIX_PROC_STATE_PREPPED"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_LAUNCH_UNDERWAY, "PMIX_PROC_STATE_LAUNCH_UNDERWAY"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_RESTART, "PMIX_PROC_STATE_RESTART"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_TERMINATE, "PMIX_PROC_STATE_TERMINATE"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_RUNNING, "PMIX_PROC_STATE_RUNNING"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_CONNECTED, "PMIX_PROC_STATE_CONNECTED"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_UNTERMINATED, "PMIX_PROC_STATE_UNTERMINATED"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_TERMINATED, "PMIX_PROC_STATE_TERMINATED"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_ERROR, "PMIX_PROC_STATE_ERROR"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_KILLED_BY_CMD, "PMIX_PROC_STATE_KILLED_BY_CMD"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_ABORTED, "PMIX_PROC_STATE_ABORTED"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_FAILED_TO_START, "PMIX_PROC_STATE_FAILED_TO_START"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_ABORTED_BY_SIG, "PMIX_PROC_STATE_ABORTED_BY_SIG"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_TERM_WO_SYNC, "PMIX_PROC_STATE_TERM_WO_SYNC"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_COMM_FAILED, "PMIX_PROC_STATE_COMM_FAILED"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_SENSOR_BOUND_EXCEEDED, "PMIX_PROC_STATE_SENSOR_BOUND_EXCEEDED"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_CALLED_ABORT, "PMIX_PROC_STATE_CALLED_ABORT"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_HEARTBEAT_FAILED, "PMIX_PROC_STATE_HEARTBEAT_FAILED"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_MIGRATING, "PMIX_PROC_STATE_MIGRATING"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_CANNOT_RESTART, "PMIX_PROC_STATE_CANNOT_RESTART"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_TERM_NON_ZERO, "PMIX_PROC_STATE_TERM_NON_ZERO"},
    {PMIX_PROC_STATE, PMIX_PROC_STATE_FAILED_TO_LAUNCH, "PMIX_PROC_STATE_FAILED_TO_LAUNCH"},
    {PMIX_JOB_STATE, PMIX_JOB_STATE_UNDEF, "PMIX_JOB_STATE_UNDEF"},
    {PMIX_JOB_STATE, PMIX_JOB_STATE_AWAITING_ALLOC, "PMIX_JOB_STATE_AWAITING_ALLOC"},
    {PMIX_JOB_STATE, PMIX_JOB_STATE_LAUNCH_UNDERWAY, "PMIX_JOB_STATE_LAUNCH_UNDERWAY"},
    {PMIX_JOB_STATE, PMIX_JOB_STATE_RUNNING, "PMIX_JOB_STATE_RUNNING"},
    {PMIX_JOB_STATE, PMIX_JOB_STATE_SUSPENDED, "PMIX_JOB_STATE_SUSPENDED"},
    {PMIX_JOB_STATE, PMIX_JOB_STATE_CONNECTED, "PMIX_JOB_STATE_CONNECTED"},
    {PMIX_JOB_STATE, PMIX_JOB_STATE_UNTERMINATED, "PMIX_JOB_STATE_UNTERMINATED"},
    {PMIX_JOB_STATE, PMIX_JOB_STATE_TERMINATED, "PMIX_JOB_STATE_TERMINATED"},
    {PMIX_JOB_STATE, PMIX_JOB_STATE_TERMINATED_WITH_ERROR, "PMIX_JOB_STATE_TERMINATED_WITH_ERROR"},
    {PMIX_ALLOC_DIRECTIVE, PMIX_ALLOC_NEW, "PMIX_ALLOC_NEW"},
    {PMIX_ALLOC_DIRECTIVE, PMIX_ALLOC_EXTEND, "PMIX_ALLOC_EXTEND"},
    {PMIX_ALLOC_DIRECTIVE, PMIX_ALLOC_RELEASE, "PMIX_ALLOC_RELEASE"},
    {PMIX_ALLOC_DIRECTIVE, PMIX_ALLOC_REAQUIRE, "PMIX_ALLOC_REAQUIRE"},
    {PMIX_ALLOC_DIRECTIVE, PMIX_ALLOC_REQ_CANCEL, "PMIX_ALLOC_REQ_CANCEL"},
    {PMIX_ALLOC_DIRECTIVE, PMIX_ALLOC_EXTERNAL, "PMIX_ALLOC_EXTERNAL"},
    {PMIX_ALLOC_INHERIT, PMIX_ALLOC_INHERIT_NONE, "PMIX_ALLOC_INHERIT_NONE"},
    {PMIX_ALLOC_INHERIT, PMIX_ALLOC_INHERIT_CHILD, "PMIX_ALLOC_INHERIT_CHILD"},
    {PMIX_ALLOC_INHERIT, PMIX_ALLOC_INHERIT_DEFAULT, "PMIX_ALLOC_INHERIT_DEFAULT"},
    {PMIX_ALLOC_INHERIT, PMIX_ALLOC_INHERIT_CHILD_DEFAULT, "PMIX_ALLOC_INHERIT_CHILD_DEFAULT"},
    {PMIX_RESBLOCK_DIRECTIVE, PMIX_RESOURCE_BLOCK_DEFINE, "PMIX_RESOURCE_BLOCK_DEFINE"},
    {PMIX_RESBLOCK_DIRECTIVE, PMIX_RESOURCE_BLOCK_EXTEND, "PMIX_RESOURCE_BLOCK_EXTEND"},
    {PMIX_RESBLOCK_DIRECTIVE, PMIX_RESOURCE_BLOCK_REMOVE, "PMIX_RESOURCE_BLOCK_REMOVE"},
    {PMIX_RESBLOCK_DIRECTIVE, PMIX_RESOURCE_BLOCK_DELETE, "PMIX_RESOURCE_BLOCK_DELETE"},
    {PMIX_RESBLOCK_DIRECTIVE, PMIX_RESOURCE_BLOCK_EXTERNAL, "PMIX_RESOURCE_BLOCK_EXTERNAL"},
    {PMIX_LINK_STATE, PMIX_LINK_STATE_UNKNOWN, "PMIX_LINK_STATE_UNKNOWN"},
    {PMIX_LINK_STATE, PMIX_LINK_DOWN, "PMIX_LINK_DOWN"},
    {PMIX_LINK_STATE, PMIX_LINK_UP, "PMIX_LINK_UP"},
    {PMIX_DEVTYPE, PMIX_DEVTYPE_UNKNOWN, "PMIX_DEVTYPE_UNKNOWN"},
    {PMIX_DEVTYPE, PMIX_DEVTYPE_BLOCK, "PMIX_DEVTYPE_BLOCK"},
    {PMIX_DEVTYPE, PMIX_DEVTYPE_GPU, "PMIX_DEVTYPE_GPU"},
    {PMIX_DEVTYPE, PMIX_DEVTYPE_NETWORK, "PMIX_DEVTYPE_NETWORK"},
    {PMIX_DEVTYPE, PMIX_DEVTYPE_OPENFABRICS, "PMIX_DEVTYPE_OPENFABRICS"},
    {PMIX_DEVTYPE, PMIX_DEVTYPE_DMA, "PMIX_DEVTYPE_DMA"},
    {PMIX_DEVTYPE, PMIX_DEVTYPE_COPROC, "PMIX_DEVTYPE_COPROC"},
    {PMIX_DEVTYPE, PMIX_DEVTYPE_MEMORY, "PMIX_DEVTYPE_MEMORY"},
    {PMIX_DEVTYPE, PMIX_DEVTYPE_CORE, "PMIX_DEVTYPE_CORE"},
    {PMIX_DEVTYPE, PMIX_DEVTYPE_HWT, "PMIX_DEVTYPE_HWT"},
    {PMIX_DEVTYPE, PMIX_DEVTYPE_CPU, "PMIX_DEVTYPE_CPU"},
    {PMIX_DEVTYPE, PMIX_DEVTYPE_NODE, "PMIX_DEVTYPE_NODE"},
};

bool same_name(std::string_view constant, std::string_view given) noexcept {
  const auto plain = [](char c) {
    return c == '-' || c == ' ' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  };
  return std::equal(constant.begin(), constant.end(), given.begin(), given.end(),
                    [&](char a, char b) { return a == plain(b); });
}

}  // namespace

const char* status_name(pmix_status_t status) noexcept {
  for (const StatusRow& row : statuses) {
    if (row.status == status && row.preferred) return row.name;
  }
  return nullptr;
}

std::optional<pmix_status_t> status_of(std::string_view name) noexcept {
  for (const std::string_view omitted : {"", "PMIX_", "PMIX_ERR_"}) {
    for (const StatusRow& row : statuses) {
      const std::string_view constant = row.name;
      if (constant.starts_with(omitted) && same_name(constant.substr(omitted.size()), name))
        return row.status;
    }
  }
  return std::nullopt;
}

const char* attribute_key(std::string_view name) noexcept {
  const auto* found =
      std::lower_bound(std::begin(attributes), std::end(attributes), name,
                       [](const AttributeRow& row, std::string_view wanted) { return row.name < wanted; });
  return found != std::end(attributes) && found->name == name ? found->key : nullptr;
}

namespace {

const AttributeRow* preferred_row(std::string_view key) noexcept {
  for (const AttributeRow& row : attributes) {
    if (row.preferred && row.key == key) return &row;
  }
  return nullptr;
}

}  // namespace

const char* attribute_name(std::string_view key) noexcept {
  const auto* row = preferred_row(key);
  return row != nullptr ? row->name : nullptr;
}
pmix_data_type_t attribute_type(std::string_view key) noexcept {
  const auto* row = preferred_row(key);
  return row != nullptr ? row->type : pmix_data_type_t{PMIX_UNDEF};
}

const char* constant_name(pmix_data_type_t type, std::uint64_t number) noexcept {
  if (type == PMIX_STATUS) return status_name(static_cast<pmix_status_t>(number));
  if (type == PMIX_DATA_TYPE) {
    const Type* named =
        number < PMIX_DATA_TYPE_MAX ? find_type(static_cast<pmix_data_type_t>(number)) : nullptr;
    return named == nullptr ? nullptr : named->name;
  }
  for (const ConstantRow& row : constants) {
    if (row.type == type && row.number == number) return row.name;
  }
  return nullptr;
}

}  // namespace weft::data
