// SPDX-License-Identifier: BSD-3-Clause
// What a user sets for PMIx as a whole: PMIX_MCA_<name> in the environment, else a line `<name> = <value>` of
// a file of parameters. Source: RFC 0029, which names the mechanism.
#pragma once

#include <string>
#include <string_view>

namespace weft::server {

/// Empty: it is not set. The file is .pmix/mca-params.conf in HOME; one that is no regular file, is longer
/// than 1 MiB, or does not belong to this process's user, says nothing. Cost: reads the file.
std::string user_parameter(std::string_view name);

}  // namespace weft::server
