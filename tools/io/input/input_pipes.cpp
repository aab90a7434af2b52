// SPDX-License-Identifier: BSD-3-Clause
#include "tools/io/input/input_pipes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::io {

using job::Rank;
using messages::Stop;
namespace exit_status = messages::exit_status;

process::Fd nothing_to_read() {
  process::Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) throw Stop(exit_status::own_failure, messages::no_descriptors(errno));
  return null;
}

InputPipes::InputPipes(asio::io_context& loop, std::function<void()> unwanted)
    : loop_(loop), unwanted_(std::move(unwanted)) {}

process::Fd InputPipes::connect(Rank rank) {
  process::Pipe pipe = process::make_pipe(true, false);
  auto reader = std::make_shared<Reader>(Reader{asio::posix::stream_descriptor(loop_)});
  reader->pipe.assign(pipe.write.release());
  readers_.emplace(rank, std::move(reader));
  return std::move(pipe.read);
}

void InputPipes::write(std::string bytes, std::function<void()> taken) {
  buffers_.push_back({std::move(bytes), std::move(taken)});
  if (buffers_.size() == 1) begin_first();
  go_on();
}

void InputPipes::begin_first() {
  const std::vector<std::pair<Rank, ReaderPtr>> all(readers_.begin(),
                                                    readers_.end());  // write_to() removes some
  for (const auto& [rank, reader] : all) {
    reader->written = 0;
    write_to(rank, reader);
  }
}

void InputPipes::write_to(Rank rank, const ReaderPtr& reader) {
  while (!buffers_.empty() && reader->written < buffers_.front().bytes.size()) {
    const auto& bytes = buffers_.front().bytes;
    const auto sent =
        ::write(reader->pipe.native_handle(), bytes.data() + reader->written, bytes.size() - reader->written);
    if (sent >= 0) {
      reader->written += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      reader->waiting = true;
      reader->pipe.async_wait(asio::posix::stream_descriptor::wait_write,
                              [this, rank, reader](const asio::error_code& error) {
                                reader->waiting = false;
                                if (error || !reader->pipe.is_open()) return;
                                write_to(rank, reader);
                                go_on();
                              });
      return;
    } else if (errno != EINTR) {
      return remove(rank);  // the rank has closed its standard input, or has ended
    }
  }
}

/// taken() may write the next one.
void InputPipes::go_on() {
  if (is_going_on_) return;
  is_going_on_ = true;
  while (!buffers_.empty()) {
    const auto size = buffers_.front().bytes.size();
    if (std::any_of(readers_.begin(), readers_.end(),
                    [size](const auto& entry) { return entry.second->written != size; }))
      break;
    const auto taken = std::move(buffers_.front().taken);
    buffers_.pop_front();
    if (!buffers_.empty()) begin_first();
    taken();
  }
  is_going_on_ = false;
  if (is_ending_ && buffers_.empty()) close();
}

void InputPipes::remove(Rank rank) {
  const auto at = readers_.find(rank);
  if (at == readers_.end()) return;
  at->second->pipe.close();
  readers_.erase(at);
  if (readers_.empty() && unwanted_) unwanted_();
}

void InputPipes::disconnect(Rank rank) {
  remove(rank);
  go_on();
}

void InputPipes::end() {
  is_ending_ = true;
  go_on();
}

void InputPipes::close() {
  for (const auto& [rank, reader] : readers_) reader->pipe.close();
  readers_.clear();
  is_ending_ = false;
  go_on();
}

}  // namespace weft::io
