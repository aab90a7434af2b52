// SPDX-License-Identifier: BSD-3-Clause
// A start message to begin with, and what an action that must be refused says.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tools/launch/start_message.hpp"
#include "tools/messages/stop.hpp"

namespace weft::launch {

inline StartMessage message_for(std::size_t nodes) {
  StartMessage message;
  message.nspace = "weft-head-77";
  message.servers = static_cast<std::uint32_t>(nodes) + 1;
  message.first_servers = 1;
  message.launcher = {static_cast<std::uint32_t>(nodes), "head"};
  std::array<std::byte, StartMessage::key_bytes> key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i * 7 + 3);
  message.key = base::Secret(key);
  message.transport = "ucx:tcp";
  message.contact = std::string("\0\n\xff contact", 11);
  message.above = {static_cast<std::uint32_t>(nodes), std::string("\0 another", 9)};
  message.settings = {"WEFT_FENCE=full", "UCX_TLS=", "FI_PROVIDER=a=\n%"};
  message.agent = {Agent::Kind::remote, {"ssh", "-o", "Batch Mode=100%"}, 32, "/opt/we ft/bin/weftd"};
  for (std::size_t i = 0; i < nodes; ++i)
    message.nodes.push_back({static_cast<std::uint32_t>(i), "n" + std::to_string(i)});
  return message;
}

template <class Action>
std::string refusal_of(Action&& action) {
  try {
    action();
  } catch (const messages::Stop& stop) {
    return stop.what();
  }
  return {};
}

}  // namespace weft::launch
