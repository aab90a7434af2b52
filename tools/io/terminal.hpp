// SPDX-License-Identifier: BSD-3-Clause
// Standard output and standard error of this process, or those that another process has handed over, for the
// flows of any number of jobs.
#pragma once

#include <unistd.h>

#include <asio/io_context.hpp>
#include <memory>
#include <string>

#include "tools/io/own_stream.hpp"

namespace weft::io {

class TerminalWatcher {
 public:
  virtual void on_written() = 0;                        ///< all that has come; may be called again
  virtual void on_reader_lost(job::Stream stream) = 0;  ///< its reader has closed it. Once
  virtual void on_write_failed(job::Stream stream, int error) = 0;  ///< for another reason. Once

 protected:
  ~TerminalWatcher() = default;
};

class Terminal {
 public:
  /// watcher: outlives this object.
  Terminal(asio::io_context& loop, TerminalWatcher& watcher, int out = STDOUT_FILENO,
           int error = STDERR_FILENO);

  OwnStream& stream(job::Stream stream) noexcept {
    return stream == job::Stream::out || !error_ ? *out_ : *error_;
  }
  /// A line of this process, on standard error.
  void print(std::string line) { stream(job::Stream::error).print(std::move(line)); }
  void drop(const std::string& nspace);
  bool is_drained(const std::string& nspace) const;
  /// As if the readers of both streams had closed them; perhaps on_reader_lost() comes inside this call.
  void give_up();

 private:
  std::unique_ptr<OwnStream> make(asio::io_context& loop, job::Stream stream, int fd,
                                  TerminalWatcher& watcher);

  std::unique_ptr<OwnStream> out_;
  std::unique_ptr<OwnStream> error_;  // null where both are one file: a line must not be cut by the other
};

}  // namespace weft::io
