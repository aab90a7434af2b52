// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/segment/job_index.hpp"

#include <algorithm>
#include <cstring>

#include "core/store/segment/job_builder.hpp"

namespace weft::store {
namespace {

/// The offset of each part in the area, in bytes.
struct Parts {
  Parts(std::uint64_t ranks, std::uint64_t nodes, std::uint64_t app_count) noexcept
      : by_node((nodes + 1) * 4),
        name_end(by_node + ranks * 4),
        apps(name_end + nodes * 4),
        names(apps + app_count * sizeof(AppEntry)) {}
  std::uint64_t by_node, name_end, apps, names;
};

}  // namespace

JobIndex::JobIndex(Bytes area, std::uint32_t ranks, std::uint32_t nodes, std::uint32_t apps) noexcept
    : rank_count_(ranks), node_count_(nodes), app_count_(apps) {
  const Parts parts(ranks, nodes, apps);
  first_ = reinterpret_cast<const std::uint32_t*>(area.data());
  ranks_ = reinterpret_cast<const std::uint32_t*>(area.data() + parts.by_node);
  name_end_ = reinterpret_cast<const std::uint32_t*>(area.data() + parts.name_end);
  apps_ = reinterpret_cast<const AppEntry*>(area.data() + parts.apps);
  names_ = as_text(area.subspan(parts.names));
}

std::uint64_t JobIndex::fixed_bytes(std::uint32_t ranks, std::uint32_t nodes, std::uint32_t apps) noexcept {
  return Parts(ranks, nodes, apps).names;
}

std::uint64_t JobIndex::footprint(const JobSpec& spec) noexcept {
  std::uint64_t bytes = fixed_bytes(static_cast<std::uint32_t>(spec.ranks.size()), spec.nodes, spec.apps);
  for (const auto& name : spec.node_names) bytes += name.size();
  return bytes;
}

void JobIndex::fill(std::span<std::byte> area, const JobSpec& spec) noexcept {
  const Parts parts(spec.ranks.size(), spec.nodes, spec.apps);
  auto* first = reinterpret_cast<std::uint32_t*>(area.data());
  auto* by_node = reinterpret_cast<std::uint32_t*>(area.data() + parts.by_node);
  auto* name_end = reinterpret_cast<std::uint32_t*>(area.data() + parts.name_end);
  auto* apps = reinterpret_cast<AppEntry*>(area.data() + parts.apps);

  // Counts into the next element, then sums up: first[n + 1] is where the next rank of node n goes, and
  // finally its end.
  for (const auto& rank : spec.ranks)
    if (rank.node != none && rank.node + 2 <= spec.nodes) ++first[rank.node + 2];
  for (std::uint32_t n = 2; n <= spec.nodes; ++n) first[n] += first[n - 1];
  for (std::uint32_t a = 0; a < spec.apps; ++a) apps[a].leader = none;
  for (std::uint32_t r = 0; r < spec.ranks.size(); ++r) {
    const auto& rank = spec.ranks[r];
    if (rank.node != none) by_node[first[rank.node + 1]++] = r;
    if (rank.appnum != none && apps[rank.appnum].size++ == 0) apps[rank.appnum].leader = r;
  }
  std::uint32_t end = 0;
  for (std::uint32_t n = 0; n < spec.nodes; ++n) {
    if (n < spec.node_names.size()) {
      const auto& name = spec.node_names[n];
      std::memcpy(area.data() + parts.names + end, name.data(), name.size());
      end += static_cast<std::uint32_t>(name.size());
    }
    name_end[n] = end;
  }
}

std::span<const std::uint32_t> JobIndex::ranks_on(std::uint32_t node) const noexcept {
  if (node >= node_count_) return {};
  const auto end = std::min(first_[node + 1], rank_count_);
  const auto from = std::min(first_[node], end);
  return {ranks_ + from, end - from};
}

std::string_view JobIndex::name_of(std::uint32_t node) const noexcept {
  if (node >= node_count_) return {};
  const auto end = std::min<std::size_t>(name_end_[node], names_.size());
  const auto from = node == 0 ? 0 : std::min<std::size_t>(name_end_[node - 1], end);
  return names_.substr(from, end - from);
}

AppEntry JobIndex::app(std::uint32_t app) const noexcept {
  return app < app_count_ ? apps_[app] : AppEntry{0, 0xffffffff};
}

}  // namespace weft::store
