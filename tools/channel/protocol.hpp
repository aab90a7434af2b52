// SPDX-License-Identifier: BSD-3-Clause
// What weftrun and its daemons say to each other once they are a session (docs/design/nodes.md): each message is one
// event between servers, with one byte object. Orders go from the launcher to daemons, reports the other way.
//
//   daemon                          launcher
//   hello, unreached -------------------->     where I am; whom I could not start
//        <------------------------- launch     down a tree: who gets it passes it on (launch_tree.hpp)
//        <--- input, signal, output_unwanted   any time from then on
//   started, output, ended, late, aborted, input_unwanted -->
//   settled ----------------------------->     no rank of mine lives, and nothing more is to be told of them
//        <---------------------------- end     what ranks left behind is ended; then the rest of their output, and I leave
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/channel/wire.hpp"
#include "tools/job/app.hpp"
#include "tools/job/rank.hpp"

namespace weft::channel {

enum class Subject : std::uint8_t {
  launch,
  input,
  signal,
  output_unwanted,
  end,
  hello,
  started,
  unreached,
  output,
  ended,
  late,
  aborted,
  input_unwanted,
  settled,
};
inline constexpr std::uint8_t subject_count = 14;

/// The event's code; all below it are a host's own.
constexpr pmix_status_t code_of(Subject subject) noexcept {
  return PMIX_EXTERNAL_ERR_BASE - 1 - static_cast<pmix_status_t>(subject);
}
constexpr Subject subject_of(pmix_status_t code) noexcept {
  return static_cast<Subject>(PMIX_EXTERNAL_ERR_BASE - 1 - code);
}

enum class Stream : std::uint8_t { out, error };

namespace order {

/// Bytes for the standard input of those ranks of the node that read it; none: its end.
struct Input {
  static constexpr Subject subject = Subject::input;
  std::string bytes;
};
template <class Archive>
void fields(Archive& archive, Input& message) {
  archive(message.bytes);
}

/// To the process groups of these ranks; none named: of all that the node has.
struct Signal {
  static constexpr Subject subject = Subject::signal;
  std::int32_t number = 0;
  std::vector<job::Rank> ranks;
};
template <class Archive>
void fields(Archive& archive, Signal& message) {
  archive(message.number);
  archive(message.ranks);
}

/// Nobody reads this stream of weftrun's any more: ranks that write there are to get SIGPIPE.
struct OutputUnwanted {
  static constexpr Subject subject = Subject::output_unwanted;
  Stream stream = Stream::out;
};
template <class Archive>
void fields(Archive& archive, OutputUnwanted& message) {
  archive(message.stream);
}

struct End {
  static constexpr Subject subject = Subject::end;
};
template <class Archive>
void fields(Archive&, End&) {}

}  // namespace order

namespace report {

struct Hello {
  static constexpr Subject subject = Subject::hello;
  std::string version, host, contact;
  std::int32_t pid = 0;
};
template <class Archive>
void fields(Archive& archive, Hello& message) {
  archive(message.version);
  archive(message.host);
  archive(message.contact);
  archive(message.pid);
}

/// The node's ranks have been started, or why not all of them.
struct Started {
  static constexpr Subject subject = Subject::started;
  std::vector<std::int32_t> pids;  ///< of those that were, in the order of the ranks
  std::vector<std::string> notes;  ///< for the user: bindings, variables that are not set
  std::int32_t exit_code = 0;      ///< weftrun's, where one could not be started
  std::string failure;             ///< empty: all of them run
};
template <class Archive>
void fields(Archive& archive, Started& message) {
  archive(message.pids);
  archive(message.notes);
  archive(message.exit_code);
  archive(message.failure);
}

/// Daemons that this one was to start (a tree of agents) and that cannot be reached.
struct Unreached {
  static constexpr Subject subject = Subject::unreached;
  std::vector<std::uint32_t> nodes;
  std::string line, how;  ///< as Agents::Failure
};
template <class Archive>
void fields(Archive& archive, Unreached& message) {
  archive(message.nodes);
  archive(message.line);
  archive(message.how);
}

/// The next bytes of a rank's stream; none: its end. Answered when they are written: the next come then.
struct Output {
  static constexpr Subject subject = Subject::output;
  job::Rank rank{0};
  Stream stream = Stream::out;
  std::string bytes;
};
template <class Archive>
void fields(Archive& archive, Output& message) {
  archive(message.rank);
  archive(message.stream);
  archive(message.bytes);
}

struct Ended {
  static constexpr Subject subject = Subject::ended;
  job::Rank rank{0};
  std::int32_t wait_status = 0;
  bool connected = false, finalized = false;
  /// How many bytes of each stream it had written by then: a line about its end comes after them.
  std::uint64_t out_bytes = 0, error_bytes = 0;
};
template <class Archive>
void fields(Archive& archive, Ended& message) {
  archive(message.rank);
  archive(message.wait_status);
  archive(message.connected);
  archive(message.finalized);
  archive(message.out_bytes);
  archive(message.error_bytes);
}

/// Of one that has ended it turns out only now that it had been connected.
struct Late {
  static constexpr Subject subject = Subject::late;
  job::Rank rank{0};
};
template <class Archive>
void fields(Archive& archive, Late& message) {
  archive(message.rank);
}

struct Aborted {
  static constexpr Subject subject = Subject::aborted;
  job::Rank from{0};
  std::int32_t status = 0;
  std::string message;
  std::vector<job::Rank> named;  ///< none: the whole job
};
template <class Archive>
void fields(Archive& archive, Aborted& message) {
  archive(message.from);
  archive(message.status);
  archive(message.message);
  archive(message.named);
}

/// No rank of the node reads its standard input any more.
struct InputUnwanted {
  static constexpr Subject subject = Subject::input_unwanted;
};
template <class Archive>
void fields(Archive&, InputUnwanted&) {}

struct Settled {
  static constexpr Subject subject = Subject::settled;
};
template <class Archive>
void fields(Archive&, Settled&) {}

}  // namespace report
}  // namespace weft::channel
