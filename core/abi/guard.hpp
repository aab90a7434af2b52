// SPDX-License-Identifier: BSD-3-Clause
// The border between C++ and C: inside an entry point errors are Errors and texts are std::strings; outside
// there are statuses and malloc'ed memory, and no exception ever. Each body is counted as a call that is under way (calls.hpp).
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "core/abi/calls.hpp"
#include "core/data/status.hpp"

namespace weft::abi {

using data::to_status;

/// In a handler: the status of the exception that is being handled. No memory is PMIX_ERR_NOMEM; everything else is a
/// defect of ours, and is logged with the name of the API function whose body threw.
pmix_status_t status_of_exception(const char* function) noexcept;

/// The body of an entry point that returns a status. body() returns Result<void>. function: the name of the
/// entry point, for the log. (Not std::source_location: its records are relocated in every process.)
template <class Body>
pmix_status_t guarded(Body&& body, const char* function = __builtin_FUNCTION()) noexcept {
  try {
    const InCall in_call;
    const Result<void> done = std::forward<Body>(body)();
    return done ? PMIX_SUCCESS : to_status(done.error());
  } catch (...) {
    return status_of_exception(function);
  }
}

/// The same for bodies that speak in statuses themselves.
template <class Body>
pmix_status_t guarded_status(Body&& body, const char* function = __builtin_FUNCTION()) noexcept {
  try {
    const InCall in_call;
    return std::forward<Body>(body)();
  } catch (...) {
    return status_of_exception(function);
  }
}

/// The body of an entry point that returns a new C string. body() returns std::string; NULL if there is no
/// memory.
template <class Body>
char* guarded_text(Body&& body, const char* function = __builtin_FUNCTION()) noexcept {
  try {
    const InCall in_call;
    const std::string text = std::forward<Body>(body)();
    return strdup(text.c_str());
  } catch (...) {
    (void)status_of_exception(function);
    return nullptr;
  }
}

}  // namespace weft::abi
