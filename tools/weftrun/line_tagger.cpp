// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/line_tagger.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::weftrun {

using job::Rank;

LineTagger::LineTagger(Rank rank)
    : tag_(fmt::format("[{}] ", number(rank))), continued_tag_(fmt::format("[{}]+ ", number(rank))) {}

void LineTagger::emit(std::string& out, std::string_view rest) {
  out += continues_ ? continued_tag_ : tag_;
  out += unfinished_;
  out += rest;
  out += '\n';
  unfinished_.clear();
}

void LineTagger::take(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const auto room = longest_line - unfinished_.size();
    if (newline != std::string_view::npos && newline <= room) {
      emit(out, bytes.substr(0, newline));
      continues_ = false;
      bytes.remove_prefix(newline + 1);
    } else if (bytes.size() > room) {
      emit(out, bytes.substr(0, room));
      continues_ = true;
      bytes.remove_prefix(room);
    } else {
      unfinished_ += bytes;
      return;
    }
  }
}

void LineTagger::finish(std::string& out) {
  if (!unfinished_.empty()) emit(out, {});
  continues_ = false;
}

}  // namespace weft::weftrun
