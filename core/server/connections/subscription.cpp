// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/connections/subscription.hpp"

#include <algorithm>

namespace weft::server {

bool holds(const std::vector<pmix_status_t>& codes, pmix_status_t code) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

bool Subscription::wants(Kind kind) const {
  return (wishes_.all && kind.is_for_default_handlers) || holds(wishes_.codes, kind.code);
}

bool Subscription::has_been_sent(std::uint64_t number, Kind kind) const {
  if (wants(kind) || (kind.is_for_default_handlers && number <= left_all_)) return true;
  const auto left = left_codes_.find(kind.code);
  return left != left_codes_.end() && number <= left->second;
}

void Subscription::add(const EventWishes& wishes) {
  wishes_.all |= wishes.all;
  wishes_.codes.insert(wishes_.codes.end(), wishes.codes.begin(), wishes.codes.end());
}

EventWishes Subscription::remove(const EventWishes& wishes, const std::vector<pmix_status_t>& kept,
                                 std::uint64_t first, std::uint64_t last) {
  EventWishes removed;
  if (wishes.all && wishes_.all) {
    removed.all = true;
    wishes_.all = false;
    left_all_ = last;
  }
  std::erase_if(left_codes_, [first](const auto& left) { return left.second < first; });
  for (const auto code : wishes.codes) {
    if (std::erase(wishes_.codes, code) == 0) continue;
    removed.codes.push_back(code);
    if (holds(kept, code)) left_codes_[code] = last;
  }
  return removed;
}

}  // namespace weft::server
