// SPDX-License-Identifier: BSD-3-Clause
// The processes of one operation (core/link/proc_set.hpp), under the server's names.
#pragma once

#include "core/link/proc_set.hpp"

namespace weft::server {

using link::canonical;
using link::contains;
using link::is_same;
using link::is_whole_job;
using link::Procs;
using link::whole_job;

}  // namespace weft::server
