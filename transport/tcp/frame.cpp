// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/frame.hpp"

#include <algorithm>

namespace weft::tcp {
namespace {

bool is_in_bounds(const FrameHeader& header) noexcept {
  switch (header.kind) {
    case FrameKind::message:
      return header.body_bytes <= most_body_bytes && header.number <= header.body_bytes;
    case FrameKind::get:
      return header.body_bytes == base::fixed_bytes<GetRequest>;
    case FrameKind::reply:
      return header.body_bytes <= most_reply_bytes;
    case FrameKind::welcome:
      return header.body_bytes == 0;
  }
  return false;
}

}  // namespace

Result<std::optional<Frame>> first_frame(Bytes bytes) noexcept {
  if (bytes.size() < frame_header_bytes) return std::nullopt;
  base::Reader in(bytes);
  Frame frame;
  in(frame.header);
  if (!is_in_bounds(frame.header)) return fail(Errc::corrupt, "a frame that cannot be");
  const bool comes_in_pieces = frame.header.kind == FrameKind::reply;
  if (in.left() < frame.header.body_bytes && !comes_in_pieces) return std::nullopt;
  frame.body = in.raw(std::min<std::size_t>(in.left(), frame.header.body_bytes));
  return frame;
}

}  // namespace weft::tcp
