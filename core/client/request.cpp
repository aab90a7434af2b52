// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/request.hpp"

#include "core/data/status.hpp"

namespace weft::client {

link::Answer read_answer(const Result<link::Frame>& frame) {
  if (!frame) return {data::to_status(frame.error()), {}, {}};
  if (frame->type == link::MessageType::done) {
    const auto done = link::decode<link::Done>(frame->payload);
    return {done ? done->status : PMIX_ERR_COMM_FAILURE, {}, {}};
  }
  auto answer = link::decode<link::Answer>(frame->payload);
  if (frame->type == link::MessageType::answer && answer) return std::move(*answer);
  return {PMIX_ERR_COMM_FAILURE, {}, {}};
}

}  // namespace weft::client
