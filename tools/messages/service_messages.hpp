// SPDX-License-Identifier: BSD-3-Clause
// Lines for the user about weftrun as a service; as in messages.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::messages {

std::string no_service(std::string_view name);
std::string service_of_other(std::string_view name);
std::string service_is_there(std::string_view name, int error);
std::string service_ready(std::string_view name, std::size_t nodes, std::uint32_t slots);
std::string service_without_nodes();
std::string service_ends();
/// The connection to it has ended before the job.
std::string service_lost(std::string_view name);
std::string job_waits(std::uint64_t id);
/// For a job that waits, or is over before it has begun.
std::string job_canceled(std::uint64_t id, std::string_view why);
std::string no_message(std::string_view name);
std::string no_background(int error);

}  // namespace weft::messages
