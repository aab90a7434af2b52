// SPDX-License-Identifier: BSD-3-Clause
// A file descriptor that closes itself, and what the tools do with descriptors.
#pragma once

#include <unistd.h>

#include <utility>

namespace weft::process {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read, write;
};

/// Both ends close on exec. `reader_waits` false: the read end never blocks; `writer_waits` alike.
/// Throws Stop (own_failure) when the process or the system is out of descriptors.
Pipe make_pipe(bool reader_waits, bool writer_waits);

/// A pseudo-terminal: `write` is for a program, which sees a terminal that passes its bytes on as they are;
/// what it writes comes out of `read`, which never blocks. Throws as make_pipe().
Pipe make_terminal();

/// A second, non-blocking opening of what `fd` refers to, or nothing. Setting O_NONBLOCK on `fd` itself would
/// change it for every process that shares it (the user's shell, the next program in a pipeline).
Fd reopen_nonblocking(int fd, int access_mode);

/// Descriptors 0, 1 and 2 exist afterwards (/dev/null where they were closed): otherwise the first pipe would
/// get such a number and be overwritten when a child's standard streams are set up.
void ensure_standard_descriptors();

/// How many descriptors this process may have; 0: not known.
unsigned long descriptor_limit() noexcept;

/// Grows the process's table of descriptors, before it has threads. Where threads share the table each
/// doubling of it waits until every processor has passed through the scheduler (Linux: synchronize_rcu), more
/// than ten milliseconds in which the server would accept no rank. Cost: 32 KiB of the kernel's memory.
void grow_descriptor_table() noexcept;

}  // namespace weft::process
