// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/loop/loop_watch.hpp"

#include <fmt/core.h>

#include "core/link/messages.hpp"

namespace weft::server {

LoopWatch::LoopWatch()
    : LoopWatch(&Clock::now, [](base::LogLevel level, const std::string& line) {
        base::log(level, base::LogPart::clients, line);
      }) {}

void LoopWatch::report(std::string_view what, const pmix_proc_t* of, Clock::duration took) const {
  const auto of_whom =
      of == nullptr ? std::string() : fmt::format(" of rank {} of {}", of->rank, link::nspace_of(*of));
  report_(took >= too_long_work ? base::LogLevel::warn : base::LogLevel::info,
          fmt::format("the server's loop was held up for {:.1f} s by {}{}",
                      std::chrono::duration<double>(took).count(), what, of_whom));
}

}  // namespace weft::server
