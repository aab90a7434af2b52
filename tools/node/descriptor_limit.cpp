// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/descriptor_limit.hpp"

#include <sys/resource.h>

namespace weft::node {

unsigned long DescriptorLimit::raise() noexcept {
  if (of_user_) return *of_user_;
  of_user_ = 0;
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return 0;
  const auto before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) of_user_ = before;
  return *of_user_;
}

}  // namespace weft::node
