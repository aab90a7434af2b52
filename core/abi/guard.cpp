// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/guard.hpp"

#include <exception>
#include <new>
#include <string_view>

#include "base/log.hpp"

namespace weft::abi {
namespace {

/// "PMIx_Get" of "pmix_status_t PMIx_Get(const pmix_proc_t*, ...)".
std::string_view name_in(std::string_view signature) {
  const auto name = signature.substr(0, signature.find('('));
  const auto before = name.find_last_of(" *&:");
  return before == std::string_view::npos ? name : name.substr(before + 1);
}

void log_defect(const std::source_location& body, std::string_view what) noexcept {
  try {
    base::log(base::LogLevel::error, base::LogPart::api,
              std::string(name_in(body.function_name())) +
                  " failed because of a defect of Weft: " + std::string(what) + ". Please report it.");
  } catch (...) {
    base::log(base::LogLevel::error, base::LogPart::api, what);  // no memory to say more
  }
}

}  // namespace

pmix_status_t status_of_exception(const std::source_location& body) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return PMIX_ERR_NOMEM;
  } catch (const std::exception& error) {
    log_defect(body, error.what());
  } catch (...) {
    log_defect(body, "an exception that is no std::exception");
  }
  return PMIX_ERROR;
}

}  // namespace weft::abi
