// SPDX-License-Identifier: BSD-3-Clause
// Makes an agent the PMIx client of its rank.
#pragma once

#include <fmt/format.h>
#include <pmix.h>

#include <cstdint>
#include <string>

#include "pmi/job/job.hpp"

namespace weft::pmi {

/// Opens the job, which has `told_size` ranks as the program has read. Empty: it is open; else why it is not.
inline std::string open_job(Job& job, std::uint32_t told_size) {
  const auto status = job.open();
  if (status != PMIX_SUCCESS) return fmt::format("PMIx_Init failed: {}", PMIx_Error_string(status));
  if (job.size() == told_size) return {};
  return fmt::format("the job has {} ranks, but the environment that weftpmi was started with says {}",
                     job.size(), told_size);
}

}  // namespace weft::pmi
