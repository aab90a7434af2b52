// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/calls/guard.hpp"

#include <cerrno>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "base/log.hpp"

namespace weft::abi {
namespace {

void log_defect(const char* function, std::string_view what) noexcept {
  try {
    base::log(base::LogLevel::error, base::LogPart::api,
              std::string(function) + " failed because of a defect of Weft: " + std::string(what) +
                  ". Please report it.");
  } catch (...) {
    base::log(base::LogLevel::error, base::LogPart::api, what);  // no memory to say more
  }
}

}  // namespace

pmix_status_t status_of_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return PMIX_ERR_NOMEM;
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      return PMIX_ERR_OUT_OF_RESOURCE;  // no thread left
    // By value: the categories of Asio do not compare with those of the standard library.
    if (error.code().value() == EMFILE || error.code().value() == ENFILE) return PMIX_ERR_OUT_OF_RESOURCE;
    log_defect(function, error.what());
  } catch (const std::exception& error) {
    log_defect(function, error.what());
  } catch (...) {
    log_defect(function, "an exception that is no std::exception");
  }
  return PMIX_ERROR;
}

}  // namespace weft::abi
