// SPDX-License-Identifier: BSD-3-Clause
// The file that WEFT_TRACE names.
#pragma once

#include <string>
#include <string_view>

namespace weft::weftrun {

/// The file is written beside its place and then put there, so that it is whole or not there; one that was
/// there is replaced. Only its owner may read it.
class TraceFile {
 public:
  /// path: relative to this process's folder now. Throws Stop: it cannot be written.
  explicit TraceFile(const std::string& path);

  /// Empty, or why not: then nothing of it is left.
  std::string write(std::string_view text) const;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace weft::weftrun
