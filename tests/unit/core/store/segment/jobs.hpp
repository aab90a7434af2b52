// SPDX-License-Identifier: BSD-3-Clause
// A node segment with jobs in it, as a server lays them out.
#pragma once

#include <string>
#include <vector>

#include "core/store/get/lookup.hpp"
#include "core/store/segment/job_builder.hpp"
#include "pmix_common.h"
#include "tests/unit/transport/shm/testing.hpp"

namespace weft::store {

using data::Value;

struct Node {
  explicit Node(std::size_t bytes = std::size_t{1} << 30) : segment(make(bytes)) {}
  Result<JobWriter> add(const JobSpec& spec, const Limits& limits = {.card_bytes = 64 << 10}) {
    return JobWriter::create(segment, spec, limits);
  }
  std::optional<std::uint64_t> find(std::string_view nspace) const {
    return find_job(segment.bytes(), nspace);
  }
  /// Bytes behind what is allocated, in the server's memory and of the addresses of clients' memories.
  std::size_t left() const { return segment.server.left() + segment.clients.left(); }
  shm::Segment segment;

 private:
  static shm::Segment make(std::size_t bytes) {
    auto segment = shm::Segment::create(bytes);
    if (!segment || !format_segment(*segment)) std::abort();
    return std::move(*segment);
  }
};

/// n ranks on one node, ranks 0 .. locals-1 with a place on it.
inline JobSpec flat_job(std::string nspace, std::uint32_t n, std::uint32_t locals) {
  JobSpec spec;
  spec.nspace = std::move(nspace);
  for (std::uint32_t r = 0; r < n; ++r) {
    RankSpec rank;
    rank.node = 0;
    rank.appnum = 0;
    rank.app_rank = rank.global_rank = r;
    rank.local_rank = rank.node_rank = static_cast<std::uint16_t>(r);
    spec.ranks.push_back(rank);
  }
  for (std::uint32_t r = 0; r < locals; ++r) spec.local_ranks.push_back(r);
  return spec;
}

/// Six ranks: nodes alpha (ranks 0, 2, 4: this one) and beta (1, 3, 5); applications 0 (ranks 0-3) and 1 (4,
/// 5).
inline JobSpec two_node_job(std::string nspace = "job") {
  auto spec = flat_job(std::move(nspace), 6, 0);
  spec.nodes = 2;
  spec.apps = 2;
  for (std::uint32_t r = 0; r < 6; ++r) {
    auto& rank = spec.ranks[r];
    rank.node = r % 2;
    rank.local_rank = rank.node_rank = static_cast<std::uint16_t>(r / 2);
    rank.appnum = r < 4 ? 0 : 1;
    rank.app_rank = r < 4 ? r : r - 4;
    rank.global_rank = 100 + r;
  }
  spec.local_ranks = {0, 2, 4};
  spec.node_names = {"alpha"};  // the other one as hosts say it that give no node map
  spec.keys.push_back({{Realm::node, 1}, PMIX_HOSTNAME, Value::of("beta")});
  return spec;
}

/// Commits a key as a rank of this node does.
inline Result<void> put(const JobView& job, std::uint32_t rank, std::string_view key, const Value& value,
                        pmix_scope_t scope = PMIX_GLOBAL) {
  data::Writer encoded;
  if (auto ok = data::encode_value(encoded, value.get()); !ok) return ok;
  auto card = job.cards().to_write(job.local_index(rank));
  return card.append({{Realm::rank, 0}, scope, key, encoded.view()});
}

/// A value in words: "u32 7", "s text", "rank 3", or "-" and the error's number.
inline std::string words(const Result<Value>& value) {
  if (!value) return "-" + std::to_string(static_cast<int>(value.error().code));
  const auto& v = value->get();
  switch (v.type) {
    case PMIX_STRING:
      return std::string("s ") + v.data.string;
    case PMIX_UINT32:
      return "u32 " + std::to_string(v.data.uint32);
    case PMIX_UINT16:
      return "u16 " + std::to_string(v.data.uint16);
    case PMIX_PROC_RANK:
      return "rank " + std::to_string(v.data.rank);
    default:
      return "type " + std::to_string(v.type);
  }
}
inline std::string not_found() {
  return "-" + std::to_string(static_cast<int>(Errc::not_found));
}
inline std::string outside() {
  return "-" + std::to_string(static_cast<int>(Errc::outside_scope));
}

}  // namespace weft::store
