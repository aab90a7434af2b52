// SPDX-License-Identifier: BSD-3-Clause
#include "base/host_name.hpp"

#include <limits.h>
#include <unistd.h>

namespace weft::base {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  // A name of the greatest length fits only with its final zero; in less room glibc refuses it.
  return ::gethostname(name, sizeof name) == 0 && name[0] != '\0' ? name : "localhost";
}

}  // namespace weft::base
