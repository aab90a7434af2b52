// SPDX-License-Identifier: BSD-3-Clause
// How a job has ended, as PMIX_EVENT_JOB_END tells it.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/job/rank.hpp"

namespace weft::job {

struct Ending {
  std::int32_t status = 0;     ///< PMIX_JOB_TERM_STATUS
  std::optional<Rank> failed;  ///< the first rank that has failed
  std::int32_t exit_code = 0;  ///< of that rank
};
template <class Archive>
void fields(Archive& archive, Ending& ending) {
  archive(ending.status);
  archive(ending.failed);
  archive(ending.exit_code);
}

}  // namespace weft::job
