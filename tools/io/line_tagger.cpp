// SPDX-License-Identifier: BSD-3-Clause
#include "tools/io/line_tagger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

namespace weft::io {

using job::Rank;

namespace {

/// "2026-01-31T12:00:00.123"
std::string local_time() {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const auto since = duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{}.{:03}", text.data(), since);
}

}  // namespace

LineTagger::LineTagger(Rank rank, OutputTags tags)
    : tag_(tags.rank ? fmt::format("[{}{}]", tags.job, number(rank)) : ""), has_time_(tags.time) {}

void LineTagger::emit(std::string& out, std::string_view rest) {
  if (has_time_) out += local_time() + (tag_.empty() ? "" : " ");
  out += tag_;
  out += continues_ ? "+ " : " ";
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

}  // namespace weft::io
