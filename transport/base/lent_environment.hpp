// SPDX-License-Identifier: BSD-3-Clause
// Variables that a library reads while a transport opens, and nowhere else can be told. A variable that the
// user has set keeps its value.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace weft::transport {

/// Sets variables that are not set, as long as it lives. Not to be made while other threads change the
/// environment.
class LentEnvironment {
 public:
  LentEnvironment() = default;
  ~LentEnvironment();
  LentEnvironment(const LentEnvironment&) = delete;
  LentEnvironment& operator=(const LentEnvironment&) = delete;

  /// name: stays where it is. At most eight of them; one that cannot be set is left out.
  void set(const char* name, const std::string& value);

 private:
  std::array<const char*, 8> names_{};
  std::size_t count_ = 0;
};

}  // namespace weft::transport
