// SPDX-License-Identifier: BSD-3-Clause
// The standard input of ranks of this node to which processes push bytes: a pipe each, at its own pace.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/io/input/input_pipes.hpp"

namespace weft::io {

class PushPipes {
 public:
  explicit PushPipes(asio::io_context& loop) : loop_(loop) {}

  /// Descriptor 0 of a rank; close it here once the rank has started. Throws Stop (own_failure).
  process::Fd connect(job::Rank rank);
  /// ends: the input of these ranks has its end behind the bytes. taken: each of them has got all, or has no
  /// use for it; perhaps before this returns. The writer bounds how much waits.
  void write(const std::vector<job::Rank>& ranks, const std::string& bytes, bool ends,
             const std::function<void()>& taken);
  /// The rank has ended.
  void disconnect(job::Rank rank);
  void close();

 private:
  asio::io_context& loop_;
  std::map<job::Rank, std::unique_ptr<InputPipes>> pipes_;  ///< one reader each
};

}  // namespace weft::io
