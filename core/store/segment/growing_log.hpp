// SPDX-License-Identifier: BSD-3-Clause
// A find in a log whose writer goes on meanwhile: the index may lead behind what this process can read by
// now.
#pragma once

#include "core/store/cards/keyed_log.hpp"

namespace weft::store {

/// The index led behind what is readable of a log: its writer has gone on meanwhile.
inline bool is_behind(const Result<Record>& found, const KeyedLog& log) noexcept {
  return !found && found.error().code == Errc::corrupt && log.has_more();
}

/// Calls find(log) with what is readable now of the log that `log()` takes, and again while the writer goes
/// on, a number of times that no writer decides.
template <class Log, class Find>
[[gnu::noinline, gnu::cold]] Result<Record> find_again(const Log& log, const Find& find) noexcept {
  constexpr int most_tries = 1000;
  auto readable = log();
  auto found = find(readable);
  for (int tries = 1; tries < most_tries && is_behind(found, readable); ++tries) {
    readable = log();
    found = find(readable);
  }
  return found;
}

}  // namespace weft::store
