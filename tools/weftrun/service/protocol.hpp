// SPDX-License-Identifier: BSD-3-Clause
// What weftrun --attach and the service (weftrun --dvm) tell each other, on a Unix socket between processes
// of one user:
//
//   attacher                              service
//     run + its three streams  ------->     the job waits for room, or is set up
//     signal                   ------->     for all processes of the job
//                              <-------   state: waiting, starting, running, ended; the last with the status
//                              <-------   refused: nothing runs; the last
//     list                     ------->
//                              <-------   listed
//     stop                     ------->     all jobs are ended, the daemons leave
//                              <-------   stopped, when they have
//
// Output goes from the service to the streams that came with `run`. A connection that ends before its job
// ends it, unless the job is detached. Bytes are base/wire.hpp's behind a header of fixed size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/weftrun/plan/launch_message.hpp"
#include "tools/weftrun/service/job_options.hpp"

namespace weft::weftrun::service {

enum class MessageType : std::uint8_t { run, signal, list, stop, state, refused, listed, stopped };
inline constexpr auto last_type = MessageType::stopped;

struct Header {
  static constexpr std::uint16_t current = 4;
  std::uint16_t version = current;
  MessageType type{};
  std::uint32_t bytes = 0;  ///< that follow
};
template <class Archive>
constexpr void fields(Archive& archive, Header& header) {
  archive(header.version, header.type, header.bytes);
}
/// Arguments and environment of a few programs; the kernel takes no more of one.
inline constexpr std::uint32_t most_bytes = 64U << 20;
inline bool is_valid(const Header& header) noexcept {
  return header.version == Header::current && header.type <= last_type && header.bytes <= most_bytes;
}

/// Comes with three descriptors: standard input, output and error.
struct Run {
  static constexpr auto type = MessageType::run;
  JobOptions options;
  Surroundings surroundings;
  bool is_detached = false;
};
template <class Archive>
void fields(Archive& archive, Run& run) {
  archive(run.options, run.surroundings.environment, run.surroundings.directory, run.is_detached);
}

struct Signal {
  static constexpr auto type = MessageType::signal;
  std::int32_t number = 0;
};
template <class Archive>
void fields(Archive& archive, Signal& signal) {
  archive(signal.number);
}

struct List {
  static constexpr auto type = MessageType::list;
};
template <class Archive>
void fields(Archive&, List&) {}

struct StopAll {
  static constexpr auto type = MessageType::stop;
};
template <class Archive>
void fields(Archive&, StopAll&) {}

enum class JobState : std::uint8_t {
  waiting,   ///< for slots
  starting,  ///< it has its slots
  running,   ///< all ranks have been started
  ended,
};

/// How a job is; also an element of `Listed`.
struct State {
  static constexpr auto type = MessageType::state;
  std::uint64_t id = 0;  ///< counted by the service
  JobState state = JobState::waiting;
  std::int32_t status = 0;  ///< when it has ended
  std::string nspace;       ///< empty: it waits, or has ended without one
  std::string program;
  std::uint32_t ranks = 0;  ///< 0: it waits, and takes what is free
  job::Attacher attacher{};
};
template <class Archive>
void fields(Archive& archive, State& state) {
  archive(state.id, state.state, state.status, state.nspace, state.program, state.ranks, state.attacher);
}
inline bool is_valid(const State& state) noexcept {
  return state.state <= JobState::ended;
}

struct Refused {
  static constexpr auto type = MessageType::refused;
  std::int32_t status = 0;
  std::string line;  ///< for the user
};
template <class Archive>
void fields(Archive& archive, Refused& refused) {
  archive(refused.status, refused.line);
}

struct Listed {
  static constexpr auto type = MessageType::listed;
  std::vector<State> jobs;
};
template <class Archive>
void fields(Archive& archive, Listed& listed) {
  archive(listed.jobs);
}

struct Stopped {
  static constexpr auto type = MessageType::stopped;
};
template <class Archive>
void fields(Archive&, Stopped&) {}

}  // namespace weft::weftrun::service
