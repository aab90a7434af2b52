// SPDX-License-Identifier: BSD-3-Clause
// Where the standard output and standard error of every rank go: through weftrun, or into files of their own.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/channel/protocol.hpp"
#include "tools/job/rank.hpp"
#include "tools/process/fd.hpp"
#include "tools/weftrun/sink.hpp"

namespace weft::weftrun {

class Output {
 public:
  struct Events {
    std::function<void()> drained;                       ///< every rank's output has been written to its end
    std::function<void(channel::Stream stream)> unread;  ///< its reader has gone
    std::function<void(const std::string& what, int error)> lost;  ///< a write failed otherwise
  };

  /// directory: empty, or where to put the files; it is made if need be. Throws Stop (own_failure).
  Output(asio::io_context& loop, const std::string& directory, bool tagged, Events events);

  /// What a rank gets as descriptors 1 and 2; close them here once it has started. Throws Stop (own_failure).
  struct Ends {
    process::Fd out, error;
  };
  Ends connect(job::Rank rank);

  /// The same for a rank of another node, whose bytes come by take(). make_files(): before anything is started, so that
  /// what cannot be written is known. Throws Stop (own_failure).
  void make_files(job::Rank rank) const;
  void connect_remote(job::Rank rank);
  /// The next bytes of its stream; none: the end. taken: when they are written, or never can be.
  void take(job::Rank rank, channel::Stream stream, std::string bytes, std::function<void()> taken);
  /// Its node is lost.
  void lose_remote(job::Rank rank);

  /// The file with the rank's standard error; empty when it is forwarded.
  std::string error_file(job::Rank rank) const;

  void say(std::string line);
  /// After what an ended rank has said on standard error; said: how much that is, of a rank of another node.
  void say_after(job::Rank rank, std::string line, Said said = {});
  bool is_drained() const noexcept;
  void abandon();

 private:
  Ends open_files(job::Rank rank) const;
  std::string file_of(job::Rank rank, channel::Stream stream) const;
  void append_to_file(job::Rank rank, channel::Stream stream, const std::string& bytes);
  void check_drained();

  std::string directory_;
  bool tagged_;
  Events events_;
  std::unique_ptr<Sink> out_;
  std::unique_ptr<Sink>
      separate_error_;  // null when both streams are one file: a line must not be cut by the other
  Sink* error_;
  bool has_lost_file_ = false;
};

}  // namespace weft::weftrun
