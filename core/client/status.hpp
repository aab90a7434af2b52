// SPDX-License-Identifier: BSD-3-Clause
// What a caller of the client role is told of an error.
#pragma once

#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::client {

inline pmix_status_t status_of(const Error& error) noexcept {
  switch (error.code) {
    case Errc::not_found:
      return PMIX_ERR_NOT_FOUND;
    case Errc::outside_scope:
      return PMIX_ERR_EXISTS_OUTSIDE_SCOPE;
    case Errc::no_memory:
      return PMIX_ERR_NOMEM;
    case Errc::no_space:
      return PMIX_ERR_OUT_OF_RESOURCE;
    case Errc::unreachable:
      return PMIX_ERR_LOST_CONNECTION;
    case Errc::not_supported:
      return PMIX_ERR_UNKNOWN_DATA_TYPE;
    default:
      return PMIX_ERROR;
  }
}

}  // namespace weft::client
