// SPDX-License-Identifier: BSD-3-Clause
#include "core/data/names/status.hpp"

#include <cerrno>

namespace weft::data {
namespace {

pmix_status_t status_of_errno(int sys) noexcept {
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

}  // namespace

// Without a default, so that -Wswitch names what a new Errc forgot.
pmix_status_t to_status(const Error& error) noexcept {
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

}  // namespace weft::data
