// SPDX-License-Identifier: BSD-3-Clause
// What a process wants done to processes of the run (PMIx_Job_control).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/job/rank.hpp"
#include "tools/job/spawn.hpp"

namespace weft::job {

struct ControlRequest {
  enum class What : std::uint8_t {
    signal,
    pause,
    resume,
    terminate,  ///< asked to end, and made to after a time of grace
    kill,
  };
  struct Target {
    std::string nspace;
    std::vector<Rank> ranks;  ///< ascending; none: all of the job
  };
  ProcessName from;
  What what = What::signal;
  std::int32_t signal = 0;
  std::vector<Target> targets;
};
inline bool is_valid(const ControlRequest& request) noexcept {
  return request.what <= ControlRequest::What::kill;
}
template <class Archive>
void fields(Archive& archive, ControlRequest::Target& target) {
  archive(target.nspace);
  archive(target.ranks);
}
template <class Archive>
void fields(Archive& archive, ControlRequest& request) {
  archive(request.from);
  archive(request.what);
  archive(request.signal);
  archive(request.targets);
}

}  // namespace weft::job
