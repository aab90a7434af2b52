// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/data/value.hpp"
#include "pmix_common.h"

namespace weft::events {

struct Event {
  pmix_status_t code = PMIX_SUCCESS;
  pmix_proc_t source{};  ///< empty namespace and PMIX_RANK_UNDEF: the system itself
  pmix_data_range_t range = PMIX_RANGE_UNDEF;
  data::Infos infos;  ///< as the source of the event gave them, PMIX_EVENT_AFFECTED_PROC(S) included
};

}  // namespace weft::events
