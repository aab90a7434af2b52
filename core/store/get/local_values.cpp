// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/get/local_values.hpp"

namespace weft::store {

Result<void> LocalValues::store(std::string_view nspace, std::uint32_t rank, std::string_view key,
                                const pmix_value_t& value) {
  data::Writer encoded;
  if (auto ok = data::encode_value(encoded, value); !ok) return ok;
  store_encoded(nspace, rank, key, std::move(encoded).take());
  return {};
}

void LocalValues::store_encoded(std::string_view nspace, std::uint32_t rank, std::string_view key,
                                std::vector<std::byte> value) {
  const std::lock_guard lock(mutex_);
  values_[Owner(nspace, rank)].insert_or_assign(std::string(key), std::move(value));
  count_.fetch_add(1, std::memory_order_release);  // LV.C1 -> C2
}

Result<data::Value> LocalValues::find(std::string_view nspace, std::uint32_t rank,
                                      std::string_view key) const {
  if (empty()) return fail(Errc::not_found);
  const std::lock_guard lock(mutex_);
  const auto owner = values_.find(Owner(nspace, rank));
  if (owner == values_.end()) return fail(Errc::not_found);
  const auto found = owner->second.find(key);
  if (found == owner->second.end()) return fail(Errc::not_found);
  data::Reader in(found->second);
  return data::Value::decode(in, data::Pointers::kept);
}

void LocalValues::collect(std::string_view nspace, std::uint32_t rank, data::Infos& out) const {
  const std::lock_guard lock(mutex_);
  const auto owner = values_.find(Owner(nspace, rank));
  if (owner == values_.end()) return;
  for (const auto& [key, bytes] : owner->second) {
    data::Reader in(bytes);
    if (auto value = data::Value::decode(in, data::Pointers::kept); value && out.find(key) == nullptr)
      out.add(key, std::move(*value));
  }
}

}  // namespace weft::store
