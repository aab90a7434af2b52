// SPDX-License-Identifier: BSD-3-Clause
// The options of a job as bytes, from the process whose command line they were on: that has read files and
// variables already, and made each path absolute. What speaks of nodes and daemons, or is over before a job
// starts, does not travel.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/wire.hpp"
#include "tools/placement/processor_lists.hpp"
#include "tools/weftrun/command_line/options.hpp"

namespace weft::io {

template <class Archive>
void fields(Archive& archive, OutputTags& tags) {
  archive(tags.rank, tags.time, tags.host);
}

}  // namespace weft::io

namespace weft::allocation {

template <class Archive>
void fields(Archive& archive, Host& host) {
  archive(host.name, host.slots, host.keys);
}
inline bool is_valid(const Host& host) noexcept {
  return host.slots != 0 && host.slots <= job::most_ranks_a_node;
}

}  // namespace weft::allocation

namespace weft::weftrun::service {

struct JobOptions {
  Options options;
  // What the fields of an app leave to launch information, and what is no number.
  std::vector<std::vector<job::EnvironmentSetting>> settings;  ///< one list an app
  std::optional<std::int64_t> limit_ms, stuck_ms;

  static JobOptions of(Options from) {
    JobOptions out;
    for (auto& app : from.apps) out.settings.push_back(std::exchange(app.settings, {}));
    if (from.limit) out.limit_ms = from.limit->count();
    if (from.stuck_after) out.stuck_ms = from.stuck_after->count();
    out.options = std::move(from);
    return out;
  }
  Options take() && {
    for (std::size_t a = 0; a < settings.size(); ++a) options.apps[a].settings = std::move(settings[a]);
    if (limit_ms) options.limit = std::chrono::milliseconds(*limit_ms);
    if (stuck_ms) options.stuck_after = std::chrono::milliseconds(*stuck_ms);
    return std::move(options);
  }
};

template <class Archive>
void fields(Archive& archive, JobOptions& job) {
  auto& o = job.options;
  archive(o.apps, o.own_hosts, o.on_failure, o.oversubscribe, o.mapping, o.sets_openmp, o.processors,
          o.per_node, o.order, o.input, o.pmi, o.output_directory, o.report_bindings, o.tags, o.merges_errors,
          o.pseudo_terminals, o.quiet, o.verbose, o.added_hosts, job.settings, job.limit_ms, job.stuck_ms);
}

inline bool is_valid(const JobOptions& job) noexcept {
  const auto& o = job.options;
  const auto is_app = [](const job::App& app) {
    return !app.argv.empty() && !app.argv.front().empty() && app.ranks <= job::most_ranks;
  };
  const auto is_processor = [](unsigned number) { return number < placement::most_processors; };
  return !o.apps.empty() && std::all_of(o.apps.begin(), o.apps.end(), is_app) &&
         (o.apps.size() == 1 ||
          std::all_of(o.apps.begin(), o.apps.end(), [](const job::App& app) { return app.ranks != 0; })) &&
         o.own_hosts.size() == o.apps.size() && job.settings.size() == o.apps.size() &&
         std::all_of(o.processors.begin(), o.processors.end(), is_processor) &&
         o.on_failure <= OnFailure::go_on && o.mapping.bind <= job::BindTo::hwthread &&
         o.mapping.map <= job::MapBy::socket && o.mapping.cores_each <= placement::most_processors &&
         o.order.value_or(placement::RankBy::slot) <= placement::RankBy::node &&
         o.per_node.value_or(1) != 0 && o.input.kind <= job::InputTarget::Kind::none &&
         o.pmi <= job::Pmi::never && job.limit_ms.value_or(1) > 0 && job.stuck_ms.value_or(1) > 0;
}

}  // namespace weft::weftrun::service
