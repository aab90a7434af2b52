// SPDX-License-Identifier: BSD-3-Clause
// Which messages a client and a tool may send, and which of them may stay open at the server. A message that
// is not named here is refused: the compiler asks for the rule of a new one.
#pragma once

#include <cstddef>

#include "core/link/frame.hpp"

namespace weft::server {

struct MessageRule {
  enum class Senders {
    nobody,                 ///< or only at the hello
    members,                ///< a tool that sends it is hung up on
    members_tools_refused,  ///< a tool's program may call the function, and hears PMIX_ERR_NOT_SUPPORTED
    all
  };
  Senders senders = Senders::nobody;
  bool may_wait = false;  ///< until its reply it counts among the open requests (open_requests.hpp)
  /// One byte in so many counts among the open bytes: most messages carry names and directives alone, some
  /// carry data of the program's own.
  std::size_t counted = 1;
};

/// Data for other processes: 64 MiB of one client may be open. Data on its way to the host: 1 GiB.
inline constexpr std::size_t for_processes = 64, for_host = 1024;

/// Members have a job: a card, fences, a place in the segment, groups, an end that others wait for. A tool
/// has none of it.
constexpr MessageRule rule_of(link::MessageType type) noexcept {
  using link::MessageType;
  using Senders = MessageRule::Senders;
  switch (type) {
    case MessageType::nudge:
    case MessageType::store:
    case MessageType::withdraw:
    case MessageType::fence_directives:
    case MessageType::turned_away:
    case MessageType::finalize:
    case MessageType::group_verdict:
      return {Senders::members, false};
    case MessageType::fence:
    case MessageType::abort:
      return {Senders::members, true};
    case MessageType::connect:
    case MessageType::disconnect:
    case MessageType::group_destruct:
    case MessageType::group_leave:
    case MessageType::group_fence:
      return {Senders::members_tools_refused, true};
    case MessageType::group_construct:
    case MessageType::group_invite:
    case MessageType::group_join:
      return {Senders::members_tools_refused, true, for_processes};
    case MessageType::unsubscribe:
      return {Senders::all, false};
    case MessageType::get:
    case MessageType::subscribe:
    case MessageType::query:
    case MessageType::lookup:
    case MessageType::unpublish:
    case MessageType::allocate:
    case MessageType::monitor:
    case MessageType::get_credential:
    case MessageType::validate_credential:
    case MessageType::pull_output:
    case MessageType::stop_output:
    case MessageType::fabric:
      return {Senders::all, true};
    case MessageType::log:
    case MessageType::publish:
    case MessageType::spawn:
    case MessageType::job_control:
    case MessageType::push_input:
      return {Senders::all, true, for_host};
    case MessageType::notify:
      return {Senders::all, true, for_processes};
    case MessageType::hello:
    case MessageType::hello_tool:
    case MessageType::welcome:
    case MessageType::refused:
    case MessageType::value:
    case MessageType::done:
    case MessageType::board_moved:
    case MessageType::event:
    case MessageType::results:
    case MessageType::board_offer:
    case MessageType::answer:
    case MessageType::output:
    case MessageType::group_question:
    case MessageType::group_change:
      return {};
  }
  return {};
}

}  // namespace weft::server
