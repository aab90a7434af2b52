// SPDX-License-Identifier: BSD-3-Clause
// The border between C++ and C: inside an entry point errors are Errors and texts are std::strings; outside
// there are statuses and malloc'ed memory, and no exception ever.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::abi {

inline pmix_status_t status_of_errno(int sys) noexcept {
  switch (sys) {
    case ENOMEM:
      return PMIX_ERR_NOMEM;
    case EMFILE:
    case ENFILE:
    case ENOSPC:
    case EAGAIN:
      return PMIX_ERR_OUT_OF_RESOURCE;
    case EACCES:
    case EPERM:
      return PMIX_ERR_NO_PERMISSIONS;
    case ECONNREFUSED:
    case ENOENT:
      return PMIX_ERR_UNREACH;
    default:
      return PMIX_ERROR;
  }
}

inline pmix_status_t to_status(const Error& error) noexcept {
  switch (error.code) {
    case Errc::again:
      return PMIX_ERR_WOULD_BLOCK;
    case Errc::invalid:
      return PMIX_ERR_BAD_PARAM;
    case Errc::no_space:
      return PMIX_ERR_OUT_OF_RESOURCE;
    case Errc::no_memory:
      return PMIX_ERR_NOMEM;
    case Errc::not_found:
      return PMIX_ERR_NOT_FOUND;
    case Errc::not_supported:
      return PMIX_ERR_NOT_SUPPORTED;
    case Errc::outside_scope:
      return PMIX_ERR_EXISTS_OUTSIDE_SCOPE;
    case Errc::type_mismatch:
      return PMIX_ERR_TYPE_MISMATCH;
    case Errc::corrupt:
      return PMIX_ERR_UNPACK_FAILURE;
    case Errc::timeout:
      return PMIX_ERR_TIMEOUT;
    case Errc::peer_lost:
      return PMIX_ERR_LOST_CONNECTION;
    case Errc::unreachable:
      return PMIX_ERR_UNREACH;
    case Errc::denied:
      return PMIX_ERR_NO_PERMISSIONS;
    case Errc::canceled:
      return PMIX_ERR_INIT;  // its owner, the library's state, was finalized
    case Errc::os:
      return status_of_errno(error.sys);
  }
  return PMIX_ERROR;
}

/// The body of an entry point that returns a status. body() returns Result<void>.
template <class Body>
pmix_status_t guarded(Body&& body) noexcept {
  try {
    const Result<void> done = std::forward<Body>(body)();
    return done ? PMIX_SUCCESS : to_status(done.error());
  } catch (const std::bad_alloc&) {
    return PMIX_ERR_NOMEM;
  } catch (...) {
    return PMIX_ERROR;
  }
}

/// The same for bodies that speak in statuses themselves.
template <class Body>
pmix_status_t guarded_status(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return PMIX_ERR_NOMEM;
  } catch (...) {
    return PMIX_ERROR;
  }
}

/// The body of an entry point that returns a new C string. body() returns std::string; NULL if there is no
/// memory.
template <class Body>
char* guarded_text(Body&& body) noexcept {
  try {
    const std::string text = std::forward<Body>(body)();
    return strdup(text.c_str());
  } catch (...) {
    return nullptr;
  }
}

}  // namespace weft::abi
