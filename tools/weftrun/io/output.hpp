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
#include "tools/weftrun/io/sink.hpp"

namespace weft::weftrun {

class Output {
 public:
  struct Events {
    std::function<void()> drained;  ///< the output of all ranks is written to its end
    std::function<void(channel::Stream stream)> reader_lost;  ///< its reader has closed it
    std::function<void(const std::string& what, int error)>
        write_failed;  ///< a write failed for another reason
  };

  /// directory: for files, made if it does not exist; empty: forward. Throws Stop (own_failure).
  Output(asio::io_context& loop, const std::string& directory, OutputTags tags, Events events);

  /// Descriptors 1 and 2 of a rank; close them here once it has started. Throws Stop (own_failure).
  struct Ends {
    process::Fd out, error;
  };
  Ends connect(job::Rank rank);

  /// Connects a rank of another node, whose bytes come by write(). make_files(): before anything is
  /// started, so that a directory that cannot be written to is noticed. Throws Stop (own_failure).
  void make_files(job::Rank rank) const;
  void connect_remote(job::Rank rank);
  /// The next bytes of its stream; no bytes: the end. done: when they are written, or never can be.
  void write(job::Rank rank, channel::Stream stream, std::string bytes, std::function<void()> done);
  /// Ends its streams: its node is lost.
  void close_remote(job::Rank rank);

  /// After the end of a rank of this node, which writes its files itself: a rank that ignores the
  /// errors of its writes loses output where the file system is full, and this call counts that as a failed
  /// write.
  void check_room(job::Rank rank);

  /// Prints a line on a line of its own.
  void print(std::string line);
  /// Prints a line after all that an ended rank has written to standard error. written: how much that is, for
  /// a rank of another node.
  void print_after(job::Rank rank, std::string line, WrittenBytes written = {});
  bool is_drained() const noexcept;
  void drop_all();

 private:
  Ends open_files(job::Rank rank) const;
  std::string file_of(job::Rank rank, channel::Stream stream) const;
  void append_to_file(job::Rank rank, channel::Stream stream, const std::string& bytes);
  void check_drained();

  std::string directory_;
  OutputTags tags_;
  Events events_;
  std::unique_ptr<Sink> out_;
  std::unique_ptr<Sink>
      separate_error_;  // null when both streams are one file: a line must not be cut by the other
  Sink* error_;
  bool has_failed_ = false;
};

}  // namespace weft::weftrun
