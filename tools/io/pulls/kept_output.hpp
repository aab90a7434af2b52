// SPDX-License-Identifier: BSD-3-Clause
// What a job has written before the process that has asked for it (PMIX_FWD_STDOUT, PMIX_FWD_STDERR) pulls
// its output: kept for that process, up to a bound.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/io/flow.hpp"
#include "tools/job/spawn.hpp"

namespace weft::io {

class KeptOutput {
 public:
  static constexpr std::size_t most_bytes = 1024 * 1024;
  struct Chunk {
    Flow flow;
    std::string bytes;
  };

  KeptOutput() = default;
  KeptOutput(job::ProcessName reader, bool out, bool error)
      : reader_(std::move(reader)), out_(out), error_(error) {}

  bool is_for(const job::ProcessName& process) const { return reader_ == process; }
  /// The reader may still come.
  bool is_awaited() const noexcept { return reader_ && (out_ || error_); }
  /// Bytes beyond the bound are dropped.
  void add(const Flow& flow, const std::string& bytes) {
    const bool is_asked_for = reader_ && (flow.stream == job::Stream::out ? out_ : error_);
    if (!is_asked_for || bytes.empty() || bytes_ + bytes.size() > most_bytes) return;
    bytes_ += bytes.size();
    chunks_.push_back({flow, bytes});
  }
  /// The reader pulls these streams: nothing of them is kept from here on.
  std::vector<Chunk> take(bool out, bool error) {
    out_ = out_ && !out;
    error_ = error_ && !error;
    std::vector<Chunk> taken, left;
    for (auto& chunk : std::exchange(chunks_, {})) {
      const bool is_meant = chunk.flow.stream == job::Stream::out ? out : error;
      if (is_meant) bytes_ -= chunk.bytes.size();
      (is_meant ? taken : left).push_back(std::move(chunk));
    }
    chunks_ = std::move(left);
    return taken;
  }

 private:
  std::optional<job::ProcessName> reader_;
  bool out_ = false, error_ = false;
  std::vector<Chunk> chunks_;
  std::size_t bytes_ = 0;
};

}  // namespace weft::io
