// SPDX-License-Identifier: BSD-3-Clause
// Every decoder of bytes that another process sent, with valid messages to begin from. A new message is a line in one of the
// messages_*.cpp beside this; both the test (decoders_test.cpp) and the fuzzer (fuzzer.cpp) walk the list.
#pragma once

#include <string>
#include <vector>

#include "base/wire.hpp"

namespace weft::fuzz {

using Encoded = std::vector<std::byte>;

struct Decoder {
  std::string name;
  std::vector<Encoded> samples;
  /// True: the bytes are a message. Aborts where a message that was read cannot be written and read again.
  bool (*accepts)(Bytes);
  bool is_open_ended = false;  ///< all that follows belongs to it: a shorter or longer one may be right, too
};
using Decoders = std::vector<Decoder>;

/// A message with fields().
template <class Message>
bool accepts(Bytes bytes) {
  const auto message = base::decode<Message>(bytes);
  if (!message) return false;
  const auto again = base::encode(*message);
  const auto read = base::decode<Message>(again);
  if (!read || base::encode(*read) != again) std::abort();
  return true;
}
template <class Message>
void add(Decoders& to, const char* name, std::initializer_list<const Message*> samples) {
  Decoder decoder{name, {base::encode(Message{})}, &accepts<Message>, false};
  if (!accepts<Message>(decoder.samples[0]))
    decoder.samples.clear();  // nothing is no valid message of that kind
  for (const Message* sample : samples) decoder.samples.push_back(base::encode(*sample));
  to.push_back(std::move(decoder));
}

void add_values(Decoders& to);
void add_link(Decoders& to);
void add_mesh(Decoders& to);
void add_collectives(Decoders& to);
void add_server(Decoders& to);

inline Decoders all_decoders() {
  Decoders out;
  for (const auto add_some : {add_values, add_link, add_mesh, add_collectives, add_server}) add_some(out);
  return out;
}

}  // namespace weft::fuzz
