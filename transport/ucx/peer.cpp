// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/peer.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "transport/ucx/endpoint.hpp"

namespace weft::ucx {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Over TCP, UCP asks the peer to confirm all before it closes a connection. A peer that does not progress is waited
// for this long when the endpoint closes; by then its bytes are in its socket.
constexpr auto time_to_close = 100ms;
constexpr auto time_to_end_reading = 1000ms;  // a direct get, before its connection is cut

}  // namespace

UcxPeer::~UcxPeer() {
  line_.owner->await_direct_gets(&line_, nullptr);
  line_.owner->cancel_if([this](const transport::Operation& o) { return o.peer == this; });
  line_.peer = nullptr;
  line_.owner->retire(line_);
}

// The part of the endpoint that cares for its connections.

Result<std::unique_ptr<Peer>> UcxEndpoint::reach(const Address& address) {
  const auto packed = unpack_address(address.bytes);
  if (!packed) return fail(Errc::corrupt, "not the address of a UCX endpoint");
  Line& line = *lines_.emplace_back(std::make_unique<Line>());
  line.owner = this;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(packed->data());
  // The transports of one node's memory refuse a connection that is to report its peer's death.
  params.err_mode = capabilities_.detects_loss ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
  params.err_handler.cb = on_failure;
  params.err_handler.arg = &line;
  const auto made = ucp_ep_create(worker_->get(), &params, &line.ep);
  if (made != UCS_OK) {
    lines_.pop_back();
    return fail(Errc::os, "UCX has no way to this address", EHOSTUNREACH);
  }
  return std::make_unique<UcxPeer>(line);
}

void UcxEndpoint::on_failure(void* of, ucp_ep_h, ucs_status_t) noexcept {
  auto& line = *static_cast<Line*>(of);
  line.failed = true;
  line.owner->has_failures_ = true;
}

void UcxEndpoint::tell_lost() noexcept {
  has_failures_ = false;
  const auto is_news = [](const auto& line) { return line->failed && !line->is_told; };
  // From the beginning each time: done() may reach new peers and let others go.
  for (auto at = lines_.begin();
       (at = std::find_if(lines_.begin(), lines_.end(), is_news)) != lines_.end();) {
    (*at)->is_told = true;
    if (const UcxPeer* peer = (*at)->peer)
      end_if([peer](const transport::Operation& o) { return o.peer == peer; }, Errc::peer_lost);
  }
}

void UcxEndpoint::retire(Line& line) noexcept {
  if (line.state == Line::State::used) line.state = Line::State::retiring;
  ++lines_to_tidy_;
  tidy();
}

/// Without force UCP first sends what it took over, as done() promised for it; that needs a peer that is there.
void UcxEndpoint::close(Line& line) noexcept {
  const bool force = capabilities_.detects_loss && (line.failed || !line.has_sent || line.flights != 0);
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = force ? static_cast<unsigned>(UCP_EP_CLOSE_FLAG_FORCE) : 0u;
  const auto request = ucp_ep_close_nbx(line.ep, &params);
  line.closing = UCS_PTR_IS_PTR(request) ? request : nullptr;
  line.state = line.closing == nullptr ? Line::State::closed : Line::State::closing;
}

void UcxEndpoint::tidy() noexcept {
  for (const auto& line : lines_) {
    if (line->state == Line::State::retiring && (line->flights == 0 || line->failed)) close(*line);
    if (line->state == Line::State::closing && ucp_request_check_status(line->closing) != UCS_INPROGRESS)
      let_go(*line);
  }
  lines_to_tidy_ -= static_cast<std::uint32_t>(std::erase_if(lines_, [](const auto& line) {
    return line->state == Line::State::closed && line->peer == nullptr && line->flights == 0;
  }));
}

void UcxEndpoint::let_go(Line& line) noexcept {
  ucp_request_free(line.closing);
  line.closing = nullptr;
  line.state = Line::State::closed;
}

void UcxEndpoint::await_direct_gets(const Line* of, const MemoryRegion* into) noexcept {
  if (!worker_->direct_gets()) return;
  const auto is_open = [&](const Flight& f) {
    return f.into != nullptr && !f.is_over && (of == nullptr || f.line == of) &&
           (into == nullptr || f.into == into);
  };
  auto deadline = Clock::now() + time_to_end_reading;
  bool is_cut = false;
  while (flights_.any(is_open)) {
    ucp_worker_progress(worker_->get());
    if (is_cut || Clock::now() < deadline) continue;
    // Cutting a connection ends all that is open on it.
    is_cut = true;
    for (const auto& line : lines_)
      if (flights_.any([&](const Flight& f) { return f.line == line.get() && is_open(f); })) {
        line->failed = has_failures_ = true;
        close(*line);
      }
  }
}

void UcxEndpoint::drain() noexcept {
  const auto drain_for = [this](std::chrono::milliseconds time) {
    const auto deadline = Clock::now() + time;
    while (lines_to_tidy_ != 0 && Clock::now() < deadline) {
      ucp_worker_progress(worker_->get());
      end_flights();
      tidy();
    }
  };
  drain_for(time_to_close);
  bool has_cut = false;
  for (const auto& line : lines_)
    if (line->state == Line::State::retiring) {
      close(*line);
      has_cut = true;
    }
  if (has_cut) drain_for(time_to_close);
  // UCX aborts when a worker ends while somebody still waits for one of its endpoints.
  for (const auto& line : lines_)
    if (line->state == Line::State::closing) let_go(*line);
}

}  // namespace weft::ucx
