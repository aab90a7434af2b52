// SPDX-License-Identifier: BSD-3-Clause
// The values that only this process knows: those of PMIx_Store_internal, the job of a singleton and, without
// a segment, its own puts. Guarded by a lock; a Get searches here only after the segment did not have the
// key.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/data/types/value.hpp"

namespace weft::store {

class LocalValues {
 public:
  Result<void> store(std::string_view nspace, std::uint32_t rank, std::string_view key,
                     const pmix_value_t& value);
  void store_encoded(std::string_view nspace, std::uint32_t rank, std::string_view key,
                     std::vector<std::byte> value);
  /// Usually true; takes no lock.
  bool empty() const noexcept {
    return count_.load(std::memory_order_acquire) == 0;  // LV.C2 <- C1
  }
  /// Errors: not_found, no_memory.
  Result<data::Value> find(std::string_view nspace, std::uint32_t rank, std::string_view key) const;
  /// Appends every key of (nspace, rank), in order of its name.
  void collect(std::string_view nspace, std::uint32_t rank, data::Infos& out) const;

 private:
  using Owner = std::pair<std::string, std::uint32_t>;
  mutable std::mutex mutex_;
  std::atomic<std::size_t> count_{0};
  std::map<Owner, std::map<std::string, std::vector<std::byte>, std::less<>>> values_;
};

}  // namespace weft::store
