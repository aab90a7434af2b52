// SPDX-License-Identifier: BSD-3-Clause
// How the fences of a group, or the calls for its end, have failed here since one has ended well: the oldest
// first. A member of another node may have called less often, and is owed each of these ends. It gets them
// with its next calls, because each attempt is one generation of the collective of these members. When a
// member leaves the collective is another, and the ends are said again there (Operations::lose_member()).
#pragma once

#include <vector>

#include "core/server/operations/latest.hpp"
#include "core/server/operations/operation_name.hpp"
#include "core/server/types.hpp"

namespace weft::server {

class Failures {
 public:
  /// Operations. What is forgotten is not said again: a member that calls later than the others, and after
  /// a leave, waits for their next call.
  static constexpr std::size_t most = 1024;
  /// Of one operation. The oldest goes.
  static constexpr std::size_t most_in_a_row = 64;

  void add(const OperationName& name, pmix_status_t status) {
    auto* known = failed_.find(name);
    auto& row = known != nullptr ? *known : failed_.add(name, {});
    if (row.size() == most_in_a_row) row.erase(row.begin());
    row.push_back(status);
  }
  std::vector<pmix_status_t> of(const OperationName& name) const {
    const auto* known = failed_.find(name);
    return known == nullptr ? std::vector<pmix_status_t>() : *known;
  }
  /// It has ended well, or has other members than those that have failed in it.
  void forget(const OperationName& name) { failed_.erase(name); }
  void forget(const std::string& group) {
    failed_.erase_if([&](const OperationName& name, const auto&) { return name.group == group; });
  }

 private:
  Latest<OperationName, std::vector<pmix_status_t>, most> failed_;
};

}  // namespace weft::server
