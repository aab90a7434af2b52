// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Data Structures and Types": lists of infos that grow.
#include <cstdint>
#include <deque>
#include <new>

#include "core/abi/calls/guard.hpp"
#include "core/abi/data/load.hpp"
#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/value.hpp"
#include "pmix.h"

using namespace weft;

namespace {

/// The list that the caller holds as a void*. A deque: infos stay where they are while the list grows at
/// either end.
class InfoList {
 public:
  InfoList() = default;
  InfoList(const InfoList&) = delete;
  InfoList& operator=(const InfoList&) = delete;
  ~InfoList() {
    for (pmix_info_t& info : list_) data::destroy_elements(PMIX_INFO, &info, 1);
  }

  /// Takes over `info`. With `unique`, an entry of the same key is replaced or, unless `overwrite`, kept.
  void add(data::Infos&& one, bool at_front = false) {
    if (at_front) {
      list_.push_front(pmix_info_t{});
    } else {
      list_.push_back(pmix_info_t{});
    }
    std::swap(at_front ? list_.front() : list_.back(), *one.data());
  }
  void add_unique(data::Infos&& one, bool overwrite) {
    for (pmix_info_t& info : list_) {
      if (std::strncmp(info.key, one.data()->key, PMIX_MAX_KEYLEN) != 0) continue;
      if (overwrite) std::swap(info, *one.data());
      return;
    }
    add(std::move(one));
  }
  /// The value stays the caller's.
  void lend(const pmix_info_t& info) {
    list_.push_back(info);
    list_.back().flags |= PMIX_INFO_PERSISTENT;
  }

  std::size_t size() const noexcept { return list_.size(); }
  pmix_info_t& at(std::size_t index) noexcept { return list_[index]; }

 private:
  std::deque<pmix_info_t> list_;
};

InfoList& list_of(void* list) noexcept {
  return *static_cast<InfoList*>(list);
}

/// Makes one owned info out of a key and data; `status` says what went wrong if it is empty.
data::Infos loaded(const char* key, const void* value, pmix_data_type_t type, pmix_status_t& status) {
  data::Infos out;
  pmix_value_t raw = data::empty_value();
  status = abi::load_status(abi::load_value(raw, value, type));
  if (status == PMIX_SUCCESS) out.add(key, data::Value::adopt(raw));
  return out;
}

data::Infos copied(const char* key, const pmix_value_t& value, pmix_info_directives_t flags,
                   pmix_status_t& status) {
  data::Infos out;
  auto copy = data::Value::copy_of(value);
  status = copy ? PMIX_SUCCESS : abi::to_status(copy.error());
  if (copy)
    out.add(key, std::move(*copy), flags & ~static_cast<pmix_info_directives_t>(PMIX_INFO_PERSISTENT));
  return out;
}

/// Makes an info and hands it to `place`, which says what becomes of it.
template <class Make, class Place>
pmix_status_t put(bool valid, Make&& make, Place&& place, abi::EntryPoint entry_point = {}) noexcept {
  if (!valid) return PMIX_ERR_BAD_PARAM;
  return abi::guarded_status(
      [&] {
        pmix_status_t status = PMIX_SUCCESS;
        data::Infos one = make(status);
        if (status == PMIX_SUCCESS) place(std::move(one));
        return status;
      },
      entry_point);
}

}  // namespace

extern "C" {

void* PMIx_Info_list_start(void) {
  return new (std::nothrow) InfoList;
}

void PMIx_Info_list_release(void* list) {
  delete static_cast<InfoList*>(list);
}

/// PMIx_Info_list_add: appends key and a copy of the data, also if the key is there already.
///   Errors: PMIX_ERR_BAD_PARAM (NULL list or key), as PMIx_Value_load.
pmix_status_t PMIx_Info_list_add(void* list, const char* key, const void* value, pmix_data_type_t type) {
  return put(
      list != nullptr && key != nullptr, [&](auto& status) { return loaded(key, value, type, status); },
      [&](data::Infos&& one) { list_of(list).add(std::move(one)); });
}

pmix_status_t PMIx_Info_list_prepend(void* list, const char* key, const void* value, pmix_data_type_t type) {
  return put(
      list != nullptr && key != nullptr, [&](auto& status) { return loaded(key, value, type, status); },
      [&](data::Infos&& one) { list_of(list).add(std::move(one), true); });
}

/// The _unique forms keep one entry a key; `overwrite` says whether it is the new one.
pmix_status_t PMIx_Info_list_add_unique(void* list, const char* key, const void* value, pmix_data_type_t type,
                                        bool overwrite) {
  return put(
      list != nullptr && key != nullptr, [&](auto& status) { return loaded(key, value, type, status); },
      [&](data::Infos&& one) { list_of(list).add_unique(std::move(one), overwrite); });
}

pmix_status_t PMIx_Info_list_add_value(void* list, const char* key, const pmix_value_t* value) {
  return put(
      list != nullptr && key != nullptr && value != nullptr,
      [&](auto& status) { return copied(key, *value, 0, status); },
      [&](data::Infos&& one) { list_of(list).add(std::move(one)); });
}

pmix_status_t PMIx_Info_list_add_value_unique(void* list, const char* key, const pmix_value_t* value,
                                              bool overwrite) {
  return put(
      list != nullptr && key != nullptr && value != nullptr,
      [&](auto& status) { return copied(key, *value, 0, status); },
      [&](data::Infos&& one) { list_of(list).add_unique(std::move(one), overwrite); });
}

pmix_status_t PMIx_Info_list_xfer(void* list, const pmix_info_t* info) {
  return put(
      list != nullptr && info != nullptr,
      [&](auto& status) { return copied(info->key, info->value, info->flags, status); },
      [&](data::Infos&& one) { list_of(list).add(std::move(one)); });
}

pmix_status_t PMIx_Info_list_xfer_unique(void* list, const pmix_info_t* info, bool overwrite) {
  return put(
      list != nullptr && info != nullptr,
      [&](auto& status) { return copied(info->key, info->value, info->flags, status); },
      [&](data::Infos&& one) { list_of(list).add_unique(std::move(one), overwrite); });
}

/// PMIx_Info_list_insert: the list refers to the caller's value, which must outlive it. Observed in 4.2.2.
pmix_status_t PMIx_Info_list_insert(void* list, pmix_info_t* info) {
  if (list == nullptr || info == nullptr) return PMIX_ERR_BAD_PARAM;
  return abi::guarded_status([&] {
    list_of(list).lend(*info);
    return PMIX_SUCCESS;
  });
}

/// PMIx_Info_list_convert: the infos as an array, deep copies all; the list stays as it is.
///   Errors: PMIX_ERR_BAD_PARAM, PMIX_ERR_EMPTY (no info in the list), _NOMEM; `array` is then unchanged.
pmix_status_t PMIx_Info_list_convert(void* list, pmix_data_array_t* array) {
  if (list == nullptr || array == nullptr) return PMIX_ERR_BAD_PARAM;
  InfoList& infos = list_of(list);
  if (infos.size() == 0) return PMIX_ERR_EMPTY;
  auto* out = static_cast<pmix_info_t*>(data::new_elements(sizeof(pmix_info_t), infos.size()));
  if (out == nullptr) return PMIX_ERR_NOMEM;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const pmix_status_t status = PMIx_Info_xfer(&out[i], &infos.at(i));
    if (status == PMIX_SUCCESS) continue;
    PMIx_Info_free(out, i);
    return status;
  }
  *array = {PMIX_INFO, infos.size(), out};
  return PMIX_SUCCESS;
}

std::size_t PMIx_Info_list_get_size(void* list) {
  return list == nullptr ? 0 : list_of(list).size();
}

/// PMIx_Info_list_get_info: the info at `previous`, which is NULL for the first, else what `next` was set to.
/// *next is NULL after the last. The cursor is a position, so adding at the end keeps it valid.
pmix_info_t* PMIx_Info_list_get_info(void* list, void* previous, void** next) {
  if (next != nullptr) *next = nullptr;
  if (list == nullptr || next == nullptr) return nullptr;
  const auto index = reinterpret_cast<std::uintptr_t>(previous);
  InfoList& infos = list_of(list);
  if (index >= infos.size()) return nullptr;
  if (index + 1 < infos.size()) *next = reinterpret_cast<void*>(index + 1);
  return &infos.at(index);
}

}  // extern "C"
