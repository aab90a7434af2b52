// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/names/deadline.hpp"

#include <algorithm>

#include "core/data/types/value.hpp"
#include "pmix.h"

namespace weft::data {

Result<Timeout> timeout_of(const pmix_value_t& value) {
  const auto seconds = as_unsigned(value);
  if (!seconds) return fail(Errc::type_mismatch, PMIX_TIMEOUT);
  if (*seconds == 0) return Timeout();
  const auto longest = static_cast<std::uint64_t>(longest_timeout.count());
  return Timeout(std::chrono::seconds(std::min<std::uint64_t>(*seconds, longest)));
}

Result<Timeout> timeout_in(const Infos& directives) {
  const auto* info = directives.find(PMIX_TIMEOUT);
  return info != nullptr ? timeout_of(info->value) : Timeout();
}

}  // namespace weft::data
