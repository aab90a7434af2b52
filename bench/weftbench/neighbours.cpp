// SPDX-License-Identifier: BSD-3-Clause
#include "bench/weftbench/neighbours.hpp"

#include <algorithm>
#include <charconv>

namespace weft::bench {

std::optional<std::vector<unsigned>> parse_ranks(std::string_view text, unsigned size) {
  std::vector<unsigned> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    unsigned rank = 0;
    const auto [next, error] = std::from_chars(at, end, rank);
    if (error != std::errc{} || rank >= size) return std::nullopt;
    out.push_back(rank);
    if (next == end) break;
    if (*next != ',') return std::nullopt;
    at = next + 1;
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<unsigned> neighbours(const Job& job) {
  const Fetched value = job.get(job.proc(PMIX_RANK_WILDCARD), PMIX_LOCAL_PEERS);
  if (value->type != PMIX_STRING || value->data.string == nullptr) {
    throw Failure("PMIX_LOCAL_PEERS is not a string");
  }
  auto out = parse_ranks(value->data.string, job.size());
  if (!out) throw Failure(std::string("PMIX_LOCAL_PEERS is no list of ranks: ") + value->data.string);
  if (!std::binary_search(out->begin(), out->end(), job.rank())) {
    throw Failure("PMIX_LOCAL_PEERS of rank " + std::to_string(job.rank()) +
                  " is without it: " + value->data.string);
  }
  return *std::move(out);
}

unsigned host_count(const Job& job) {
  const auto of_job = job.proc(PMIX_RANK_WILDCARD);
  const pmix_info_t only_here = flag_info(PMIX_OPTIONAL);
  pmix_value_t* raw = nullptr;
  if (PMIx_Get(&of_job, PMIX_NUM_NODES, &only_here, 1, &raw) == PMIX_SUCCESS) {
    const Fetched value(raw);
    if (value->type == PMIX_UINT32) return value->data.uint32;
  }
  if (PMIx_Get(&of_job, PMIX_LOCAL_SIZE, &only_here, 1, &raw) != PMIX_SUCCESS) return 0;
  const Fetched value(raw);
  return value->type == PMIX_UINT32 && value->data.uint32 == job.size() ? 1 : 0;
}

std::vector<unsigned> strangers_of(unsigned me, const std::vector<unsigned>& near, unsigned size) {
  const auto first = static_cast<unsigned>(near.size());
  std::vector<unsigned> out;
  for (unsigned step = 0; step < size; ++step) {
    const unsigned rank = (me + first + step) % size;
    if (!std::binary_search(near.begin(), near.end(), rank)) out.push_back(rank);
  }
  return out;
}

std::vector<unsigned> strangers(const Job& job) {
  return strangers_of(job.rank(), neighbours(job), job.size());
}

}  // namespace weft::bench
