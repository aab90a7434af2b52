// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/input_pipes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::node {

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
  buffer_ = std::move(bytes);
  taken_ = std::move(taken);
  const std::vector<std::pair<Rank, ReaderPtr>> all(readers_.begin(),
                                                    readers_.end());  // write_to() removes some
  for (const auto& [rank, reader] : all) {
    reader->written = 0;
    if (!reader->waiting) write_to(rank, reader);
  }
  check_taken();
}

void InputPipes::write_to(Rank rank, const ReaderPtr& reader) {
  while (reader->written < buffer_.size()) {
    const auto sent = ::write(reader->pipe.native_handle(), buffer_.data() + reader->written,
                              buffer_.size() - reader->written);
    if (sent >= 0) {
      reader->written += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      reader->waiting = true;
      reader->pipe.async_wait(asio::posix::stream_descriptor::wait_write,
                              [this, rank, reader](const asio::error_code& error) {
                                reader->waiting = false;
                                if (error || !reader->pipe.is_open()) return;
                                write_to(rank, reader);
                                check_taken();
                              });
      return;
    } else if (errno != EINTR) {
      return remove(rank);  // the rank has closed its standard input, or has ended
    }
  }
}

void InputPipes::check_taken() {
  const auto has_all = [this](const auto& entry) { return entry.second->written == buffer_.size(); };
  if (!taken_ || !std::all_of(readers_.begin(), readers_.end(), has_all)) return;
  std::exchange(taken_, nullptr)();
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
  check_taken();
}

void InputPipes::close() {
  for (const auto& [rank, reader] : readers_) reader->pipe.close();
  readers_.clear();
  check_taken();
}

}  // namespace weft::node
