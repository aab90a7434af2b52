// SPDX-License-Identifier: BSD-3-Clause
// What processes and tools want of the standard streams of processes of the run (PMIx_IOF_pull,
// PMIx_IOF_push).
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/job/control.hpp"
#include "tools/job/rank.hpp"
#include "tools/job/spawn.hpp"
#include "tools/job/stream.hpp"

namespace weft::job {

using ProcessTarget = ControlRequest::Target;

inline bool includes(const ProcessTarget& target, Rank rank) noexcept {
  return target.ranks.empty() || std::binary_search(target.ranks.begin(), target.ranks.end(), rank);
}

/// The name of a pull: the process or tool that gets the bytes, and the number that it has given the pull.
struct PullName {
  ProcessName puller;
  std::uint64_t number = 0;
  bool operator==(const PullName&) const = default;
};
template <class Archive>
void fields(Archive& archive, PullName& name) {
  archive(name.puller);
  archive(name.number);
}

struct PullRequest {
  PullName name;
  bool ends = false;  ///< the pull of that name; what follows has no meaning then
  std::vector<ProcessTarget> targets;
  bool out = false, error = false;  ///< which streams
  bool redirects = false;           ///< the terminal does not get them meanwhile
};
template <class Archive>
void fields(Archive& archive, PullRequest& request) {
  archive(request.name);
  archive(request.ends);
  archive(request.targets);
  archive(request.out);
  archive(request.error);
  archive(request.redirects);
}

struct PushRequest {
  ProcessName from;
  std::vector<ProcessTarget> targets;
  std::string bytes;
  bool ends = false;  ///< the input that this process pushes, behind the bytes
};
template <class Archive>
void fields(Archive& archive, PushRequest& request) {
  archive(request.from);
  archive(request.targets);
  archive(request.bytes);
  archive(request.ends);
}

}  // namespace weft::job
