// SPDX-License-Identifier: BSD-3-Clause
// Every environment variable of Weft: one table, from which programs read, weftinfo lists, and the pages are
// made (scripts/make_settings_docs: docs/guide.md, docs/man/weft.7).
//
// A program reads what concerns it when it starts, and keeps the value: nothing here is stored, and a
// variable that changes later changes nothing. A value that is not accepted is the default's, and a server
// says so, once.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::base {

/// The rows of the table, in its order.
enum class Variable : std::uint8_t {
  card_bytes,
  collective,
  fence,
  get_wait,
  launch_timeout,
  log,
  lost_after,
  module_path,
  munge_socket,
  net,
  node,
  no_segment,
  pmi_preput,
  ports,
  segment,
  segment_bytes,
  server,
  server_file,
  server_uid,
  socket_dir,
  ssh,
  stuck_after,
  tls_records,
  token,
  topology,
  trace,
  transport,
  weftd,
};
inline constexpr std::size_t variable_count = 28;

/// The kinds of values. text: its reader checks it, and says in the same words what it does not accept.
enum class Kind : std::uint8_t { flag, choice, number, seconds, text };

/// Which programs read a setting; a client is a process of a job, or a tool.
enum Readers : std::uint8_t { by_client = 1, by_server = 2, by_weftrun = 4, by_weftd = 8, by_all = 15 };

struct Setting {
  Variable variable;
  const char* name;
  Kind kind;
  const char* fallback;      ///< the default, as a user would write it; "": not set, which `text` explains
  const char* choices = "";  ///< of a choice: its values, separated by '|'; of a text: what it is, for people
  std::uint64_t least = 0;   ///< of a number; of seconds: in milliseconds
  std::uint64_t most = UINT64_MAX;
  bool takes_inf = false;      ///< seconds: `inf` is no limit
  bool is_internal = false;    ///< set by a server or launcher for its processes; not for users
  bool is_privileged = false;  ///< not read by a program with more privileges than its user (secure_getenv)
  std::uint8_t readers = 0;
  const char* text;  ///< what it does; `words` between backticks are literal
};

std::span<const Setting> all_settings() noexcept;
const Setting& setting_of(Variable variable) noexcept;
/// A variable that a server or launcher sets for its own processes: one that is inherited is another job's.
bool is_internal(std::string_view name) noexcept;

/// The value of a setting that is in force.
struct Reading {
  enum class Source : std::uint8_t { by_default, environment, refused };
  Source source =
      Source::by_default;    ///< refused: the environment's value is not accepted, and is not in force
  std::string text;          ///< as written; a flag's is "0" or "1"
  std::uint64_t number = 0;  ///< of a flag, 0 or 1; of seconds, in milliseconds
  bool is_infinite = false;
  std::string complaint;  ///< of a refused one: name, value, what is accepted, what happens

  bool is_on() const noexcept { return number != 0; }
  /// Nothing: no limit.
  std::optional<std::chrono::milliseconds> limit() const noexcept;
};

/// value: NULL and "" are the default.
Reading read(const Setting& setting, const char* value);
/// From this process's environment.
Reading read(Variable variable);

/// For a reader that checks a text: "NAME=value is not accepted (why); going on with ...".
std::string complaint(Variable variable, std::string_view value, std::string_view why);

/// A name in the environment that begins like ours and is none. Those of the tests (WEFT_TEST_*) are not
/// looked at.
struct UnknownName {
  std::string name;
  std::string nearest;  ///< the setting that may have been meant; empty: none is near
};
std::vector<UnknownName> unknown_names(char* const* environment);

/// The lines that a user should read about an environment: values that are not accepted, and unknown
/// names.
std::vector<std::string> complaints(char* const* environment);

/// "a whole number, 1 to 10", "full or sparse", ...
std::string accepted_values(const Setting& setting);

}  // namespace weft::base
