// SPDX-License-Identifier: BSD-3-Clause
// Behind read_job_info(): one object for one namespace. A file for each part of its work: job_reader.cpp
// reads the job level and finds the arrays, job_arrays.cpp reads these, job_places.cpp derives what follows
// from all of it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/names/names.hpp"
#include "core/store/get/job_keys.hpp"
#include "core/store/segment/job_builder.hpp"

namespace weft::server {

/// The order of what a host says does not matter: arrays are collected, and read when the maps are known.
class JobReader {
 public:
  JobReader(store::JobSpec& spec, std::string_view host) : spec_(spec), host_(host) {}

  Result<void> read(const pmix_info_t* infos, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (auto ok = job_level(infos[i], 0); !ok) return ok;
    return {};
  }
  Result<void> finish(int local_size, const std::set<std::uint32_t>& registered);
  /// After an error of read() or finish(): which attribute, and what is wrong with it. Empty: the error says
  /// it all.
  const std::string& reason() const noexcept { return reason_; }

 private:
  using KeyOwner = store::KeyOwner;
  using Realm = store::Realm;
  static constexpr auto none = store::none;
  static constexpr auto none16 = store::none16;
  // A job of the largest machines has some ten million ranks; more is a host's mistake, not a job.
  static constexpr std::uint32_t max_ranks = 1u << 26;
  // In PMIX_APP_INFO_ARRAY: the application's ranks where they do not follow each other, as one node of
  // PMIX_PROC_MAP.
  static constexpr std::string_view app_ranks_key = "weft.app.ranks";

  static std::uint32_t number_of(const pmix_value_t& value);
  Unexpected refuse(std::string_view key, std::string_view why);
  Result<void> take_number(const pmix_info_t& info, std::uint32_t& to);
  Result<void> take_nodes(const pmix_info_t& info);
  Result<void> take_places(const pmix_info_t& info);
  Result<void> job_level(const pmix_info_t& info, int depth);
  Result<void> session(const pmix_info_t& array, int depth);
  template <class Take>
  Result<void> each(const pmix_info_t& info, Take&& take);
  Result<void> read_sessions();
  Result<void> process(const pmix_info_t& array);
  Result<void> process_key(std::uint32_t rank, const pmix_info_t& info);
  Result<void> node(const pmix_info_t& array);
  Result<void> application(const pmix_info_t& array);
  Result<void> keep(KeyOwner owner, const pmix_info_t& info);
  Result<void> grow(std::uint32_t ranks);
  std::uint32_t node_named(std::string_view name) const;
  Result<void> place();
  Result<void> count_nodes();
  Result<void> place_apps();
  Result<void> place_locals(int local_size, const std::set<std::uint32_t>& registered);
  void derive_ranks();
  void settle_realms();

  /// An application as its array describes it; its ranks: a list, or else `size` of them from `leader` on.
  struct App {
    std::uint32_t number = 0, size = none, leader = none;
    std::vector<std::uint32_t> ranks;
  };

  store::JobSpec& spec_;
  std::string_view host_;
  std::string reason_;
  std::vector<const pmix_info_t*> sessions_, processes_, nodes_, applications_;  ///< arrays, of the caller
  std::vector<App> app_arrays_;
  std::uint32_t offset_ = 0;  ///< PMIX_NPROC_OFFSET
  std::vector<std::string> node_names_;
  std::vector<std::vector<std::uint32_t>> ranks_of_node_;
  std::vector<std::uint32_t> peers_;
  std::uint32_t size_ = none;
  std::uint32_t session_ = none;  ///< that of the job, where the host says it beside the session arrays
  std::uint32_t my_node_ = none;
  std::uint32_t cluster_ = none;
  std::uint32_t apps_ = none;
  bool has_data_ = true;  ///< not PMIX_REGISTER_NODATA
};

template <class Take>
Result<void> JobReader::each(const pmix_info_t& info, Take&& take) {
  const auto* array = info.value.data.darray;
  if (info.value.type != PMIX_DATA_ARRAY || array == nullptr ||
      (array->size != 0 && (array->type != PMIX_INFO || array->array == nullptr)))
    return refuse(data::key_of(info), "is not an array of infos");
  const auto* items = static_cast<const pmix_info_t*>(array->array);
  for (std::size_t i = 0; i < array->size; ++i)
    if (Result<void> ok = take(items[i]); !ok) return ok;
  return {};
}

}  // namespace weft::server
