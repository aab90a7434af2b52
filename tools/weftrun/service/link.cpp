// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/service/link.hpp"

#include <fcntl.h>

#include <array>
#include <utility>

#include "base/local_socket.hpp"

namespace weft::weftrun::service {
namespace {

constexpr std::size_t header_bytes = base::fixed_bytes<Header>;
constexpr std::size_t chunk_bytes = 64 * 1024;

}  // namespace

Link::Link(asio::io_context& loop, base::Fd socket, Events events)
    : socket_(loop, socket.release()), events_(std::move(events)) {
  await_input();
}

void Link::send(MessageType type, std::span<const std::byte> bytes, std::span<const int> descriptors) {
  if (is_closed_) return;
  Header header;
  header.type = type;
  header.bytes = static_cast<std::uint32_t>(bytes.size());
  const auto head = base::encode_fixed(header);
  out_.insert(out_.end(), head.begin(), head.end());
  out_.insert(out_.end(), bytes.begin(), bytes.end());
  for (const int fd : descriptors) descriptors_out_.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!is_writing_) flush();
}

void Link::flush() {
  is_writing_ = false;
  std::size_t done = 0;
  while (done < out_.size() && !is_closed_) {
    std::vector<int> descriptors;
    for (const auto& fd : descriptors_out_) descriptors.push_back(fd.get());
    const auto sent =
        base::send_some(socket_.native_handle(), Bytes(out_).subspan(done), descriptors, base::Blocking::no);
    if (sent) {
      done += *sent;
      descriptors_out_.clear();
      continue;
    }
    if (sent.error().code != Errc::again) return;  // the reader sees the end
    out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(done));
    is_writing_ = true;
    socket_.async_wait(asio::posix::stream_descriptor::wait_write, [this](const asio::error_code& error) {
      if (!error) flush();
    });
    return;
  }
  out_.clear();
}

void Link::await_input() {
  socket_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& error) {
    if (!error) read();
  });
}

void Link::read() {
  std::array<std::byte, chunk_bytes> chunk;
  const auto taken = base::receive_some(socket_.native_handle(), chunk, &descriptors_in_, base::Blocking::no);
  if (!taken && taken.error().code == Errc::again) return await_input();
  if (!taken) return close();
  in_.insert(in_.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(*taken));
  if (descriptors_in_.size() > base::most_descriptors) return close();
  while (take_message()) {
  }
  if (!is_closed_) await_input();
}

/// False: no whole message is there, or none comes any more.
bool Link::take_message() {
  if (is_closed_ || in_.size() < header_bytes) return false;
  base::Reader reader(Bytes(in_).first(header_bytes));
  Header header;
  reader(header);
  if (!reader.done()) return close(), false;
  if (in_.size() < header_bytes + header.bytes) return false;
  const auto body = in_.begin() + header_bytes;
  Message message{header.type, {body, body + header.bytes}, std::exchange(descriptors_in_, {})};
  in_.erase(in_.begin(), body + header.bytes);
  events_.message(std::move(message));
  return true;
}

void Link::close() {
  if (std::exchange(is_closed_, true)) return;
  asio::error_code ignored;
  socket_.close(ignored);
  events_.closed();
}

}  // namespace weft::weftrun::service
