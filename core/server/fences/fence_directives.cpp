// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/fence_directives.hpp"

#include <string_view>

namespace weft::server {
namespace {

bool is_required(const pmix_info_t& info) noexcept {
  return (info.flags & PMIX_INFO_REQD) != 0;
}

}  // namespace

void FenceDirectives::add(std::uint32_t member, store::Generation generation, data::Infos directives) {
  told_.insert_or_assign({generation, member}, std::move(directives));
}

void FenceDirectives::move_to(data::Infos& out, store::Generation generation,
                              std::optional<std::uint32_t> member) {
  const auto from = told_.lower_bound({generation, member.value_or(0)});
  const auto to = told_.upper_bound({generation, member.value_or(UINT32_MAX)});
  std::map<std::string_view, const pmix_info_t*> chosen;
  std::vector<std::string_view> order;
  for (auto told = from; told != to; ++told) {
    for (std::size_t i = 0; i < told->second.size(); ++i) {
      const auto& info = told->second.data()[i];
      const auto key = data::key_of(info);
      if (key == PMIX_COLLECT_DATA || key == PMIX_LOCAL_COLLECTIVE_STATUS) continue;
      const auto [known, is_new] = chosen.emplace(key, &info);
      if (is_new) order.push_back(key);
      if (!is_required(*known->second) && is_required(info)) known->second = &info;
    }
  }
  for (const auto key : order) {
    const auto& info = *chosen.at(key);
    if (auto value = data::Value::copy_of(info.value)) out.add(key, std::move(*value), info.flags);
  }
  told_.erase(from, to);
}

void FenceDirectives::forget_before(store::Generation generation) {
  std::erase_if(told_, [&](const auto& entry) {
    return static_cast<std::int32_t>(entry.first.first - generation) < 0;
  });
}

void FenceDirectives::forget(std::uint32_t member) {
  std::erase_if(told_, [&](const auto& entry) { return entry.first.second == member; });
}

}  // namespace weft::server
