// SPDX-License-Identifier: BSD-3-Clause
// Reads nested values: infos in arrays in infos.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/weftinfo/printable.hpp"

namespace weft::weftinfo {

/// A value of the API, which need not be of the type or hold the keys that one expects: then it reads as
/// nothing. The value outlives its Reader.
class Reader {
 public:
  explicit Reader(const pmix_value_t* value) : value_(value) {}

  Reader at(std::string_view key) const {
    for (const auto& info : elements<pmix_info_t>(PMIX_INFO))
      if (std::string_view(info.key, ::strnlen(info.key, PMIX_MAX_KEYLEN)) == key) return Reader(&info.value);
    return Reader(nullptr);
  }
  /// The only way for a server's text to what is printed.
  std::string text() const {
    return is(PMIX_STRING) && value_->data.string != nullptr ? printable(value_->data.string) : "";
  }
  std::uint64_t number() const {
    if (is(PMIX_UINT64)) return value_->data.uint64;
    if (is(PMIX_UINT32)) return value_->data.uint32;
    if (is(PMIX_PROC_RANK)) return value_->data.rank;
    if (is(PMIX_PID) && value_->data.pid > 0) return static_cast<std::uint64_t>(value_->data.pid);
    return 0;
  }
  /// Namespace and rank; an empty one: it is no process.
  std::pair<std::string, std::uint32_t> process() const {
    if (!is(PMIX_PROC) || value_->data.proc == nullptr) return {};
    const auto& proc = *value_->data.proc;
    return {printable({proc.nspace, ::strnlen(proc.nspace, PMIX_MAX_NSLEN)}), proc.rank};
  }
  std::uint32_t small() const { return static_cast<std::uint32_t>(number()); }
  bool flag() const { return is(PMIX_BOOL) && value_->data.flag; }
  std::vector<std::uint32_t> numbers() const { return copied<std::uint32_t>(PMIX_UINT32); }
  std::vector<std::uint64_t> large_numbers() const { return copied<std::uint64_t>(PMIX_UINT64); }
  bool is_list() const { return is(PMIX_DATA_ARRAY) && value_->data.darray != nullptr; }

  template <class Make>
  auto each(Make&& make) const {
    std::vector<decltype(make(*this))> out;
    for (const auto& info : elements<pmix_info_t>(PMIX_INFO)) out.push_back(make(Reader(&info.value)));
    return out;
  }

 private:
  bool is(pmix_data_type_t type) const { return value_ != nullptr && value_->type == type; }
  template <class T>
  std::span<const T> elements(pmix_data_type_t type) const {
    if (!is_list()) return {};
    const auto& array = *value_->data.darray;
    if (array.type != type || array.array == nullptr) return {};
    return {static_cast<const T*>(array.array), array.size};
  }
  template <class T>
  std::vector<T> copied(pmix_data_type_t type) const {
    const auto list = elements<T>(type);
    return {list.begin(), list.end()};
  }

  const pmix_value_t* value_;
};

}  // namespace weft::weftinfo
