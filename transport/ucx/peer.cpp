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

// Over TCP, UCP waits for the peer to confirm everything before it closes a connection. A closing endpoint
// waits this long for a peer that does not progress; by then the bytes are in the peer's socket.
constexpr auto time_to_close = 100ms;
// how long a direct get may take before its connection is closed by force
constexpr auto time_to_end_reading = 1000ms;

/// A connection was refused at once, or the segment of a peer on this node went with its process. Not
/// UCS_ERR_IO_ERROR, which a process without descriptors gets, too.
bool has_no_listener(ucs_status_t status) noexcept {
  return status == UCS_ERR_UNREACHABLE || status == UCS_ERR_REJECTED || status == UCS_ERR_CONNECTION_RESET ||
         status == UCS_ERR_NOT_CONNECTED || status == UCS_ERR_TIMED_OUT || status == UCS_ERR_SHMEM_SEGMENT;
}

}  // namespace

UcxPeer::~UcxPeer() {
  connection_.owner->await_direct_gets(&connection_, nullptr);
  connection_.owner->cancel_if([this](const transport::Operation& o) { return o.peer == this; });
  connection_.peer = nullptr;
  connection_.owner->retire(connection_);
}

// UcxEndpoint: connections.

Result<std::unique_ptr<Peer>> UcxEndpoint::reach(const Address& address) {
  const auto packed = unpack_address(address.bytes);
  if (!packed) return fail(Errc::corrupt, "not the address of a UCX endpoint");
  Connection& connection = *connections_.emplace_back(std::make_unique<Connection>());
  connection.owner = this;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(packed->data());
  // UCX's shared-memory transports refuse connections that are to report the death of the peer.
  params.err_mode = worker_->traits().network ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
  params.err_handler.cb = on_failure;
  params.err_handler.arg = &connection;
  const auto made = ucp_ep_create(worker_->get(), &params, &connection.ep);
  if (made != UCS_OK) {
    connections_.pop_back();
    return has_no_listener(made) ? fail(Errc::peer_lost, "UCX finds no endpoint at this address")
                                 : fail(Errc::os, "UCX cannot reach this address", EHOSTUNREACH);
  }
  return std::make_unique<UcxPeer>(connection);
}

void UcxEndpoint::on_failure(void* of, ucp_ep_h, ucs_status_t) noexcept {
  auto& connection = *static_cast<Connection*>(of);
  connection.failed = true;
  connection.owner->has_failures_ = true;
}

void UcxEndpoint::end_lost() noexcept {
  has_failures_ = false;
  const auto is_unreported = [](const auto& connection) {
    return connection->failed && !connection->is_loss_reported;
  };
  // Restarts the search each time, because done() may add and destroy peers.
  for (auto at = connections_.begin();
       (at = std::find_if(connections_.begin(), connections_.end(), is_unreported)) != connections_.end();) {
    (*at)->is_loss_reported = true;
    if (const UcxPeer* peer = (*at)->peer)
      end_if([peer](const transport::Operation& o) { return o.peer == peer; }, Errc::peer_lost);
  }
}

void UcxEndpoint::retire(Connection& connection) noexcept {
  if (connection.state == Connection::State::used) connection.state = Connection::State::retiring;
  ++unused_connections_;
  if (!may_close(connection) && connection.transfers == 0) await_set_up(connection);
  reap_connections();
}

void UcxEndpoint::await_set_up(Connection& connection) noexcept {
  Transfer* transfer = transfers_.make(this, Transfer::Kind::message, &connection, 0);
  if (transfer == nullptr) return;
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.send = on_transfer_complete;
  params.user_data = transfer;
  static_cast<void>(check_started(*transfer, ucp_ep_flush_nbx(connection.ep, &params)));
}

/// Without force, UCP first sends what it has accepted, as done() has promised; that needs a peer that
/// progresses.
void UcxEndpoint::close(Connection& connection) noexcept {
  const bool force =
      worker_->traits().network && (connection.failed || !connection.has_sent || connection.transfers != 0);
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  params.flags = force ? static_cast<unsigned>(UCP_EP_CLOSE_FLAG_FORCE) : 0u;
  const auto request = ucp_ep_close_nbx(connection.ep, &params);
  connection.closing = UCS_PTR_IS_PTR(request) ? request : nullptr;
  connection.state = connection.closing == nullptr ? Connection::State::closed : Connection::State::closing;
}

void UcxEndpoint::reap_connections() noexcept {
  for (const auto& connection : connections_) {
    if (connection->state == Connection::State::retiring && may_close(*connection) &&
        (connection->transfers == 0 || connection->failed))
      close(*connection);
    if (connection->state == Connection::State::closing &&
        ucp_request_check_status(connection->closing) != UCS_INPROGRESS)
      finish_close(*connection);
  }
  unused_connections_ -= static_cast<std::uint32_t>(std::erase_if(connections_, [](const auto& connection) {
    return connection->state == Connection::State::closed && connection->peer == nullptr &&
           connection->transfers == 0;
  }));
}

void UcxEndpoint::finish_close(Connection& connection) noexcept {
  ucp_request_free(connection.closing);
  connection.closing = nullptr;
  connection.state = Connection::State::closed;
}

void UcxEndpoint::await_direct_gets(const Connection* of, const MemoryRegion* into) noexcept {
  if (!worker_->direct_gets()) return;
  const auto is_open = [&](const Transfer& f) {
    return f.into != nullptr && !f.is_complete && (of == nullptr || f.connection == of) &&
           (into == nullptr || f.into == into);
  };
  auto deadline = Clock::now() + time_to_end_reading;
  bool is_cut = false;
  while (transfers_.any(is_open)) {
    ucp_worker_progress(worker_->get());
    if (is_cut || Clock::now() < deadline) continue;
    // Closing a connection by force completes everything that is in flight on it.
    is_cut = true;
    for (const auto& connection : connections_)
      if (transfers_.any([&](const Transfer& f) { return f.connection == connection.get() && is_open(f); })) {
        connection->failed = has_failures_ = true;
        close(*connection);
      }
  }
}

bool UcxEndpoint::drain() noexcept {
  const auto drain_for = [this](std::chrono::milliseconds time) {
    const auto deadline = Clock::now() + time;
    while (unused_connections_ != 0 && Clock::now() < deadline) {
      ucp_worker_progress(worker_->get());
      end_transfers();
      reap_connections();
    }
  };
  drain_for(time_to_close);
  bool has_cut = false, can_close = true;
  for (const auto& connection : connections_)
    if (connection->state == Connection::State::retiring) {
      if (!may_close(*connection)) {
        can_close = false;
        continue;
      }
      close(*connection);
      has_cut = true;
    }
  if (has_cut) drain_for(time_to_close);
  // UCX aborts when a worker is destroyed while a request to close one of its endpoints is held.
  for (const auto& connection : connections_)
    if (connection->state == Connection::State::closing) finish_close(*connection);
  return can_close;
}

}  // namespace weft::ucx
