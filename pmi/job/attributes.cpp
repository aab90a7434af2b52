// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/job/attributes.hpp"

namespace weft::pmi {
namespace {

/// "0,1,2"
std::string list_of(const std::vector<std::uint32_t>& ranks) {
  std::string out;
  for (const auto rank : ranks) out += (out.empty() ? "" : ",") + std::to_string(rank);
  return out;
}

}  // namespace

std::optional<std::string> attribute_of_job(const Job& job, std::string_view name) {
  if (name == "PMI_process_mapping") return job.process_mapping();
  if (name == "universeSize") return std::to_string(job.universe_size());
  return job.get_preput(name);
}

std::optional<std::string> attribute_of_node(const Job& job, std::string_view name) {
  if (name == "localRanks") return list_of(job.local_ranks());
  if (name == "localRanksCount") return std::to_string(job.local_ranks().size());
  return job.get_on_node(name);
}

}  // namespace weft::pmi
