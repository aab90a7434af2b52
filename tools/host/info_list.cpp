// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/info_list.hpp"

#include <pmix.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace weft::host {

using job::Rank;

InfoList::~InfoList() {
  for (auto& info : infos_) {
    if (info.value.type == PMIX_BYTE_OBJECT) base::wipe(info.value.data.bo.bytes, info.value.data.bo.size);
    PMIX_INFO_DESTRUCT(&info);
  }
}

pmix_info_t& InfoList::next(const char* key) {
  pmix_info_t& info = infos_.emplace_back();
  std::memset(static_cast<void*>(&info), 0, sizeof info);
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  return info;
}

void InfoList::add_u16(const char* key, std::uint16_t value) {
  auto& info = next(key);
  info.value.type = PMIX_UINT16;
  info.value.data.uint16 = value;
}

void InfoList::add_u32(const char* key, std::uint32_t value) {
  auto& info = next(key);
  info.value.type = PMIX_UINT32;
  info.value.data.uint32 = value;
}

void InfoList::add_u64(const char* key, std::uint64_t value) {
  auto& info = next(key);
  info.value.type = PMIX_UINT64;
  info.value.data.uint64 = value;
}

void InfoList::add_rank(const char* key, Rank value) {
  auto& info = next(key);
  info.value.type = PMIX_PROC_RANK;
  info.value.data.rank = number(value);
}

void InfoList::add_string(const char* key, const std::string& value) {
  char* copy = ::strdup(value.c_str());
  if (copy == nullptr) throw std::bad_alloc();
  auto& info = next(key);
  info.value.type = PMIX_STRING;
  info.value.data.string = copy;
}

void InfoList::add_variable(const char* key, const std::string& name, const std::string& value,
                            char separator) {
  auto& info = next(key);
  info.value.type = PMIX_ENVAR;
  info.value.data.envar = {::strdup(name.c_str()), ::strdup(value.c_str()), separator};
  if (info.value.data.envar.envar == nullptr || info.value.data.envar.value == nullptr)
    throw std::bad_alloc();
}

void InfoList::add_int(const char* key, int value) {
  auto& info = next(key);
  info.value.type = PMIX_INT;
  info.value.data.integer = value;
}

void InfoList::add_pid(const char* key, pid_t value) {
  auto& info = next(key);
  info.value.type = PMIX_PID;
  info.value.data.pid = value;
}

void InfoList::add_status(const char* key, pmix_status_t value) {
  auto& info = next(key);
  info.value.type = PMIX_STATUS;
  info.value.data.status = value;
}

void InfoList::add_proc(const char* key, const pmix_proc_t& value) {
  auto* copy = static_cast<pmix_proc_t*>(std::malloc(sizeof(pmix_proc_t)));
  if (copy == nullptr) throw std::bad_alloc();
  *copy = value;
  auto& info = next(key);
  info.value.type = PMIX_PROC;
  info.value.data.proc = copy;
}

void InfoList::add_bool(const char* key, bool value) {
  auto& info = next(key);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = value;
}

void InfoList::add_bytes(const char* key, std::string_view value) {
  auto* copy = static_cast<char*>(
      std::malloc(value.size() + 1));  // at least one byte, so that null means out of memory
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, value.data(), value.size());
  auto& info = next(key);
  info.value.type = PMIX_BYTE_OBJECT;
  info.value.data.bo.bytes = copy;
  info.value.data.bo.size = value.size();
}

void InfoList::add_secret(const char* key, const base::Secret& value) {
  const auto bytes = value.bytes();
  add_bytes(key, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void InfoList::add_pointer(const char* key, void* value) {
  auto& info = next(key);
  info.value.type = PMIX_POINTER;
  info.value.data.ptr = value;
}

void InfoList::take_array(const char* key, pmix_data_array_t* array) {
  auto& info = next(key);
  info.value.type = PMIX_DATA_ARRAY;
  info.value.data.darray = array;
}

void InfoList::add_strings(const char* key, const std::vector<std::string>& value) {
  auto* array = static_cast<pmix_data_array_t*>(std::calloc(1, sizeof(pmix_data_array_t)));
  auto** texts = static_cast<char**>(std::calloc(value.size(), sizeof(char*)));
  bool is_whole = array != nullptr && texts != nullptr;
  for (std::size_t i = 0; is_whole && i < value.size(); ++i) {
    texts[i] = ::strdup(value[i].c_str());
    is_whole = texts[i] != nullptr;
  }
  if (!is_whole) {
    for (std::size_t i = 0; texts != nullptr && i < value.size(); ++i) std::free(texts[i]);
    std::free(array);
    std::free(texts);
    throw std::bad_alloc();
  }
  *array = {PMIX_STRING, value.size(), texts};
  take_array(key, array);
}

void InfoList::add_ranks(const char* key, const std::vector<job::Rank>& value) {
  auto* array = static_cast<pmix_data_array_t*>(std::calloc(1, sizeof(pmix_data_array_t)));
  auto* ranks = static_cast<pmix_rank_t*>(std::calloc(value.size(), sizeof(pmix_rank_t)));
  if (array == nullptr || ranks == nullptr) {
    std::free(array);
    std::free(ranks);
    throw std::bad_alloc();
  }
  std::transform(value.begin(), value.end(), ranks, [](job::Rank rank) { return number(rank); });
  *array = {PMIX_PROC_RANK, value.size(), ranks};
  take_array(key, array);
}

void InfoList::add_procs(const char* key, const std::vector<pmix_proc_t>& value) {
  auto* array = static_cast<pmix_data_array_t*>(std::calloc(1, sizeof(pmix_data_array_t)));
  auto* procs = static_cast<pmix_proc_t*>(std::calloc(value.size(), sizeof(pmix_proc_t)));
  if (array == nullptr || procs == nullptr) {
    std::free(array);
    std::free(procs);
    throw std::bad_alloc();
  }
  std::copy(value.begin(), value.end(), procs);
  *array = {PMIX_PROC, value.size(), procs};
  take_array(key, array);
}

void InfoList::add_array(const char* key, InfoList inner) {
  // malloc, since the destructor of the value calls free.
  auto* array = static_cast<pmix_data_array_t*>(std::calloc(1, sizeof(pmix_data_array_t)));
  auto* entries = static_cast<pmix_info_t*>(std::calloc(inner.size(), sizeof(pmix_info_t)));
  if (array == nullptr || entries == nullptr) {
    std::free(array);
    std::free(entries);
    throw std::bad_alloc();
  }
  std::memcpy(static_cast<void*>(entries), inner.data(), inner.size() * sizeof(pmix_info_t));
  array->type = PMIX_INFO;
  array->size = inner.size();
  array->array = entries;
  inner.infos_.clear();  // the entries have moved
  auto& info = next(key);
  info.value.type = PMIX_DATA_ARRAY;
  info.value.data.darray = array;
}

}  // namespace weft::host
