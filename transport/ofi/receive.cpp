// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/receive.hpp"

#include <rdma/fi_endpoint.h>

#include <algorithm>

namespace weft::ofi {
namespace {

constexpr std::size_t multi_buffers = 4, messages_in_each = 8;
constexpr std::size_t single_buffers = 64;

}  // namespace

Result<void> ReceiveBuffers::begin(fid_ep& endpoint, const Registrar& registrar, const fi_info& info,
                                   std::size_t message_bytes) {
  endpoint_ = &endpoint;
  multi_ = (info.caps & FI_MULTI_RECV) != 0;
  if (multi_) {
    // The library returns a buffer when the largest message no longer fits into its rest.
    if (fi_setopt(&endpoint.fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &message_bytes,
                  sizeof message_bytes) != 0)
      multi_ = false;
  }
  each_ = multi_ ? message_bytes * messages_in_each : message_bytes;
  const std::size_t max_buffers = std::max<std::size_t>(info.rx_attr->size, 1);
  const std::size_t count = std::min(multi_ ? multi_buffers : single_buffers, max_buffers);
  bytes_.reset(new std::byte[each_ * count]);  // not initialised: pages are allocated with the first messages
  if (registrar.asks_for(FI_MR_LOCAL)) {
    auto registered = registrar.add({bytes_.get(), each_ * count}, FI_RECV);
    if (!registered) return fail(registered.error());
    registered_ = std::move(*registered);
    descriptor_ = fi_mr_desc(registered_.get());
  }
  buffers_.resize(count);
  waiting_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    buffers_[i].kind = Context::Kind::receive;
    buffers_[i].bytes = bytes_.get() + i * each_;
    waiting_.push_back(&buffers_[i]);
  }
  return post();
}

Bytes ReceiveBuffers::message_of(const Event& event) const noexcept {
  if ((event.flags & FI_RECV) == 0) return {};  // reports only that a buffer is used up
  const auto* buffer = static_cast<const ReceiveBuffer*>(event.context);
  if (!multi_) return {buffer->bytes, std::min(event.length, each_)};
  return {event.data, event.length};
}

void ReceiveBuffers::done_with(const Event& event) noexcept {
  auto* buffer = static_cast<ReceiveBuffer*>(event.context);
  if (multi_ && (event.flags & FI_MULTI_RECV) == 0) return;  // further messages will go into it
  waiting_.push_back(buffer);
}

Result<void> ReceiveBuffers::post() noexcept {
  while (!waiting_.empty()) {
    ReceiveBuffer& buffer = *waiting_.back();
    const iovec where{buffer.bytes, each_};
    fi_msg message{};
    message.msg_iov = &where;
    message.desc = &descriptor_;
    message.iov_count = 1;
    message.addr = FI_ADDR_UNSPEC;
    message.context = static_cast<Context*>(&buffer);
    const auto code = fi_recvmsg(endpoint_, &message, multi_ ? FI_MULTI_RECV : 0);
    if (code == -FI_EAGAIN) return {};
    if (code != 0) return failed("fi_recvmsg", code);
    waiting_.pop_back();
  }
  return {};
}

}  // namespace weft::ofi
