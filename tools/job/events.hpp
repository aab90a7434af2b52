// SPDX-License-Identifier: BSD-3-Clause
// What happens to the ranks of a job, as every node tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/job/rank.hpp"

namespace weft::job {

/// How many bytes a rank has written on each stream.
struct WrittenBytes {
  std::uint64_t out = 0, error = 0;
};

/// The process of a rank has ended.
struct RankEnd {
  Rank rank{0};
  std::int32_t wait_status = 0;  ///< of waitpid
  bool connected = false, finalized = false;
  /// The library had told of the loss of this rank before: what has ended since may have ended for that.
  std::optional<Rank> after{};
  /// Of a rank of another node, by its end: a line about that end is printed after them.
  WrittenBytes written{};
};
template <class Archive>
void fields(Archive& archive, RankEnd& end) {
  archive(end.rank, end.wait_status, end.connected, end.finalized, end.after);
  archive(end.written.out, end.written.error);
}

/// A rank called PMIx_Abort.
struct AbortRequest {
  Rank from{0};
  std::int32_t status = 0;
  std::string message{};
  std::vector<Rank> named{};  ///< the ranks to end, ascending; empty: the whole job
};

}  // namespace weft::job
