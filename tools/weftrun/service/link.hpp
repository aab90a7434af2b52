// SPDX-License-Identifier: BSD-3-Clause
// A connection between an attacher and the service: whole messages, the first with descriptors perhaps. On
// the loop.
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/fd.hpp"
#include "tools/weftrun/service/protocol.hpp"

namespace weft::weftrun::service {

class Link {
 public:
  struct Message {
    MessageType type;
    std::vector<std::byte> bytes;
    std::vector<base::Fd> descriptors;
    /// Nothing: these are not the bytes of such a message.
    template <class M>
    Result<M> as() const {
      if (M::type != type) return fail(Errc::corrupt, "another message");
      return base::decode<M>(bytes);
    }
  };
  struct Events {
    std::function<void(Message message)> message;
    std::function<void()> closed;  ///< by the other end, or what came was no message. Once, the last
  };
  /// socket: connected. No event comes from inside a call; this object does not end inside of one.
  Link(asio::io_context& loop, base::Fd socket, Events events);

  /// descriptors: stay open at the caller. Nothing happens where the other end has gone: closed() comes.
  template <class M>
  void send(const M& message, std::span<const int> descriptors = {}) {
    send(M::type, base::encode(message), descriptors);
  }

 private:
  void send(MessageType type, std::span<const std::byte> bytes, std::span<const int> descriptors);
  void flush();
  void await_input();
  void read();
  bool take_message();
  void close();

  asio::posix::stream_descriptor socket_;
  Events events_;
  std::vector<std::byte> in_, out_;
  std::vector<base::Fd> descriptors_in_, descriptors_out_;
  bool is_writing_ = false, is_closed_ = false;
};

}  // namespace weft::weftrun::service
