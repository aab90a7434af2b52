// SPDX-License-Identifier: BSD-3-Clause
// Names of environment variables, as PMIx_Forward_envars has them: patterns with semicolons between, in each
// of which `?` stands for any one character and `*`, which can only be the last, for whatever follows.
// Source: RFC 0029.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/result.hpp"

namespace weft::server {

class EnvarPatterns {
 public:
  /// Errors: invalid: an empty pattern, a `*` before the end, or a character that no name has (`=`, a blank,
  /// a control character); `bad` is that pattern then.
  static Result<EnvarPatterns> parse(std::string_view text, std::string& bad);

  bool match(std::string_view name) const noexcept;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace weft::server
