// SPDX-License-Identifier: BSD-3-Clause
// Values that a caller reads and the library keeps to its end (PMIX_GET_POINTER_VALUES). Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/data/types/value.hpp"

namespace weft::client {

class KeptValues {
 public:
  pmix_value_t* keep(data::Value value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::make_unique<data::Value>(std::move(value)));
    return &values_.back()->get();
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<data::Value>> values_;
};

}  // namespace weft::client
