// SPDX-License-Identifier: BSD-3-Clause
// The messages between launcher and daemons as bytes and back: the protocol's version, then the fields
// (base/wire.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/wire.hpp"

namespace weft::channel {

/// The first byte of all messages between weftrun and weftd.
inline constexpr std::uint8_t wire_version = 18;

template <class Message>
std::string encode(const Message& message) {
  base::Writer out;
  out.u8(wire_version);
  out(message);
  return {reinterpret_cast<const char*>(out.view().data()), out.size()};
}

/// Nothing: the bytes are not exactly one message of this kind and version.
template <class Message>
std::optional<Message> decode(std::string_view bytes) {
  base::Reader in(std::as_bytes(std::span(bytes)));
  std::optional<Message> message;
  if (in.u8() != wire_version) return message;
  in(message.emplace());
  if (!in.done()) message.reset();
  return message;
}

/// The namespace that a message about a job begins with; nothing: the bytes are no such message.
inline std::optional<std::string> job_of(std::string_view bytes) {
  base::Reader in(std::as_bytes(std::span(bytes)));
  if (in.u8() != wire_version) return std::nullopt;
  std::string nspace;
  in(nspace);
  return in.ok() ? std::optional(std::move(nspace)) : std::nullopt;
}

}  // namespace weft::channel
