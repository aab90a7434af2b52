// SPDX-License-Identifier: BSD-3-Clause
// The standard input of a job's ranks that processes and tools push to (PMIx_IOF_push), at the launcher:
// which ranks take pushes, where each of them runs, and which processes may still push.
//
// An input is like a pipe: it ends when each process that has pushed has said that it pushes no more, or has
// ended. The process that has asked for the job counts as one that has pushed.
#pragma once

#include <pmix_common.h>

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/io/input/push_pipes.hpp"
#include "tools/job/input_target.hpp"
#include "tools/job/standard_io.hpp"

namespace weft::io {

class PushedInput {
 public:
  /// Ranks of other nodes: which node has a rank, nothing: this one; and how bytes get there. taken: the
  /// ranks have them, or never can.
  struct Others {
    std::function<std::optional<std::uint32_t>(job::Rank)> node_of;
    std::function<void(std::uint32_t node, std::vector<job::Rank> ranks, const std::string& bytes, bool ends,
                       std::function<void()> taken)>
        send;
  };
  /// first: the process that has asked for the job.
  PushedInput(asio::io_context& loop, const job::InputTarget& target, std::uint32_t size, Others others,
              const std::optional<job::ProcessName>& first);

  bool takes(job::Rank rank) const { return ranks_.count(rank) != 0; }
  /// As PushPipes.
  process::Fd connect(job::Rank rank) { return pipes_.connect(rank); }

  using Done = std::function<void(pmix_status_t)>;
  /// ranks: ascending; none: all that take pushes. done: once, perhaps at once: PMIX_SUCCESS: they have the
  /// bytes. Errors: PMIX_ERR_NOT_SUPPORTED (a rank takes no pushes), PMIX_ERR_IOF_COMPLETE (its input has
  /// ended); then none has them.
  struct Push {
    job::ProcessName from;
    std::optional<std::uint32_t> node;  ///< of that process; nothing: this one
    std::vector<job::Rank> ranks;
    std::string bytes;
    bool ends;
  };
  /// What comes before open() waits for that: ranks that have not started have no pipes.
  void push(const Push& push, const Done& done);
  /// All ranks have been started.
  void open();

  void lose_process(const job::ProcessName& process);
  void lose_node(std::uint32_t node);
  /// A rank of the job has ended.
  void disconnect(job::Rank rank);
  void close();

 private:
  struct Pusher {
    job::ProcessName name;
    std::optional<std::uint32_t> node;
  };
  struct Target {
    std::vector<Pusher> pushers;
    bool has_ended = false;
  };
  void push_now(const Push& push, const Done& done);
  /// True: it is done later.
  bool waits(std::function<void()> work);
  pmix_status_t check(std::vector<job::Rank>& ranks) const;
  void note(const Push& push, Target& target);
  template <class Which>
  void lose(Which&& which);
  void send(const std::vector<job::Rank>& ranks, const std::string& bytes, bool ends,
            const std::function<void()>& taken);

  const Others others_;
  std::map<job::Rank, Target> ranks_;
  PushPipes pipes_;
  std::vector<std::function<void()>> waiting_;  ///< for open()
  bool is_open_ = false;
};

}  // namespace weft::io
