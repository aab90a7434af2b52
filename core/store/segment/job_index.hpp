// SPDX-License-Identifier: BSD-3-Clause
// The inverse of the job map: from a node to its ranks and its name, from an application to its size. The
// server writes it once, before the job is published; it never changes afterwards.
//
//   | first: u32 x (nodes + 1) | ranks, by node: u32 x ranks | name_end: u32 x nodes | AppEntry x apps |
//   | names |
//
// I1  Node n has ranks[first[n] .. first[n + 1]), ascending. A rank without a node is in none of them.
// I2  The name of node n is names[name_end[n - 1] .. name_end[n]) (from 0 where n is 0); an empty range: no
//     name.
// I3  4 bytes a rank, 8 and a name a node, 8 an application: with its RankEntry a rank takes 28 bytes.
// A reader whose job is retired meanwhile finds zeros or the data of a later job: every bound is checked
// against those that the reader read when it opened the job.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/bytes.hpp"

namespace weft::store {

struct JobSpec;

struct AppEntry {
  std::uint32_t size;    ///< known ranks of the application
  std::uint32_t leader;  ///< the lowest of them; `none` if there is none
};
static_assert(sizeof(AppEntry) == 8);

class JobIndex {
 public:
  JobIndex() = default;
  /// area: at least fixed_bytes(ranks, nodes, apps); the bytes after that are names.
  JobIndex(Bytes area, std::uint32_t ranks, std::uint32_t nodes, std::uint32_t apps) noexcept;

  static std::uint64_t fixed_bytes(std::uint32_t ranks, std::uint32_t nodes, std::uint32_t apps) noexcept;
  static std::uint64_t footprint(const JobSpec& spec) noexcept;
  /// area: footprint(spec) bytes, zero. The nodes and applications of spec's ranks are below its counts, or
  /// none.
  static void fill(std::span<std::byte> area, const JobSpec& spec) noexcept;

  std::uint32_t nodes() const noexcept { return node_count_; }
  std::uint32_t apps() const noexcept { return app_count_; }
  std::span<const std::uint32_t> ranks_on(std::uint32_t node) const noexcept;
  std::string_view name_of(std::uint32_t node) const noexcept;
  AppEntry app(std::uint32_t app) const noexcept;

 private:
  const std::uint32_t* first_ = nullptr;
  const std::uint32_t* ranks_ = nullptr;
  const std::uint32_t* name_end_ = nullptr;
  const AppEntry* apps_ = nullptr;
  std::string_view names_;
  std::uint32_t rank_count_ = 0, node_count_ = 0, app_count_ = 0;
};

}  // namespace weft::store
