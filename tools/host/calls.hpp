// SPDX-License-Identifier: BSD-3-Clause
// Calls of the library that the files of this room make alike.
#pragma once

#include <pmix.h>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>

#include "tools/host/info_list.hpp"
#include "tools/job/rank.hpp"

namespace weft::host {

/// Throws Stop (own_failure) with the step's name, unless the call has succeeded.
void require(pmix_status_t status, const char* step);

/// Registrations in flight: one wait for all of them instead of two thread switches for each.
class Outstanding {
 public:
  static void completed(pmix_status_t status, void* self) {
    auto& outstanding = *static_cast<Outstanding*>(self);
    const std::lock_guard lock(outstanding.mutex_);
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) outstanding.worst_ = status;
    if (--outstanding.count_ == 0) outstanding.none_left_.notify_one();
  }
  void begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  /// returned: by the call itself. Anything but PMIX_SUCCESS means that its callback never comes.
  void began(pmix_status_t returned) {
    if (returned != PMIX_SUCCESS) completed(returned, this);
  }
  pmix_status_t wait() {
    std::unique_lock lock(mutex_);
    none_left_.wait(lock, [this] { return count_ == 0; });
    return worst_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::size_t count_ = 0;
  pmix_status_t worst_ = PMIX_SUCCESS;
};

pmix_proc_t proc_of(const std::string& nspace, job::Rank rank) noexcept;
void raise_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range, InfoList& infos);

}  // namespace weft::host
