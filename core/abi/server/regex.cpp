// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Server-Specific Interfaces": the compressed node and process maps.
#include <cstring>
#include <string>

#include "core/abi/calls/guard.hpp"
#include "core/data/node_map.hpp"
#include "pmix_server.h"

namespace {

using weft::Errc;
using weft::Result;

// The caller frees what it gets.
Result<void> hand_out(const std::string& text, char** out) {
  char* const copy = ::strdup(text.c_str());
  if (copy == nullptr) return weft::fail(Errc::no_memory);
  *out = copy;
  return {};
}

}  // namespace

/// PMIx_generate_regex: a shorter spelling of a list of node names, in the same order.
///   input   names separated by commas; what an earlier call returned is accepted too
///   output  a printable string without NULs, from malloc (format: core/data/node_map.hpp)
///   Errors: PMIX_ERR_BAD_PARAM (NULL, an empty list or name), _NOMEM. Cost: linear in the input.
///   Source: PMIx Standard 5, chapter "Server-Specific Interfaces". Tests: tests/unit/core/data_node_map
extern "C" pmix_status_t PMIx_generate_regex(const char* input, char** output) {
  return weft::abi::guarded([&]() -> Result<void> {
    if (input == nullptr || output == nullptr) return weft::fail(Errc::invalid, "NULL argument");
    const auto names = weft::data::parse_node_map(input);
    if (!names) return weft::fail(names.error());
    const auto text = weft::data::encode_node_map(*names);
    if (!text) return weft::fail(text.error());
    return hand_out(*text, output);
  });
}

/// PMIx_generate_ppn: a shorter spelling of the ranks on each node.
///   input  nodes separated by ';', in the order of the node map; each a comma list of ranks and ranges
///   ppn    as the output of PMIx_generate_regex
///   Errors: PMIX_ERR_BAD_PARAM (NULL, malformed, ranks out of range), _NOMEM. Cost: linear in the number of
///   ranks. Source: PMIx Standard 5, chapter "Server-Specific Interfaces". Tests:
///   tests/unit/core/data_node_map
extern "C" pmix_status_t PMIx_generate_ppn(const char* input, char** ppn) {
  return weft::abi::guarded([&]() -> Result<void> {
    if (input == nullptr || ppn == nullptr) return weft::fail(Errc::invalid, "NULL argument");
    const auto ranks = weft::data::parse_proc_map(input);
    if (!ranks) return weft::fail(ranks.error());
    const auto text = weft::data::encode_proc_map(*ranks);
    if (!text) return weft::fail(text.error());
    return hand_out(*text, ppn);
  });
}
