// SPDX-License-Identifier: BSD-3-Clause
// What calls about groups have in common: the name they are given, and the group that the server's answer makes this process a member of.
#pragma once

#include <string>

#include "core/link/requests.hpp"
#include "pmix.h"

namespace weft::abi {

/// PMIX_ERR_BAD_PARAM: there is none, or it is longer than PMIX_MAX_NSLEN.
pmix_status_t copy_group_name(const char* group, std::string& out);

/// This process is a member from here on, if the answer says so: the group's members and context are among the caller's results. Returns
/// the status of the call.
pmix_status_t hand_over_group(const std::string& name, link::Answer answer, pmix_info_t** results,
                              std::size_t* nresults);
void lend_group(const std::string& name, link::Answer answer, pmix_info_cbfunc_t cbfunc, void* cbdata);

/// It is a member no more, if the call went well.
void forget_group(const std::string& name, pmix_status_t status);

}  // namespace weft::abi
