// SPDX-License-Identifier: BSD-3-Clause
// Every decoder of bytes that another process sent, or a user wrote, with valid input to begin from. A new
// message is a line in one of the messages_*.cpp beside this, what takes several messages a function in
// peers.cpp, servers.cpp or tcp.cpp; both the test (decoders_test.cpp) and the fuzzer (fuzzer.cpp) walk the
// list.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
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
  /// Servers say it to each other: its samples are the same in every run, and formats_test.cpp knows their
  /// bytes.
  bool is_between_servers = false;
  bool depends_on_library = false;  ///< the bytes of its samples are another library's choice
};
using Decoders = std::vector<Decoder>;

inline Encoded encoded(std::string_view text) {
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}
/// The page of a card with two records, as it lies in its node's memory.
Encoded a_card_page();
inline constexpr std::uint64_t card_first = 1024, card_capacity = 4096, card_page_bytes = 4096;

/// A promise of the code under test: ends the process if it does not hold.
inline void require(bool holds) {
  if (!holds) std::abort();
}

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
  Decoder decoder{name, {base::encode(Message{})}, &accepts<Message>};
  if (!accepts<Message>(decoder.samples[0]))
    decoder.samples.clear();  // nothing is no valid message of that kind
  for (const Message* sample : samples) decoder.samples.push_back(base::encode(*sample));
  to.push_back(std::move(decoder));
}

void add_values(Decoders& to);
void add_link(Decoders& to);
void add_requests(Decoders& to);
void add_mesh(Decoders& to);
void add_collectives(Decoders& to);
void add_server(Decoders& to);
void add_launch(Decoders& to);
void add_texts(Decoders& to);
void add_weftinfo(Decoders& to);
void add_peers(Decoders& to);
void add_pmi(Decoders& to);
void add_servers(Decoders& to);
void add_tcp(Decoders& to);

inline Decoders all_decoders() {
  Decoders out;
  add_link(out);
  add_requests(out);
  const auto first = out.size();
  for (const auto add_some : {add_values, add_mesh, add_collectives, add_server}) add_some(out);
  for (auto i = first; i < out.size(); ++i) out[i].is_between_servers = !out[i].depends_on_library;
  for (const auto add_some : {add_launch, add_texts, add_weftinfo, add_peers, add_pmi, add_servers, add_tcp})
    add_some(out);
  return out;
}

}  // namespace weft::fuzz
