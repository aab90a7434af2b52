// SPDX-License-Identifier: BSD-3-Clause
// Builds pmix_info_t arrays with the type of each value in the name of the call: consumers compare value
// types strictly.
#pragma once

#include <pmix_common.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/secret.hpp"
#include "tools/job/rank.hpp"

namespace weft::host {

class InfoList {
 public:
  InfoList() = default;
  InfoList(InfoList&& other) noexcept : infos_(std::move(other.infos_)) { other.infos_.clear(); }
  InfoList(const InfoList&) = delete;
  InfoList& operator=(const InfoList&) = delete;
  InfoList& operator=(InfoList&&) = delete;
  ~InfoList();

  void add_u16(const char* key, std::uint16_t value);
  void add_u32(const char* key, std::uint32_t value);
  void add_u64(const char* key, std::uint64_t value);
  void add_rank(const char* key, job::Rank value);
  void add_int(const char* key, int value);
  void add_pid(const char* key, pid_t value);
  void add_status(const char* key, pmix_status_t value);
  void add_proc(const char* key, const pmix_proc_t& value);
  void add_string(const char* key, const std::string& value);
  void add_bool(const char* key, bool value);
  void add_variable(const char* key, const std::string& name, const std::string& value,
                    char separator = ':');                      ///< as PMIX_ENVAR
  void add_bytes(const char* key, std::string_view value);      ///< as PMIX_BYTE_OBJECT; wiped with the list
  void add_secret(const char* key, const base::Secret& value);  ///< the same
  void add_pointer(const char* key, void* value);
  void add_strings(const char* key, const std::vector<std::string>& value);  ///< as an array
  void add_ranks(const char* key, const std::vector<job::Rank>& value);
  void add_procs(const char* key, const std::vector<pmix_proc_t>& value);
  /// Adds one PMIX_DATA_ARRAY of PMIX_INFO; takes the entries of `inner`.
  void add_array(const char* key, InfoList inner);

  pmix_info_t* data() noexcept { return infos_.data(); }
  std::size_t size() const noexcept { return infos_.size(); }

 private:
  pmix_info_t& next(const char* key);
  void take_array(const char* key, pmix_data_array_t* array);
  std::vector<pmix_info_t> infos_;
};

}  // namespace weft::host
