// SPDX-License-Identifier: BSD-3-Clause
#include "transport/base/lent_environment.hpp"

#include <stdlib.h>

namespace weft::transport {

LentEnvironment::~LentEnvironment() {
  while (count_ != 0) ::unsetenv(names_[--count_]);
}

void LentEnvironment::set(const char* name, const std::string& value) {
  if (count_ == names_.size() || ::getenv(name) != nullptr) return;
  if (::setenv(name, value.c_str(), 0) == 0) names_[count_++] = name;
}

}  // namespace weft::transport
