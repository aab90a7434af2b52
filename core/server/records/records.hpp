// SPDX-License-Identifier: BSD-3-Clause
// Records of PMIx_Log for the syslog of the run's gateway, where the host takes no log. The loop's thread
// only.
//
// Gateway   The lowest node whose server is there. Each record says which process it is of, and of which
//           host.
// Channels  PMIX_LOG_GLOBAL_SYSLOG goes to the gateway's syslog, and so does PMIX_LOG_SYSLOG where that is
//           another node. The rest is refused: the client's library has its own way to the syslog of its
//           node, and there is no other service here (electronic mail, a job record, a data store).
// Source: PMIx Standard, chapter "Job Management and Reporting", "Logging".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/wire.hpp"
#include "core/server/cluster/cluster.hpp"
#include "core/server/connections/requester.hpp"
#include "core/server/loop/off_loop.hpp"

namespace weft::server {

/// From server to server: for the syslog of the receiver's machine.
struct SyslogRecord {
  static constexpr std::size_t most_bytes = 8192;  ///< a longer text is cut
  std::uint8_t priority = 0;
  std::string text;
};
template <class Archive>
void fields(Archive& archive, SyslogRecord& m) {
  archive(m.priority, m.text);
}
inline bool is_valid(const SyslogRecord& m) noexcept {
  return m.priority < 8 && m.text.size() <= SyslogRecord::most_bytes;
}

class Records {
 public:
  /// host_name: of this node.
  Records(Loop& loop, Cluster& cluster, std::string host_name);
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  /// The reply: PMIX_SUCCESS, _ERR_PARTIAL_SUCCESS (some records are not taken), _ERR_NOT_SUPPORTED (none
  /// is), _ERR_BAD_PARAM.
  void log(const Requester& from, const link::Log& message);

 private:
  using Taken = std::function<void(bool is_taken)>;

  NodeNumber gateway() const;
  bool takes(const pmix_info_t& record) const;
  void send(const SyslogRecord& record, Taken taken);
  void write(const SyslogRecord& record, Taken taken);
  void written(std::uint64_t number, bool is_taken);

  Cluster& cluster_;
  const std::string host_name_;
  std::map<std::uint64_t, Taken> writing_;  ///< on the thread of the syslog
  std::uint64_t last_number_ = 0;
  OffLoop syslog_;
};

}  // namespace weft::server
