// SPDX-License-Identifier: BSD-3-Clause
// Writes one JSON document, in the order of the calls, as one line. Bytes of a text that are no UTF-8 become
// U+FFFD.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::messages {

class Json {
 public:
  Json& object() { return open('{'); }
  Json& array() { return open('['); }
  /// Ends the object or array that was begun last.
  Json& end();
  Json& key(std::string_view name);
  Json& value(std::string_view text);
  Json& value(const char* text) { return value(std::string_view(text)); }  // else it would become a bool
  Json& value(std::same_as<bool> auto truth) { return raw(truth ? "true" : "false"); }
  Json& value(std::unsigned_integral auto number) requires(!std::same_as<decltype(number), bool>) {
    return raw(std::to_string(number));
  }
  Json& value(std::signed_integral auto number) { return raw(std::to_string(number)); }
  /// number / 1000, with its three decimals.
  Json& thousandths(std::uint64_t number);
  template <class T>
  Json& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }
  std::string take() && { return std::move(out_) + '\n'; }

 private:
  Json& open(char bracket);
  Json& raw(std::string_view text);
  void separate();

  std::string out_, open_;  ///< open_: the brackets that will end what is open
  bool is_first_ = true;    ///< nothing stands before the next one that a comma has to divide it from
};

}  // namespace weft::messages
