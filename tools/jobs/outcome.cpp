// SPDX-License-Identifier: BSD-3-Clause
#include "tools/jobs/outcome.hpp"

#include <utility>

#include "tools/messages/messages.hpp"

namespace weft::jobs {

bool Outcome::set_reason(int exit_code) {
  if (std::exchange(has_reason_, true)) return false;
  exit_code_ = exit_code;
  return true;
}

void Outcome::record_failure(int exit_code, const std::string& what) {
  if (failures_++ != 0) return;
  exit_code_ = exit_code;
  first_failure_ = what;
}

void Outcome::set_status(int exit_code) {
  if (!has_reason_) exit_code_ = exit_code;
}

std::string Outcome::summary() const {
  if (failures_ == 0 || has_reason_) return {};
  return messages::went_on(failures_, exit_code_, first_failure_);
}

}  // namespace weft::jobs
