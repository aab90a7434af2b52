// SPDX-License-Identifier: BSD-3-Clause
// The frames of PMI-2's wire form: a length of six digits, then fields "key=value;", of which the first is
// cmd. A semicolon in a value is doubled. The bytes are a stranger's.
//   Source: MPICH's design documents, "PMI-2 Wire Protocol".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pmi/spawn/spawn_order.hpp"

namespace weft::pmi::wire2 {

/// What six digits can say; of one message in parts (concat) as much as of an order to spawn.
inline constexpr std::size_t length_digits = 6, longest_frame = 999'999,
                             most_message_bytes = most_spawn_bytes;
/// Of a message, and of messages whose continuation has not come.
inline constexpr std::size_t most_fields = std::size_t{1} << 16, most_parts = 8;

struct Message {
  std::string command;           ///< letters, digits and hyphens
  std::vector<KeyValue> fields;  ///< those behind cmd, in their order
  std::string_view fault;        ///< what is wrong with the next field; empty: nothing

  /// The first of that name.
  const std::string* find(std::string_view key) const;
};

/// A frame without its length. Nothing: it does not begin with a command, so nothing can be answered.
std::optional<Message> read_message(std::string_view frame);

/// Bytes in, messages out.
class FrameReader {
 public:
  /// Takes as much of `bytes` as the next message needs, and removes it there. No message yet: all of it was
  /// taken. After an error every call is one.
  struct Result {
    std::optional<Message> message;
    bool is_error = false;
    std::string text;  ///< what is wrong, for an error
  };
  Result next(std::string_view& bytes);

 private:
  /// A message whose last field was concat.
  struct Part {
    std::string id;
    Message message;
    std::size_t bytes = 0;
  };

  Result take_frame();
  std::string_view without_excess(std::string_view frame);
  Result join(Message message, std::size_t bytes);
  Result hold(Part part);
  Result fail(std::string_view text);

  std::string held_;  // of the frame that has begun, its length first
  std::optional<std::size_t> length_;
  std::vector<Part> parts_;
  bool has_excess_ = false, has_failed_ = false;
};

/// The frame of a reply, field by field.
class Reply {
 public:
  /// thread: the request's thrid; empty: it had none.
  Reply(std::string_view command, std::string_view thread);
  Reply& add(std::string_view key, std::string_view value);
  Reply& add(std::string_view key, bool value) { return add(key, value ? "TRUE" : "FALSE"); }
  Reply& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  /// With rc, and with errmsg where there is something to say.
  std::string end(int code, std::string_view text = {});

 private:
  std::string body_;
};

}  // namespace weft::pmi::wire2
