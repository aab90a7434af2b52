// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/types/value.hpp"

#include <strings.h>

#include <algorithm>
#include <new>

#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/number.hpp"
#include "core/data/types/types.hpp"

namespace weft::data {
namespace {

/// A value that carries a number of the right width for its type.
template <class T>
pmix_value_t with_number(pmix_data_type_t type, T number) noexcept {
  pmix_value_t out = empty_value();
  out.type = type;
  std::memcpy(&out.data, &number, sizeof number);
  return out;
}

}  // namespace

void load_fixed(char* out, std::size_t size, std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), size - 1);
  if (length != 0) std::memmove(out, text.data(), length);
  std::memset(out + length, 0, size - length);
}

Value Value::of(bool v) noexcept {
  return adopt(with_number(PMIX_BOOL, v));
}
Value Value::of(std::uint16_t v) noexcept {
  return adopt(with_number(PMIX_UINT16, v));
}
Value Value::of(std::uint32_t v) noexcept {
  return adopt(with_number(PMIX_UINT32, v));
}
Value Value::of(std::uint64_t v) noexcept {
  return adopt(with_number(PMIX_UINT64, v));
}
Value Value::of_size(std::size_t v) noexcept {
  return adopt(with_number(PMIX_SIZE, v));
}
Value Value::of_rank(pmix_rank_t v) noexcept {
  return adopt(with_number(PMIX_PROC_RANK, v));
}
Value Value::of_pid(pid_t v) noexcept {
  return adopt(with_number(PMIX_PID, v));
}
Value Value::of_status(pmix_status_t v) noexcept {
  return adopt(with_number(PMIX_STATUS, v));
}

Value Value::of(std::string_view text) {
  char* copy = new_text(text);
  if (copy == nullptr) throw std::bad_alloc();
  return adopt(with_number(PMIX_STRING, copy));
}

Value Value::of_bytes(Bytes bytes) {
  pmix_value_t out = empty_value();
  out.type = PMIX_BYTE_OBJECT;
  if (!bytes.empty()) {
    out.data.bo.bytes = static_cast<char*>(std::malloc(bytes.size()));
    if (out.data.bo.bytes == nullptr) throw std::bad_alloc();
    std::memcpy(out.data.bo.bytes, bytes.data(), bytes.size());
    out.data.bo.size = bytes.size();
  }
  return adopt(out);
}

Value Value::of_proc(const pmix_proc_t& proc) {
  auto* copy = static_cast<pmix_proc_t*>(new_elements(sizeof proc, 1));
  if (copy == nullptr) throw std::bad_alloc();
  *copy = proc;
  return adopt(with_number(PMIX_PROC, copy));
}

Value Value::adopt(pmix_value_t raw) noexcept {
  Value out;
  out.raw_ = raw;
  return out;
}

Result<Value> Value::copy_of(const pmix_value_t& v) {
  Value out;
  if (const auto done = copy_value(out.raw_, v); !done) return fail(done.error());
  return out;
}

Infos& Infos::operator=(Infos&& other) noexcept {
  if (this != &other) {
    clear();
    list_.swap(other.list_);
  }
  return *this;
}

void Infos::add(std::string_view key, Value value, pmix_info_directives_t flags) {
  pmix_info_t& info = list_.emplace_back();
  load_fixed(info.key, sizeof(pmix_key_t), key);
  info.flags = flags;
  info.value = value.release();
}

Result<Infos> Infos::copy_of(const pmix_info_t* infos, std::size_t count) {
  Infos out;
  if (infos == nullptr || count == 0) return out;
  out.list_.resize(count);
  if (const auto done = copy_elements(PMIX_INFO, out.list_.data(), infos, count); !done) {
    return fail(done.error());
  }
  return out;
}

const pmix_info_t* Infos::find(std::string_view key) const noexcept {
  for (const pmix_info_t& info : list_) {
    if (fixed_text(info.key, sizeof(pmix_key_t)) == key) return &info;
  }
  return nullptr;
}

void Infos::remove(std::string_view key) noexcept {
  std::erase_if(list_, [&](pmix_info_t& info) {
    if (key_of(info) != key) return false;
    (void)Value::adopt(info.value);  // which ends it
    return true;
  });
}

void Infos::clear() noexcept {
  destroy_elements(PMIX_INFO, list_.data(), list_.size());
  list_.clear();
}

pmix_boolean_t truth(const pmix_value_t& value) noexcept {
  if (value.type == PMIX_UNDEF) return PMIX_BOOL_TRUE;
  if (value.type == PMIX_BOOL) return value.data.flag ? PMIX_BOOL_TRUE : PMIX_BOOL_FALSE;
  if (value.type != PMIX_STRING) return PMIX_NON_BOOL;
  const char* text = value.data.string == nullptr ? "" : value.data.string;
  text += std::strspn(text, " \t\n\v\f\r");
  // Observed with 4.2.2: an empty string says true, as a directive does that is merely present.
  if (*text == '\0' || strcasecmp(text, "true") == 0 || strcasecmp(text, "yes") == 0) return PMIX_BOOL_TRUE;
  if (strcasecmp(text, "false") == 0 || strcasecmp(text, "no") == 0) return PMIX_BOOL_FALSE;
  if (*text < '0' || *text > '9') return PMIX_NON_BOOL;
  return std::strtol(text, nullptr, 10) != 0 ? PMIX_BOOL_TRUE : PMIX_BOOL_FALSE;
}

bool is_true(const pmix_value_t& value) noexcept {
  return truth(value) == PMIX_BOOL_TRUE;
}

Result<std::uint64_t> as_unsigned(const pmix_value_t& value) noexcept {
  const Type* type = find_type(value.type);
  if (type != nullptr && value.type != PMIX_POINTER) {
    if (type->shape == Shape::natural) return natural_at(&value.data, type->width);
    if (type->shape == Shape::integer) {
      const std::int64_t number = integer_at(&value.data, type->width);
      if (number >= 0) return static_cast<std::uint64_t>(number);
    }
  }
  return fail(Errc::not_found, "not a number from zero up");
}

}  // namespace weft::data
