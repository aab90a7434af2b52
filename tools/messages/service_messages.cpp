// SPDX-License-Identifier: BSD-3-Clause
#include "tools/messages/service_messages.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace weft::messages {
namespace {

/// The words that mean a service of this name.
std::string option(std::string_view word, std::string_view name) {
  return name == "default" ? std::string(word) : fmt::format("{}={}", word, name);
}

}  // namespace

std::string no_service(std::string_view name) {
  return fmt::format("no service '{}' of this user runs on this machine; weftrun {} starts it", name,
                     option("--dvm", name));
}

std::string service_of_other(std::string_view name) {
  return fmt::format(
      "the service '{}' here is another user's process, which took the name; start one of "
      "another name: weftrun --dvm=NAME",
      name);
}

std::string service_is_there(std::string_view name, int error) {
  if (error != EADDRINUSE)
    return fmt::format("the service '{}' cannot be reached by others: {}", name, std::strerror(error));
  return fmt::format(
      "a service '{}' runs on this machine already; weftrun {} ends it, --dvm=NAME starts "
      "another",
      name, option("--stop-dvm", name));
}

std::string service_ready(std::string_view name, std::size_t nodes, std::uint32_t slots) {
  return fmt::format("ready: {} nodes, {} slots; weftrun {} runs jobs here, weftrun {} ends all", nodes,
                     slots, option("--attach", name), option("--stop-dvm", name));
}

std::string service_without_nodes() {
  return "no node is left; the service ends";
}

std::string service_ends() {
  return "the service ends, and with it its jobs";
}

std::string service_lost(std::string_view name) {
  return fmt::format("the service '{}' has gone; the job was ended", name);
}

std::string job_waits(std::uint64_t id) {
  return fmt::format("job {} waits for free slots", id);
}

std::string job_canceled(std::uint64_t id, std::string_view why) {
  return fmt::format("job {} was not started: {}", id, why);
}

std::string no_message(std::string_view name) {
  return fmt::format(
      "the service '{}' sent what is no message of this release; are both weftrun of one "
      "release?",
      name);
}

std::string no_background(int error) {
  return fmt::format("no process for the background: {}; leave out --detach", std::strerror(error));
}

}  // namespace weft::messages
