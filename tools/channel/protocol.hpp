// SPDX-License-Identifier: BSD-3-Clause
// The messages between launcher and daemons (docs/design/nodes.md): each is one event between servers, with
// one byte object. Orders go from the launcher to daemons, reports the other way.
//
//   daemon                          launcher
//   hello ------------------------------->     contacts, up the tree of agents; each daemon is told of once
//   unreachable ------------------------->     the daemons that it could not start
//
//   watch ------------------------------->     once, where the hello has come by others: from then on both
//                                              servers notice the loss of each other
//
//   of each job, by its namespace, down its tree: each receiver passes it on (launch_tree.hpp, pass_on.hpp)
//        <------------------------- launch
//        <---------------------- broadcast       of any time from then on: signal, output_unwanted, end_job
//   of each job, up its tree: each receiver puts it together with its own (tools/weftd/reports.hpp)
//   gathered ---------------------------->       of any nodes, in the order in which each has them:
//                                              started, ended, connected_late, aborted, held, input_unwanted;
//                                              settled: no rank of the node lives, and no report about one
//                                              follows. A failure goes straight to the launcher, with what is
//                                              on its way before it, and so does what follows from there
//   of each job, straight:
//        <--- input, pushed, signal              for ranks of the node, any time
//   output, places ---------------------->
//        <---------------------- find_places     where the ranks of this node are
//   At the order end_job a daemon ends orphans, sends the rest of the output, and forgets the job; it replies
//   when those below it have.
//
//   spawn, control ---------------------->     a process asks for a job, or for a signal or an end of others
//        <----------------------- outcome     what has become of that
//   connected --------------------------->     jobs have been connected with each other, or disconnected
//
//   pull, push -------------------------->     a process or tool wants output of others, or has input for
//   them;
//                                              an outcome follows as well
//        <---------------------------- pulled  bytes for a reader of this node
//        <---------------------- pull_dropped  the reader was too slow
//
//   peer_lost --------------------------->     another daemon
//        <-------------------------- leave     the daemon ends what jobs it still has, and exits
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/channel/wire.hpp"
#include "tools/job/app.hpp"
#include "tools/job/control.hpp"
#include "tools/job/ending.hpp"
#include "tools/job/events.hpp"
#include "tools/job/interface.hpp"
#include "tools/job/node_keys.hpp"
#include "tools/job/node_start.hpp"
#include "tools/job/node_trace.hpp"
#include "tools/job/place.hpp"
#include "tools/job/rank.hpp"
#include "tools/job/spawn.hpp"
#include "tools/job/standard_io.hpp"
#include "tools/job/stops.hpp"
#include "tools/job/stream.hpp"

namespace weft::channel {

enum class MessageType : std::uint8_t {
  launch,
  input,
  signal,
  output_unwanted,
  end_job,
  leave,
  hello,
  started,
  unreachable,
  output,
  ended,
  connected_late,
  aborted,
  input_unwanted,
  settled,
  peer_lost,
  spawn,
  outcome,
  connected,
  control,
  pull,
  push,
  pulled,
  pushed,
  pull_dropped,
  held,
  find_places,
  places,
  broadcast,
  gathered,
  watch,
};
inline constexpr std::uint8_t message_type_count = 31;

/// The code of the event that carries it; the Standard leaves those below PMIX_EXTERNAL_ERR_BASE to hosts.
constexpr pmix_status_t event_code_of(MessageType type) noexcept {
  return PMIX_EXTERNAL_ERR_BASE - 1 - static_cast<pmix_status_t>(type);
}
constexpr MessageType message_type_of(pmix_status_t code) noexcept {
  return static_cast<MessageType>(PMIX_EXTERNAL_ERR_BASE - 1 - code);
}

/// The message begins with the namespace of a job: job_of() reads it.
constexpr bool is_of_job(MessageType type) noexcept {
  switch (type) {
    case MessageType::hello:
    case MessageType::unreachable:
    case MessageType::peer_lost:
    case MessageType::leave:
    case MessageType::spawn:
    case MessageType::outcome:
    case MessageType::connected:
    case MessageType::control:
    case MessageType::pull:
    case MessageType::push:
    case MessageType::pulled:
    case MessageType::pull_dropped:
    case MessageType::watch:
      return false;
    default:
      return true;
  }
}

namespace order {

/// Bytes for the standard input of those ranks of the node that read it; no bytes: its end.
struct Input {
  static constexpr MessageType type = MessageType::input;
  std::string nspace;
  std::string bytes;
};
template <class Archive>
void fields(Archive& archive, Input& message) {
  archive(message.nspace);
  archive(message.bytes);
}

/// A signal for the process groups of these ranks; no ranks: of all ranks of the job (order::Broadcast).
struct Signal {
  static constexpr MessageType type = MessageType::signal;
  std::string nspace;
  std::int32_t number = 0;
  std::vector<job::Rank> ranks;
};
template <class Archive>
void fields(Archive& archive, Signal& message) {
  archive(message.nspace);
  archive(message.number);
  archive(message.ranks);
}

/// This stream of weftrun has lost its reader: ranks that write to it are to get SIGPIPE.
struct OutputUnwanted {
  static constexpr MessageType type = MessageType::output_unwanted;
  std::string nspace;
  job::Stream stream = job::Stream::out;
};
template <class Archive>
void fields(Archive& archive, OutputUnwanted& message) {
  archive(message.nspace);
  archive(message.stream);
}

/// A report::PlacesHere of this number is to follow.
struct FindPlaces {
  static constexpr MessageType type = MessageType::find_places;
  std::string nspace;
  std::uint64_t number = 0;
  bool wants_stacks = true;
};
template <class Archive>
void fields(Archive& archive, FindPlaces& message) {
  archive(message.nspace);
  archive(message.number);
  archive(message.wants_stacks);
}

struct EndJob {
  static constexpr MessageType type = MessageType::end_job;
  std::string nspace;
  std::optional<job::Ending> ending;  ///< as tools hear it; nothing: ranks are left behind, it has not ended
};
template <class Archive>
void fields(Archive& archive, EndJob& message) {
  archive(message.nspace);
  archive(message.ending);
}

struct Leave {
  static constexpr MessageType type = MessageType::leave;
};
template <class Archive>
void fields(Archive&, Leave&) {}

/// An order for all nodes of a job, on its way down the tree. One that comes twice is obeyed once.
struct Broadcast {
  static constexpr MessageType type = MessageType::broadcast;
  std::string nspace;
  std::uint32_t number = 0;                 ///< of the orders of the job, from 1
  MessageType order = MessageType::signal;  ///< or output_unwanted, end_job
  std::string bytes;                        ///< that order
};
inline bool is_valid(const Broadcast& message) noexcept {
  return message.order == MessageType::signal || message.order == MessageType::output_unwanted ||
         message.order == MessageType::end_job;
}
template <class Archive>
void fields(Archive& archive, Broadcast& message) {
  archive(message.nspace);
  archive(message.number);
  archive(message.order);
  archive(message.bytes);
}

/// What has become of a report::Spawn, Control, Pull or Push of this number.
struct Outcome {
  static constexpr MessageType type = MessageType::outcome;
  std::uint64_t number = 0;
  job::Result result;
};
template <class Archive>
void fields(Archive& archive, Outcome& message) {
  archive(message.number);
  archive(message.result);
}

/// Bytes that a rank of any node has written, for a reader of this node; no bytes: the end of its stream. The
/// reply goes out when the reader has them.
struct Pulled {
  static constexpr MessageType type = MessageType::pulled;
  job::PullName to;
  job::ProcessName source;
  job::Stream stream = job::Stream::out;
  std::string bytes;
};
inline bool is_valid(const Pulled& message) noexcept {
  return message.stream <= job::Stream::error;
}
template <class Archive>
void fields(Archive& archive, Pulled& message) {
  archive(message.to);
  archive(message.source);
  archive(message.stream);
  archive(message.bytes);
}

/// Bytes for the standard input of these ranks of the node. The reply goes out when the ranks have them.
struct Pushed {
  static constexpr MessageType type = MessageType::pushed;
  std::string nspace;
  std::vector<job::Rank> ranks;
  std::string bytes;
  bool ends = false;  ///< the end of their input is behind the bytes
};
template <class Archive>
void fields(Archive& archive, Pushed& message) {
  archive(message.nspace);
  archive(message.ranks);
  archive(message.bytes);
  archive(message.ends);
}

/// A pull of a reader of this node is over: its reader took nothing for too long.
struct PullDropped {
  static constexpr MessageType type = MessageType::pull_dropped;
  job::PullName name;
};
template <class Archive>
void fields(Archive& archive, PullDropped& message) {
  archive(message.name);
}

}  // namespace order

namespace report {

/// Daemons that have started: the sender's own, or those below it in the tree of agents.
struct Hello {
  static constexpr MessageType type = MessageType::hello;
  struct Daemon {
    std::uint32_t node = 0;
    std::string version, host, contact;
    std::int32_t pid = 0;
    std::string addresses{};  ///< of its machine: allocation::own_addresses()
  };
  std::vector<Daemon> daemons;
};
template <class Archive>
void fields(Archive& archive, Hello::Daemon& daemon) {
  archive(daemon.node);
  archive(daemon.version);
  archive(daemon.host);
  archive(daemon.contact);
  archive(daemon.pid);
  archive(daemon.addresses);
}
inline bool is_valid(const Hello::Daemon& daemon) noexcept {
  return daemon.addresses.size() <= job::NodeKey::longest_value;
}
template <class Archive>
void fields(Archive& archive, Hello& message) {
  archive(message.daemons);
}

/// The node's ranks have been started, or why some have not.
struct Started {
  static constexpr MessageType type = MessageType::started;
  std::string nspace;
  std::vector<std::int32_t> pids{};          ///< of the ranks that were started, in the order of the ranks
  std::vector<std::string> notes{};          ///< for the user: bindings, variables that are not set
  std::int32_t exit_code = 0;                ///< weftrun's, if a rank could not be started
  std::string failure{};                     ///< empty: all ranks run
  std::vector<job::Interface> interfaces{};  ///< of the apps, as this node sees them
};
template <class Archive>
void fields(Archive& archive, Started& message) {
  archive(message.nspace);
  archive(message.pids);
  archive(message.notes);
  archive(message.exit_code);
  archive(message.failure);
  archive(message.interfaces);
}

/// Nodes that this daemon was to bring in (a tree of agents) and could not.
struct Unreachable {
  static constexpr MessageType type = MessageType::unreachable;
  std::vector<std::uint32_t> nodes;
  std::string line, how;  ///< as Agents::Failure
  std::int32_t exit_code = 0;
};
template <class Archive>
void fields(Archive& archive, Unreachable& message) {
  archive(message.nodes);
  archive(message.line);
  archive(message.how);
  archive(message.exit_code);
}

/// The next bytes of a rank's stream; no bytes: its end. The launcher replies when they are written, and the
/// daemon sends the next ones then.
struct Output {
  static constexpr MessageType type = MessageType::output;
  std::string nspace;
  job::Rank rank{0};
  job::Stream stream = job::Stream::out;
  std::string bytes;
};
template <class Archive>
void fields(Archive& archive, Output& message) {
  archive(message.nspace);
  archive(message.rank);
  archive(message.stream);
  archive(message.bytes);
}

struct Ended {
  static constexpr MessageType type = MessageType::ended;
  std::string nspace;
  std::vector<job::RankEnd> ends{};  ///< in the order in which the daemon has seen them
};
template <class Archive>
void fields(Archive& archive, Ended& message) {
  archive(message.nspace);
  archive(message.ends);
}

/// A rank that was reported as ended without a connection had connected: PMIx_Init does not wait for the
/// server.
struct ConnectedLate {
  static constexpr MessageType type = MessageType::connected_late;
  std::string nspace;
  job::Rank rank{0};
};
template <class Archive>
void fields(Archive& archive, ConnectedLate& message) {
  archive(message.nspace);
  archive(message.rank);
}

struct Aborted {
  static constexpr MessageType type = MessageType::aborted;
  std::string nspace;
  job::AbortRequest request{};
};
template <class Archive>
void fields(Archive& archive, Aborted& message) {
  archive(message.nspace);
  auto& request = message.request;
  archive(request.from);
  archive(request.status);
  archive(request.message);
  archive(request.named);
}

/// No rank of the node reads its standard input any more.
struct InputUnwanted {
  static constexpr MessageType type = MessageType::input_unwanted;
  std::string nspace;
};
template <class Archive>
void fields(Archive& archive, InputUnwanted& message) {
  archive(message.nspace);
}

struct Settled {
  static constexpr MessageType type = MessageType::settled;
  std::string nspace;
  std::string other_pmix;  ///< another PMIx library that was opened on the node while ranks ran; empty: none
  std::optional<job::NodeStart> start{};  ///< where the order has asked for it
  std::optional<job::NodeTrace> trace{};  ///< the same
};
template <class Archive>
void fields(Archive& archive, Settled& message) {
  archive(message.nspace);
  archive(message.other_pmix);
  archive(message.start);
  archive(message.trace);
}

/// All ranks of the node that are to stop somewhere for a debugger have, or have ended.
struct HeldHere {
  static constexpr MessageType type = MessageType::held;
  std::string nspace;
  job::Held held{};
};
template <class Archive>
void fields(Archive& archive, HeldHere& message) {
  archive(message.nspace);
  archive(message.held);
}

/// The answer to order::FindPlaces.
struct PlacesHere {
  static constexpr MessageType type = MessageType::places;
  std::string nspace;
  std::uint64_t number = 0;
  job::Places places{};
};
template <class Archive>
void fields(Archive& archive, PlacesHere& message) {
  archive(message.nspace);
  archive(message.number);
  archive(message.places);
}

/// A process of this node asks for a job (PMIx_Spawn). number: of the sender's choice.
struct Spawn {
  static constexpr MessageType type = MessageType::spawn;
  std::uint64_t number = 0;
  job::SpawnRequest request;
};
template <class Archive>
void fields(Archive& archive, Spawn& message) {
  archive(message.number);
  archive(message.request);
}

/// The same numbers.
struct Control {
  static constexpr MessageType type = MessageType::control;
  std::uint64_t number = 0;
  job::ControlRequest request;
};
template <class Archive>
void fields(Archive& archive, Control& message) {
  archive(message.number);
  archive(message.request);
}

/// The same numbers.
struct Pull {
  static constexpr MessageType type = MessageType::pull;
  std::uint64_t number = 0;
  job::PullRequest request;
};
template <class Archive>
void fields(Archive& archive, Pull& message) {
  archive(message.number);
  archive(message.request);
}

/// The same numbers. The outcome comes when the ranks have the bytes.
struct Push {
  static constexpr MessageType type = MessageType::push;
  std::uint64_t number = 0;
  job::PushRequest request;
};
template <class Archive>
void fields(Archive& archive, Push& message) {
  archive(message.number);
  archive(message.request);
}

/// Processes of these namespaces have been connected (PMIx_Connect), or disconnected.
struct Connected {
  static constexpr MessageType type = MessageType::connected;
  std::vector<std::string> nspaces;
  bool are_connected = true;
};
template <class Archive>
void fields(Archive& archive, Connected& message) {
  archive(message.nspaces);
  archive(message.are_connected);
}

/// Reports of some nodes about a job, on their way up its tree.
struct Gathered {
  static constexpr MessageType type = MessageType::gathered;
  struct Item {
    std::uint32_t node = 0;
    std::uint32_t number = 0;  ///< of the node's reports about the job, from 1: what comes twice counts once
    MessageType report = MessageType::started;
    std::string bytes;  ///< that report
  };
  std::string nspace;
  std::vector<Item> items;
};
inline bool is_valid(const Gathered::Item& item) noexcept {
  switch (item.report) {
    case MessageType::started:
    case MessageType::ended:
    case MessageType::connected_late:
    case MessageType::aborted:
    case MessageType::held:
    case MessageType::input_unwanted:
    case MessageType::settled:
      return true;
    default:
      return false;
  }
}
template <class Archive>
void fields(Archive& archive, Gathered::Item& item) {
  archive(item.node);
  archive(item.number);
  archive(item.report);
  archive(item.bytes);
}
template <class Archive>
void fields(Archive& archive, Gathered& message) {
  archive(message.nspace);
  archive(message.items);
}

/// Servers that have spoken to each other notice each other's loss.
struct Watch {
  static constexpr MessageType type = MessageType::watch;
};
template <class Archive>
void fields(Archive&, Watch&) {}

/// The reporting daemon has lost another one: calls of its ranks fail for that, and what follows from it is
/// reported later.
struct PeerLost {
  static constexpr MessageType type = MessageType::peer_lost;
  std::uint32_t node = 0;
  std::string why;
};
template <class Archive>
void fields(Archive& archive, PeerLost& message) {
  archive(message.node);
  archive(message.why);
}

}  // namespace report
}  // namespace weft::channel
