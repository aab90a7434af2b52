// SPDX-License-Identifier: BSD-3-Clause
// What a process asks for by PMIx_Spawn, from the Standard's attributes to the words of weftrun's command
// line, which check the values. Source: PMIx Standard, chapter "Process Management".
#pragma once

#include <pmix_common.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tools/job/spawn.hpp"

namespace weft::host {

/// Bounds of a request, which travels to the launcher as one message.
inline constexpr std::size_t most_spawned_programs = 1024;

/// The keys of the attributes that have a meaning here.
std::vector<std::string> spawn_attributes();

/// Fills `out`. Errors: PMIX_ERR_BAD_PARAM (a value has the wrong type, no process is asked for),
/// PMIX_ERR_NOT_SUPPORTED (an attribute that this host has no meaning for, and the caller requires).
/// PMIX_ERR_JOB_NO_EXE_SPECIFIED.
pmix_status_t read_spawn_call(const pmix_proc_t& parent, const pmix_info_t infos[], std::size_t count,
                              const pmix_app_t apps[], std::size_t programs, job::SpawnRequest& out);

}  // namespace weft::host
