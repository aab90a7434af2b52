// SPDX-License-Identifier: BSD-3-Clause
// Where --output-dir puts what a rank writes.
#pragma once

#include <fmt/format.h>

#include <string>

#include "tools/job/rank.hpp"
#include "tools/job/stream.hpp"

namespace weft::jobs {

inline std::string output_file(const std::string& directory, job::Rank rank, job::Stream stream) {
  return fmt::format("{}/rank.{}.{}", directory, number(rank), stream == job::Stream::error ? "err" : "out");
}

}  // namespace weft::jobs
