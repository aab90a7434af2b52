// SPDX-License-Identifier: BSD-3-Clause
// The requests of each chapter of the Standard, which the table of requests.cpp is made of.
#pragma once

#include <span>

#include "core/server/requests/request.hpp"

namespace weft::server {

std::span<const Request> data_access_requests() noexcept;
std::span<const Request> publish_requests() noexcept;
std::span<const Request> process_requests() noexcept;
std::span<const Request> job_requests() noexcept;
std::span<const Request> event_requests() noexcept;
std::span<const Request> group_requests() noexcept;
std::span<const Request> fabric_requests() noexcept;
std::span<const Request> security_requests() noexcept;
std::span<const Request> standard_io_requests() noexcept;

}  // namespace weft::server
