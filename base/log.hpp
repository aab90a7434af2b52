// SPDX-License-Identifier: BSD-3-Clause
// What Weft tells on standard error. Each line is one write, so lines of several processes do not mix.
//
//   weft: [host] message                                   errors and warnings; no WEFT_LOG
//   weft: [host] 12:34:56.123456 warn mesh: message        with WEFT_LOG
//
// WEFT_LOG=level[:part],...: a level for all parts, or for one. The variable is read once, at the first line.
// base/log_format.hpp has the same with a format string; this header is for code that may not bring fmt
// along.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::base {

enum class LogLevel : std::uint8_t { off, error, warn, info, debug };

/// The parts of the house that tell something; the names in WEFT_LOG are the enumerators'.
enum class LogPart : std::uint8_t {
  api,        ///< calls of the C API
  client,     ///< a client's or tool's way to its server
  clients,    ///< the server's clients: come, finalized, dead
  events,     ///< handlers and notifications
  fences,     ///< begun, stuck, ended
  gets,       ///< values that a server waits for
  jobs,       ///< namespaces: registered, ended
  launch,     ///< daemons, agents and ranks that weftrun and weftd start
  mesh,       ///< servers of other nodes: reached, refused, lost
  modex,      ///< cards that travel between nodes
  settings,   ///< the environment
  transport,  ///< which fabric was taken, and why
};
inline constexpr std::size_t log_part_count = 12;

std::string_view to_text(LogLevel level) noexcept;
std::string_view to_text(LogPart part) noexcept;

/// The level of each part.
class LogLevels {
 public:
  LogLevels() noexcept { levels_.fill(LogLevel::warn); }
  /// Nothing: `text` is wrong, and `why` says which word of it.
  static std::optional<LogLevels> parse(std::string_view text, std::string& why);
  bool includes(LogLevel level, LogPart part) const noexcept {
    return level <= levels_[static_cast<std::size_t>(part)];
  }

 private:
  std::array<LogLevel, log_part_count> levels_;
};

/// Whether a line would be written: asked before its text costs anything. Cost: one load and a comparison.
bool is_logged(LogLevel level, LogPart part) noexcept;
/// Writes the line, if that is so.
void log(LogLevel level, LogPart part, std::string_view message) noexcept;

/// The name in the brackets from now on: a virtual node's server has another one than its machine. Standard
/// error is one for the process, and so is this.
void set_log_host(std::string_view host);

/// The line without its level's check. time: empty without WEFT_LOG.
std::string log_line(LogLevel level, LogPart part, std::string_view host, std::string_view time,
                     std::string_view message);

}  // namespace weft::base
