// SPDX-License-Identifier: BSD-3-Clause
// The border between C++ and C: inside an entry point errors are Errors and texts are std::strings; outside
// there are statuses and malloc'ed memory, and no exception ever. Each body is counted as a call that is
// under way (calls.hpp).
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "core/abi/calls/calls.hpp"
#include "core/abi/calls/traced.hpp"
#include "core/data/names/call_attributes.hpp"
#include "core/data/names/status.hpp"

namespace weft::abi {

using data::to_status;

/// The entry point whose body is guarded. As a default argument it is that of the caller, and is looked up
/// when the caller is compiled. (Not std::source_location: its records are relocated in every process.)
struct EntryPoint {
  const char* name;
  store::TraceCall traced;
  consteval EntryPoint(const char* function = __builtin_FUNCTION()) noexcept
      : name(function), traced(store::guarded_call(function)) {}
};

/// In a handler: the status of the exception that is being handled. No memory is PMIX_ERR_NOMEM; everything
/// else is a defect of ours, and is logged with the name of the API function whose body threw.
pmix_status_t status_of_exception(const char* function) noexcept;

/// The body of an entry point that returns a status. body() returns Result<void>.
template <class Body>
pmix_status_t guarded(Body&& body, EntryPoint entry_point = {}) noexcept {
  try {
    const InCall in_call;
    TracedCall traced(entry_point.traced);
    const Result<void> done = std::forward<Body>(body)();
    return traced.returns(done ? PMIX_SUCCESS : to_status(done.error()));
  } catch (...) {
    return status_of_exception(entry_point.name);
  }
}

/// The guarded() for bodies that return statuses themselves.
template <class Body>
pmix_status_t guarded_status(Body&& body, EntryPoint entry_point = {}) noexcept {
  try {
    const InCall in_call;
    TracedCall traced(entry_point.traced);
    return traced.returns(std::forward<Body>(body)());
  } catch (...) {
    return status_of_exception(entry_point.name);
  }
}

/// The guarded_status() for a call that takes directives. The body does not run where the array is NULL
/// although its length is not 0 (PMIX_ERR_BAD_PARAM), nor where the caller requires a directive that the call
/// does not understand (PMIX_ERR_NOT_SUPPORTED; core/data/names/call_attributes.hpp).
template <class Body>
pmix_status_t guarded_directives(const pmix_info_t* infos, std::size_t ninfo, Body&& body,
                                 EntryPoint entry_point = {}) noexcept {
  return guarded_status(
      [&]() -> pmix_status_t {
        if (infos == nullptr && ninfo != 0) return PMIX_ERR_BAD_PARAM;
        if (data::has_required(infos, ninfo) &&
            data::first_not_understood(entry_point.name, infos, ninfo) != nullptr)
          return PMIX_ERR_NOT_SUPPORTED;
        return std::forward<Body>(body)();
      },
      entry_point);
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
