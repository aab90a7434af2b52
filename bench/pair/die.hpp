// SPDX-License-Identifier: BSD-3-Clause
// Ends a measuring program on an error.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::bench {

[[noreturn]] inline void die(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(1);
}

[[noreturn]] inline void die_of_errno(const char* what) {
  die(what, std::strerror(errno));
}

}  // namespace weft::bench
