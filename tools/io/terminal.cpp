// SPDX-License-Identifier: BSD-3-Clause
#include "tools/io/terminal.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace weft::io {
namespace {

using job::Stream;

bool same_file(int a, int b) {
  struct stat one {};
  struct stat other {};
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

}  // namespace

Terminal::Terminal(asio::io_context& loop, TerminalWatcher& watcher, int out, int error)
    : out_(make(loop, Stream::out, out, watcher)),
      error_(same_file(out, error) ? nullptr : make(loop, Stream::error, error, watcher)) {}

std::unique_ptr<OwnStream> Terminal::make(asio::io_context& loop, Stream stream, int fd,
                                          TerminalWatcher& watcher) {
  return std::make_unique<OwnStream>(loop, fd,
                                     OwnStream::Events{[&watcher] { watcher.on_written(); },
                                                       [this, stream, &watcher](int error) {
                                                         if (error != EPIPE)
                                                           return watcher.on_write_failed(stream, error);
                                                         watcher.on_reader_lost(stream);
                                                         if (!error_ && stream == Stream::out)
                                                           watcher.on_reader_lost(Stream::error);
                                                       }});
}

void Terminal::drop(const std::string& nspace) {
  out_->drop(nspace);
  if (error_) error_->drop(nspace);
}

void Terminal::give_up() {
  out_->give_up();
  if (error_) error_->give_up();
}

bool Terminal::is_drained(const std::string& nspace) const {
  return out_->is_drained(nspace) && (!error_ || error_->is_drained(nspace));
}

}  // namespace weft::io
