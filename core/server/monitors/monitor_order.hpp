// SPDX-License-Identifier: BSD-3-Clause
// What a call of PMIx_Process_monitor asks for, from the Standard's attributes; and when a monitor that has
// missed signs of life says so. Pure.
// Source: PMIx Standard, chapter "Job Management and Reporting", "Process and Job Monitoring".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/data/types/value.hpp"
#include "core/link/requests.hpp"

namespace weft::server {

struct MonitorOrder {
  enum class Kind : std::uint8_t {
    heartbeat,  ///< PMIX_MONITOR_HEARTBEAT
    file,       ///< PMIX_MONITOR_FILE
    cancel,     ///< PMIX_MONITOR_CANCEL
    beat        ///< PMIX_SEND_HEARTBEAT
  };
  static constexpr std::chrono::seconds default_time{10};
  static constexpr std::size_t most_text = 4096;  ///< bytes of a path or an identifier

  Kind kind = Kind::beat;
  std::string id;  ///< PMIX_MONITOR_ID; of a cancel: what ends, empty for all
  std::chrono::seconds time{default_time};
  std::uint32_t drops = 0;  ///< so many may be missed
  std::string path;
  bool watches_size = false, watches_access = false, watches_modify = false;
  pmix_status_t code = PMIX_SUCCESS;  ///< of the event
  pmix_data_range_t range = PMIX_RANGE_NAMESPACE;

  /// Errors: PMIX_ERR_BAD_PARAM (a value of another type, a path that is not absolute, a time of nothing),
  /// PMIX_ERR_NOT_SUPPORTED (another kind of monitor; a required directive that is not known).
  static pmix_status_t read(const link::Monitor& message, MonitorOrder& out);
};

/// Counts the signs of life that a monitored process or file has missed.
class Misses {
 public:
  explicit Misses(std::uint32_t allowed) noexcept : allowed_(allowed) {}
  void take_sign() noexcept {
    missed_ = 0;
    has_told_ = false;
  }
  /// True: an event is due, once until the next sign.
  bool miss() noexcept {
    if (has_told_ || missed_++ < allowed_) return false;
    return has_told_ = true;
  }
  std::uint32_t count() const noexcept { return missed_; }

 private:
  const std::uint32_t allowed_;
  std::uint32_t missed_ = 0;
  bool has_told_ = false;
};

/// What can be seen of a file without reading it; zeros where it is not there.
struct FileState {
  std::int64_t size = 0, accessed = 0, modified = 0;  ///< times in nanoseconds

  static FileState of(const std::string& path) noexcept;
  /// A sign of life, by what the order watches: it has grown, was read, was written.
  bool is_sign_since(const FileState& before, const MonitorOrder& order) const noexcept;
};

}  // namespace weft::server
