// SPDX-License-Identifier: BSD-3-Clause
// The tables are packed at compile time into one text and offsets into it: no pointer needs relocating when
// the library is loaded into every process of a job.
#include "core/data/names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include "core/data/types.hpp"

namespace weft::data {
namespace {

struct StatusRow {
  std::string_view name;
  pmix_status_t status;
  bool preferred;
};
struct AttributeRow {
  std::string_view name;
  std::string_view key;
  bool preferred;
};
struct ConstantRow {
  pmix_data_type_t type;
  std::uint16_t number;
  std::string_view name;
};

consteval auto status_rows() {
  return std::to_array<StatusRow>({
#include "core/data/status_table.inc"
  });
}
consteval auto attribute_rows() {
  return std::to_array<AttributeRow>({
#include "core/data/attribute_table.inc"
  });
}
consteval auto constant_rows() {
  return std::to_array<ConstantRow>({
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
  });
}

/// Where a text lies in its pool, and how long it is without its NUL.
struct Text {
  std::uint16_t start = 0;
  std::uint8_t length = 0;
};

/// Texts one after the other, each with its NUL.
template <std::size_t Size>
struct Pool {
  static_assert(Size <= std::numeric_limits<std::uint16_t>::max());
  char text[Size]{};
  std::size_t used = 0;

  consteval Text add(std::string_view name) {
    if (name.size() > std::numeric_limits<std::uint8_t>::max()) throw "a name is too long for Text";
    const Text out{static_cast<std::uint16_t>(used), static_cast<std::uint8_t>(name.size())};
    for (const char c : name) text[used++] = c;
    text[used++] = '\0';
    return out;
  }
  constexpr std::string_view at(Text name) const { return {text + name.start, name.length}; }
};

// --- status codes ---

struct Status {
  pmix_status_t status;
  Text name;
  bool preferred;
};

consteval auto packed_statuses() {
  constexpr auto rows = status_rows();
  constexpr std::size_t size = [] {
    std::size_t sum = 0;
    for (const auto& row : status_rows()) sum += row.name.size() + 1;
    return sum;
  }();
  constexpr std::size_t count = rows.size();
  struct {
    Pool<size> pool;
    std::array<Status, count> by_number{};
  } out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.by_number[i] = {rows[i].status, out.pool.add(rows[i].name), rows[i].preferred};
  }
  // The preferred name of a number comes first among its names.
  std::sort(out.by_number.begin(), out.by_number.end(), [](const Status& a, const Status& b) {
    return a.status != b.status ? a.status < b.status : a.preferred && !b.preferred;
  });
  return out;
}
constexpr auto statuses = packed_statuses();

bool same_name(std::string_view constant, std::string_view given) noexcept {
  const auto plain = [](char c) {
    return c == '-' || c == ' ' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  };
  return std::equal(constant.begin(), constant.end(), given.begin(), given.end(),
                    [&](char a, char b) { return a == plain(b); });
}

// --- attributes ---

struct Attribute {
  Text name;
  Text key;
};

consteval auto packed_attributes() {
  constexpr auto rows = attribute_rows();
  constexpr std::size_t keys = [] {
    std::size_t sum = 0;
    for (const auto& row : attribute_rows()) sum += row.preferred ? 1 : 0;
    return sum;
  }();
  constexpr std::size_t size = [] {
    std::size_t sum = 0;
    for (const auto& row : attribute_rows()) sum += row.name.size() + row.key.size() + 2;
    return sum;
  }();
  constexpr std::size_t count = rows.size();
  struct {
    Pool<size> pool;
    std::array<Attribute, count> by_name{};  // as the script sorted them
    std::array<Attribute, keys> by_key{};    // the preferred ones
  } out;
  std::array<std::size_t, keys> order{};
  for (std::size_t i = 0, key = 0; i < rows.size(); ++i) {
    out.by_name[i] = {out.pool.add(rows[i].name), out.pool.add(rows[i].key)};
    if (rows[i].preferred) order[key++] = i;
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return rows[a].key < rows[b].key; });
  for (std::size_t i = 0; i < keys; ++i) out.by_key[i] = out.by_name[order[i]];
  return out;
}
constexpr auto attributes = packed_attributes();

// --- other constants ---

struct Constant {
  pmix_data_type_t type;
  std::uint16_t number;
  Text name;
};

consteval auto packed_constants() {
  constexpr auto rows = constant_rows();
  constexpr std::size_t size = [] {
    std::size_t sum = 0;
    for (const auto& row : constant_rows()) sum += row.name.size() + 1;
    return sum;
  }();
  constexpr std::size_t count = rows.size();
  struct {
    Pool<size> pool;
    std::array<Constant, count> list{};
  } out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out.list[i] = {rows[i].type, rows[i].number, out.pool.add(rows[i].name)};
  }
  return out;
}
constexpr auto constants = packed_constants();

}  // namespace

const char* status_name(pmix_status_t status) noexcept {
  const auto found =
      std::lower_bound(statuses.by_number.begin(), statuses.by_number.end(), status,
                       [](const Status& row, pmix_status_t wanted) { return row.status < wanted; });
  if (found == statuses.by_number.end() || found->status != status) return nullptr;
  return statuses.pool.at(found->name).data();
}

std::optional<pmix_status_t> status_of(std::string_view name) noexcept {
  for (const std::string_view omitted : {"", "PMIX_", "PMIX_ERR_"}) {
    for (const Status& row : statuses.by_number) {
      const std::string_view constant = statuses.pool.at(row.name);
      if (constant.starts_with(omitted) && same_name(constant.substr(omitted.size()), name))
        return row.status;
    }
  }
  return std::nullopt;
}

const char* attribute_key(std::string_view name) noexcept {
  const auto& list = attributes.by_name;
  const auto found = std::lower_bound(
      list.begin(), list.end(), name,
      [](const Attribute& row, std::string_view wanted) { return attributes.pool.at(row.name) < wanted; });
  return found != list.end() && attributes.pool.at(found->name) == name
             ? attributes.pool.at(found->key).data()
             : nullptr;
}

const char* attribute_name(std::string_view key) noexcept {
  const auto& list = attributes.by_key;
  const auto found = std::lower_bound(
      list.begin(), list.end(), key,
      [](const Attribute& row, std::string_view wanted) { return attributes.pool.at(row.key) < wanted; });
  return found != list.end() && attributes.pool.at(found->key) == key ? attributes.pool.at(found->name).data()
                                                                      : nullptr;
}

const char* constant_name(pmix_data_type_t type, std::uint64_t number) noexcept {
  if (type == PMIX_STATUS) return status_name(static_cast<pmix_status_t>(number));
  if (type == PMIX_DATA_TYPE) {
    const Type* named =
        number < PMIX_DATA_TYPE_MAX ? find_type(static_cast<pmix_data_type_t>(number)) : nullptr;
    return named == nullptr ? nullptr : named->name;
  }
  for (const Constant& row : constants.list) {
    if (row.type == type && row.number == number) return constants.pool.at(row.name).data();
  }
  return nullptr;
}

}  // namespace weft::data
