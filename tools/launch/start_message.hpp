// SPDX-License-Identifier: BSD-3-Clause
// What a daemon reads on its standard input before it has any contact: lines of text, which every way of
// starting programs elsewhere keeps intact and which can be read in a capture. The first line is "weft start
// <format> <release>" in all releases for ever; the last is "end". Afterwards the input stays open and
// silent: its end tells the daemon that its starter has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.hpp"
#include "tools/allocation/own_names.hpp"
#include "tools/launch/agent.hpp"

namespace weft::launch {

/// A node; the server of that number serves it.
struct NodeName {
  std::uint32_t number = 0;
  std::string host;
  bool operator==(const NodeName&) const = default;
};

struct StartMessage {
  static constexpr std::size_t key_bytes = 32;
  /// one: `nodes` begins with the receiver's own, and the receiver starts daemons on the others. all: all
  /// daemons get the same message, and each finds its node by name.
  enum class Audience { one, all };

  std::string nspace;                  ///< of the servers of this launch
  std::uint32_t servers = 0;           ///< of this launch, the launcher among them
  std::uint32_t first_servers = 0;     ///< as ServerIdentity
  bool are_names_at_launcher = false;  ///< all published names go through its server
  NodeName launcher;
  base::Secret key;       ///< key_bytes
  std::string transport;  ///< as WEFT_TRANSPORT; empty: the daemon chooses
  std::string contact;    ///< the launcher's weft.contact, bytes
  /// The server that has started the receiver, where it is not the launcher.
  struct Above {
    std::uint32_t number = 0;
    std::string contact;  ///< as the launcher's
    bool operator==(const Above&) const = default;
  };
  std::optional<Above> above;
  std::vector<std::string> settings;  ///< of the launcher's environment: server_settings()
  Agent agent;                        ///< starts the daemons of the receiver's part of the tree
  Audience audience = Audience::one;
  std::vector<NodeName> nodes;  ///< at least one

  bool operator==(const StartMessage&) const = default;
};

/// A longer message is refused: about 200,000 nodes.
inline constexpr std::size_t longest_start_message = 16UL << 20;

/// release: the sender's, "0.1.0".
base::SecretText encode(const StartMessage& message, std::string_view release);

/// Throws Stop (own_failure) with a line that says what is wrong; for a sender of another release it names
/// both releases.
StartMessage decode_start_message(std::string_view text, std::string_view own_release);

/// Reads up to the last line, and waits for it. Throws Stop as above, and when the input ends too early.
StartMessage read_start_message(int fd, std::string_view own_release);

/// The receiver's index in `message.nodes`. Throws Stop (own_failure) with a line that names both sides: for
/// Audience::all when this machine is not in the list, for Audience::one when the listed name certainly is
/// another machine's. Virtual nodes (agent kind `fork`) have names that no machine has.
std::size_t find_self(const StartMessage& message, const allocation::OwnNames& own);

}  // namespace weft::launch
