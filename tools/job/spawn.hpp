// SPDX-License-Identifier: BSD-3-Clause
// A job that a process of a running one asks for (PMIx_Spawn), in the words of weftrun's command line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/job/app.hpp"
#include "tools/job/rank.hpp"

namespace weft::job {

/// A process of any job.
struct ProcessName {
  std::string nspace;
  Rank rank{0};
  bool operator==(const ProcessName&) const = default;
};
template <class Archive>
void fields(Archive& archive, ProcessName& name) {
  archive(name.nspace);
  archive(name.rank);
}

/// Daemons of a debugger, as a program of a spawn asks for them (PMIX_DEBUGGER_DAEMONS).
struct DebuggerDaemons {
  bool are_meant = false;                       ///< the program is such a daemon
  std::optional<ProcessName> target;            ///< a process, or with rank PMIX_RANK_WILDCARD a job
  std::uint32_t per_node = 0, per_process = 0;  ///< of the target; both 0: one beside each process
};
template <class Archive>
void fields(Archive& archive, DebuggerDaemons& daemons) {
  archive(daemons.are_meant);
  archive(daemons.target);
  archive(daemons.per_node);
  archive(daemons.per_process);
}

struct SpawnRequest {
  struct Program {
    std::vector<std::string> words;  ///< options of weftrun, without -n
    std::vector<std::string> argv;
    std::uint32_t ranks = 0;
    std::vector<EnvironmentSetting> settings;  ///< changes of its environment, in their order
    DebuggerDaemons daemons{};
    bool is_apart = false;  ///< a job of its own, whose namespace the caller does not hear
  };
  ProcessName parent;
  std::vector<std::string> words;  ///< options of the whole job
  std::vector<Program> programs;
  std::optional<bool> may_oversubscribe;  ///< nothing: as the parent's job
  bool tells_start = false;               ///< the parent is to hear that all ranks run
  std::uint32_t start_seconds = 0;        ///< for its start; 0: without end
  /// The parent is going to pull these streams: what is written before is kept for it.
  bool keeps_output = false, keeps_errors = false;
};
/// Daemons that come without other programs name what they are for.
inline bool is_valid(const SpawnRequest& request) noexcept {
  const auto& all = request.programs;
  const auto are_meant = [](const SpawnRequest::Program& each) { return each.daemons.are_meant; };
  const bool are_alone = std::all_of(all.begin(), all.end(), are_meant);
  return !all.empty() && std::all_of(all.begin(), all.end(), [&](const SpawnRequest::Program& each) {
    return !each.argv.empty() && (!are_alone || each.daemons.target);
  });
}
template <class Archive>
void fields(Archive& archive, SpawnRequest::Program& program) {
  archive(program.words);
  archive(program.argv);
  archive(program.ranks);
  archive(program.settings);
  archive(program.daemons);
  archive(program.is_apart);
}
template <class Archive>
void fields(Archive& archive, SpawnRequest& request) {
  archive(request.parent);
  archive(request.words);
  archive(request.programs);
  archive(request.may_oversubscribe);
  archive(request.tells_start);
  archive(request.start_seconds);
  archive(request.keeps_output);
  archive(request.keeps_errors);
}

/// What has become of a request to the launcher.
struct Result {
  std::int32_t status = 0;  ///< a pmix_status_t
  std::string nspace;       ///< of the job, where it runs
};
template <class Archive>
void fields(Archive& archive, Result& result) {
  archive(result.status);
  archive(result.nspace);
}

}  // namespace weft::job
