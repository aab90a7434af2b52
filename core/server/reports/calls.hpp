// SPDX-License-Identifier: BSD-3-Clause
// In which call of PMIx each process of this node is, and what it was answered last: as far as the server
// knows, from its boards, its open requests and the cells in the segment. Nothing is kept for it but the kind
// and the time of each request; a call that a process serves by itself leaves no trace. The loop's thread
// only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/server/cards/gets.hpp"
#include "core/server/groups/group_reports.hpp"

namespace weft::server {

struct RankCall {
  std::uint32_t rank = 0;
  std::int32_t pid = 0;      ///< 0: it has not connected, and its host has not said
  std::uint8_t state = 0;    ///< store::Local::State
  std::string call;          ///< "PMIx_Fence of all ranks"; empty: in none that the server knows of
  std::string last;          ///< the call that the server has answered last; empty: none
  std::uint64_t age_ms = 0;  ///< of `call`, at least; without one: since that answer
};

class Calls {
 public:
  /// The rooms outlive this object.
  Calls(const Jobs& jobs, const Gets& gets, Fences& fences, const GroupReports& groups)
      : jobs_(jobs), gets_(gets), fences_(fences), groups_(groups) {}

  /// The ranks of this node, in the order in which the host registered them. Cost: a look at each open fence
  /// and each open request.
  std::vector<RankCall> here(const Job& job) const;

 private:
  struct Call {
    const char* function;
    std::string about;  ///< " of all ranks"; empty: nothing is to be said
    std::uint64_t age_ms;
  };
  using CallsOf = std::vector<std::vector<Call>>;  ///< by local index

  void add_parts(const Job& job, const std::vector<FencePart>& parts, CallsOf& out) const;
  void add_own(const Job& job, std::uint32_t local, RankCall& row, std::vector<Call>& calls) const;
  void add_requests(const ClientConnection& connection, std::vector<Call>& out) const;

  const Jobs& jobs_;
  const Gets& gets_;
  Fences& fences_;
  const GroupReports& groups_;
};

/// The value of the key `weft.calls`: infos `weft.call`. Errors: no_memory.
inline constexpr const char* calls_key = "weft.calls";
Result<data::Value> to_value(const std::vector<RankCall>& calls);

}  // namespace weft::server
