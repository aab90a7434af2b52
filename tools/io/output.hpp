// SPDX-License-Identifier: BSD-3-Clause
// Where a job's output goes: to the terminal and to what pulls it, or into files, from its ranks of this node
// and of others.
#pragma once

#include <asio/io_context.hpp>
#include <optional>
#include <string>

#include "tools/io/files.hpp"
#include "tools/io/pipes.hpp"
#include "tools/io/pulls/pulls.hpp"
#include "tools/io/terminal.hpp"
#include "tools/job/events.hpp"

namespace weft::io {

class Output final : public Sink {
 public:
  struct Settings {
    std::string nspace;
    std::string directory;  ///< of files; empty: to the terminal
    OutputTags tags{};
    std::size_t ranks_here = 0;
    std::uint32_t ranks = 0;                          ///< of the job
    bool has_terminals = false;                       ///< pseudo-terminals, in the place of pipes
    KeptOutput kept{};                                ///< for the process that has asked for the job
    std::function<std::string(job::Rank)> host_of{};  ///< for the tags
  };
  /// These outlive this object.
  struct Sinks {
    Terminal& terminal;
    Pulls& pulls;
  };
  /// failed: as in Files. Throws Stop (own_failure).
  Output(asio::io_context& loop, Sinks sinks, Settings settings, Files::Failed failed);
  ~Output() { sinks_.pulls.remove_job(settings_.nspace); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// Descriptors 1 and 2 of a rank of this node; close them here once it has started. Throws Stop
  /// (own_failure).
  Files::Ends connect(job::Rank rank);

  /// Before anything is started, for a rank of another node. Throws Stop (own_failure).
  void prepare_far(job::Rank rank) const;
  /// It has been started: its flows come by write().
  void connect_far(job::Rank rank);
  void write(const Flow& flow, std::string bytes, Written written) override;
  /// Ends its flows: its node is lost.
  void close_far(job::Rank rank);

  /// The terminal's stream is not read any more: ranks of this node that write to it get SIGPIPE.
  void close(job::Stream stream);
  /// After the end of a rank of this node.
  void check_room(job::Rank rank);

  /// Prints a line behind all that a rank has written. written: how much that is, for a rank of another node.
  void print_after(job::Rank rank, std::string line, job::WrittenBytes written);

  /// No rank runs any more.
  void drain() { sinks_.pulls.drain(settings_.nspace); }
  /// All that the ranks have written is written here, and what pulls it has it.
  bool is_drained() const {
    return sinks_.terminal.is_drained(settings_.nspace) && sinks_.pulls.is_drained(settings_.nspace);
  }
  /// Drops what is not written, and closes the flows.
  void drop();

 private:
  Flow flow(job::Rank rank, job::Stream stream) const { return {settings_.nspace, rank, stream}; }
  process::Fd connect(job::Rank rank, job::Stream stream);
  void open(job::Rank rank, job::Stream stream);

  const Sinks sinks_;
  const Settings settings_;
  std::optional<Files> files_;
  Pipes pipes_;
};

}  // namespace weft::io
