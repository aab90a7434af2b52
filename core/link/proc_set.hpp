// SPDX-License-Identifier: BSD-3-Clause
// The processes of one operation, in the one spelling that all its members agree on. Pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "pmix_common.h"

namespace weft::link {

/// Canonical: sorted by namespace and rank, each process once, no rank beside the wildcard of its namespace.
using Procs = std::vector<pmix_proc_t>;

bool is_same(const pmix_proc_t& a, const pmix_proc_t& b) noexcept;
/// By namespace, then rank.
bool is_less(const pmix_proc_t& a, const pmix_proc_t& b) noexcept;
bool is_same(const Procs& a, const Procs& b) noexcept;
/// In their order, each once. Cost: n log n.
Procs each_once(const Procs& procs);
/// In any order; a wildcard is itself only.
bool contains(const Procs& procs, const pmix_proc_t& proc) noexcept;

/// Members may name them in different orders, and twice.
Procs canonical(Procs procs);

Procs whole_job(std::string_view nspace);
/// Spelt as whole_job(), of whichever job.
bool is_whole_job(const Procs& procs) noexcept;

}  // namespace weft::link
