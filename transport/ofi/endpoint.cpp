// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/endpoint.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace weft::ofi {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t max_message_bytes = std::size_t{64} << 10;
// Measured over TCP: pieces of 1 MiB, four at a time, beat smaller pieces, more of them, and a single read of
// everything.
constexpr std::size_t max_get_bytes = std::size_t{1} << 20;
// Reads in flight that pass through buffers
constexpr std::size_t max_bounce_bytes_per_connection = 4 * max_get_bytes;
// Shorter reads pass through a buffer: a copy costs less than the wait when a read is canceled
constexpr std::size_t direct_above = 8192;

// docs/decisions/0011-tcp.md
constexpr const char* risk_of_plain_networks =
    "libfabric listens at a TCP port, and whoever can connect there can end this process; what is read from "
    "another "
    "node is not encrypted";

constexpr auto probe_every = 500ms;
// Messages that the library rejected; it does not report when it would accept them
constexpr auto retry_every = 1ms;
constexpr auto check_every = 10ms;  // progress of the probes in flight
// A message in pieces is no event before its last piece, and a queue with much in it takes long to read.
constexpr auto quiet_at_least = 5ms, drain_at_most = 2000ms;
constexpr int quiet_reads = 20;  // times as long as the longest of all reads of the queue

}  // namespace

Result<std::unique_ptr<Endpoint>> OfiEndpoint::make(Provider provider) {
  std::unique_ptr<OfiEndpoint> endpoint(new OfiEndpoint(std::move(provider)));
  if (const auto opened = endpoint->open(); !opened) return fail(opened.error());
  return endpoint;
}

Result<void> OfiEndpoint::open() {
  fi_info& info = *provider_.info;
  // Requests only the ordering that the contract uses, not everything that the provider offers.
  info.tx_attr->msg_order &= FI_ORDER_SAS;
  info.rx_attr->msg_order &= FI_ORDER_SAS;
  info.tx_attr->comp_order = info.rx_attr->comp_order = 0;  // none
  info.tx_attr->op_flags = info.rx_attr->op_flags = 0;

  fid_fabric* fabric = nullptr;
  if (const int code = fi_fabric(info.fabric_attr, &fabric, nullptr); code != 0)
    return failed("fi_fabric", code);
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int code = fi_domain(fabric, &info, &domain, nullptr); code != 0)
    return failed("fi_domain", code);
  domain_.reset(domain);
  fi_av_attr attributes{};
  attributes.type = info.domain_attr->av_type;
  fid_av* addresses = nullptr;
  if (const int code = fi_av_open(domain, &attributes, &addresses, nullptr); code != 0)
    return failed("fi_av_open", code);
  addresses_.reset(addresses);
  auto queue = CompletionQueue::make(*fabric, *domain, info);
  if (!queue) return fail(queue.error());
  queue_ = std::move(*queue);
  fid_ep* endpoint = nullptr;
  if (const int code = fi_endpoint(domain, &info, &endpoint, nullptr); code != 0)
    return failed("fi_endpoint", code);
  endpoint_.reset(endpoint);
  if (const int code = fi_ep_bind(endpoint, &addresses->fid, 0); code != 0) return failed("fi_ep_bind", code);
  if (const int code = fi_ep_bind(endpoint, &queue_.get()->fid, FI_TRANSMIT | FI_RECV); code != 0)
    return failed("fi_ep_bind", code);
  if (const int code = fi_enable(endpoint); code != 0) return failed("fi_enable", code);

  if (const auto found = find_address(); !found) return found;
  set_capabilities();
  registrar_ = Registrar(*domain, *endpoint, info);
  max_posted_ = static_cast<std::uint32_t>(std::max<std::size_t>(1, info.tx_attr->size / 4));
  connections_.begin(*addresses);
  can_probe_ = Probes::fits(info);
  const auto sent = capabilities_.max_message + prefix_bytes;
  pool_.begin(registrar_, sent,
              provider_.rma ? std::min(direct_above, capabilities_.max_get) : capabilities_.max_get);
  return receive_buffers_.begin(*endpoint, registrar_, info, sent);
}

Result<void> OfiEndpoint::find_address() {
  char name[Address::max_bytes];
  std::size_t length = sizeof name;
  if (const int code = fi_getname(&endpoint_->fid, name, &length); code != 0)
    return failed("fi_getname", code);
  std::random_device source;
  incarnation_ = std::uint64_t{source()} << 32 | source();
  kind_ = kind_of(*provider_.info);
  address_ = pack({std::string(name, length), incarnation_}, kind_);
  if (address_.bytes.size() > Address::max_bytes)
    return fail(Errc::os, "the provider's addresses are too long");
  return {};
}

std::string OfiEndpoint::device() const {
  return std::string(provider_.info->fabric_attr->prov_name) + " on " +
         transport::to_text(network_of(*provider_.info, transport::interfaces()));
}

void OfiEndpoint::set_capabilities() {
  const fi_info& info = *provider_.info;
  const std::size_t max_bytes = info.ep_attr->max_msg_size;
  capabilities_.max_message = std::min(max_message_bytes, max_bytes - prefix_bytes);
  capabilities_.max_inline = capabilities_.max_message;
  capabilities_.max_header = capabilities_.max_message;
  capabilities_.max_get = std::min(max_get_bytes, max_bytes);
  capabilities_.rma = provider_.rma;
  capabilities_.ordered = (info.tx_attr->msg_order & info.rx_attr->msg_order & FI_ORDER_SAS) != 0;
  capabilities_.wait_fd = queue_.wait_fd().has_value();
  capabilities_.backs_memory = (info.domain_attr->mr_mode & FI_MR_ALLOCATED) != 0;
  capabilities_.detects_loss = provider_.detects_loss;
  const std::string_view provider(info.fabric_attr->prov_name);
  for (const std::string_view plain : {"tcp", "net", "sockets", "udp"})
    if (provider.find(plain) != provider.npos) capabilities_.risk = risk_of_plain_networks;
}

OfiEndpoint::~OfiEndpoint() {
  end_if([](const transport::Operation&) { return true; }, {Errc::canceled});
  drain();
  // Closing the endpoint discards what is in flight; from here on the library touches no transfer and no
  // buffer.
  endpoint_.reset();
}

void OfiEndpoint::drain() noexcept {
  // Without an address it has not been opened, and libfabric does not look at its queue.
  if (address_.bytes.empty() ||
      std::string_view(provider_.info->fabric_attr->prov_name).find("verbs") == std::string_view::npos)
    return;
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  Clock::duration quiet_for = quiet_at_least;
  for (auto now = begin, last = begin; now - last < quiet_for && now - begin < drain_at_most;) {
    events_.clear();
    read_queue();
    const auto before = std::exchange(now, Clock::now());
    quiet_for = std::max(quiet_for, quiet_reads * (now - before));
    if (!events_.empty()) last = now;
  }
}

Result<std::unique_ptr<Peer>> OfiEndpoint::reach(const Address& address) {
  const auto unpacked = unpack(address, kind_);
  if (!unpacked) return fail(unpacked.error());
  const auto connection = connections_.add_peer(*unpacked);
  if (!connection) return fail(connection.error());
  return std::make_unique<OfiPeer>(*this, **connection, unpacked->incarnation);
}

Result<std::unique_ptr<MemoryRegion>> OfiEndpoint::expose(std::span<std::byte> memory) {
  return OfiRegion::make(*this, registrar_, memory);
}

Result<std::unique_ptr<RemoteKey>> OfiEndpoint::import_key(Peer& peer, Bytes packed) {
  return OfiKey::make(registrar_, static_cast<OfiPeer&>(peer), packed);
}

void OfiEndpoint::on_message(Handler handler, void* self) noexcept {
  handler_ = handler;
  handler_self_ = self;
}

Result<void> OfiEndpoint::send(Peer& to, std::uint16_t id, const Message& message, Completion& completion) {
  const std::size_t bytes = message.header.size() + message.payload.size();
  if (bytes > capabilities_.max_message || message.header.size() > capabilities_.max_header)
    return fail(Errc::invalid, "the message is larger than max_message");
  const auto& peer = static_cast<const OfiPeer&>(to);
  if (peer.is_lost()) return fail(Errc::peer_lost);
  Transfer* transfer = pool_.take(prefix_bytes + bytes);
  if (transfer == nullptr) return fail(Errc::again);
  const MessagePrefix prefix{
      .id = id, .header_bytes = static_cast<std::uint32_t>(message.header.size()), .to = peer.incarnation()};
  std::byte* at = base::write_fixed(transfer->bytes, prefix);
  if (!message.header.empty()) std::memcpy(at, message.header.data(), message.header.size());
  at += message.header.size();
  if (!message.payload.empty()) std::memcpy(at, message.payload.data(), message.payload.size());
  transfer->kind = Context::Kind::send;
  transfer->length = static_cast<std::uint32_t>(prefix_bytes + bytes);
  if (const auto submitted = submit(*transfer, peer.connection()); !submitted) return submitted;
  begin_operation(*transfer, peer, nullptr, completion);
  return {};
}

Result<void> OfiEndpoint::get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) {
  const auto& key = static_cast<const OfiKey&>(from.key);
  const auto& region = static_cast<const OfiRegion&>(into.region);
  const auto room = region.memory().size();
  if (into.length > capabilities_.max_get || into.offset > room || into.length > room - into.offset)
    return fail(Errc::invalid, "a get that is too long or leaves the local region");
  if (!key.holds(from.offset, into.length)) return fail(Errc::invalid, "outside of the exposed region");
  if (key.peer().is_lost()) return fail(Errc::peer_lost);
  std::byte* const to = region.memory().data() + into.offset;
  const bool direct = provider_.rma && into.length > direct_above;
  Connection& connection = key.peer().connection();
  // A peer that does not answer must not take all buffers for reads.
  if (!direct && connection.reading + into.length > max_bounce_bytes_per_connection) return fail(Errc::again);
  Transfer* transfer = pool_.take(direct ? 0 : into.length);
  if (transfer == nullptr) return fail(Errc::again);
  transfer->kind = Context::Kind::read;
  transfer->direct = direct;
  transfer->length = static_cast<std::uint32_t>(into.length);
  transfer->into = to;
  transfer->into_descriptor = region.descriptor();
  transfer->remote_address = key.address(from.offset);
  transfer->remote_key = key.key();
  transfer->mapped = key.mapped();
  if (can_probe_ && open_reads_ == 0) last_probe_ = std::chrono::steady_clock::now();
  if (const auto submitted = submit(*transfer, connection); !submitted) return submitted;
  begin_operation(*transfer, key.peer(), &region, completion);
  ++open_reads_;
  return {};
}

Result<void> OfiEndpoint::submit(Transfer& transfer, Connection& connection) {
  transfer.connection = &connection;
  ++connection.transfers;
  connection.reading += transfer.bounce_bytes();
  transfer.next = nullptr;
  if (transfer.kind == Context::Kind::read && transfer.length == 0) {
    events_.push_back({.context = &transfer});
  } else if (connection.first != nullptr) {
    connection.last = connection.last->next = &transfer;
  } else if (const auto code = post(transfer); code == -FI_EAGAIN) {
    // For example while the library connects; the caller need not know.
    connection.first = connection.last = &transfer;
    if (backlogged_.empty()) last_probe_ = std::chrono::steady_clock::now();
    backlogged_.push_back(&connection);
  } else if (code != 0) {
    const auto error = to_error(static_cast<int>(-code), 0);
    if (error.code == Errc::peer_lost) lose(connection);
    release(transfer);
    return fail(error);
  }
  return {};
}

void OfiEndpoint::begin_operation(Transfer& transfer, const OfiPeer& peer, const MemoryRegion* region,
                                  Completion& completion) noexcept {
  OfiOperation& operation = operations_.open<OfiOperation>(completion, peer, region);
  operation.transfer = &transfer;
  transfer.operation = &operation;
}

ssize_t OfiEndpoint::post(Transfer& transfer) noexcept {
  // A peer that does not answer must not fill the queue that all share.
  if (transfer.connection->posted >= max_posted_) return -FI_EAGAIN;
  Context* context = &transfer;
  ssize_t code;
  if (transfer.kind == Context::Kind::send)
    code = fi_send(endpoint_.get(), transfer.bytes, transfer.length, transfer.descriptor,
                   transfer.connection->to, context);
  else
    code = fi_read(endpoint_.get(), transfer.direct ? transfer.into : transfer.bytes, transfer.length,
                   transfer.direct ? transfer.into_descriptor : transfer.descriptor, transfer.connection->to,
                   transfer.remote_address, transfer.remote_key, context);
  transfer.is_posted = code == 0;
  if (transfer.is_posted) ++transfer.connection->posted;
  return code;
}

void OfiEndpoint::post_backlogs() noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < backlogged_.size(); ++i) {
    Connection& connection = *backlogged_[i];
    while (connection.first != nullptr) {
      Transfer& transfer = *connection.first;
      const auto code = connection.lost || transfer.operation == nullptr ? -FI_ECANCELED : post(transfer);
      if (code == -FI_EAGAIN) break;
      connection.first = transfer.next;
      transfer.next = nullptr;
      if (code != 0) events_.push_back({.context = &transfer, .error = static_cast<int>(-code)});
    }
    if (connection.first != nullptr) backlogged_[kept++] = &connection;
  }
  backlogged_.resize(kept);
}

void OfiEndpoint::read_queue() noexcept {
  auto at = events_.size();
  for (queue_.read(events_); at < events_.size(); ++at)
    if (Context* context = events_[at].context; context != nullptr && context->kind == Context::Kind::read)
      static_cast<Transfer*>(context)->is_complete = true;
}

std::size_t OfiEndpoint::progress() noexcept {
  if (std::exchange(armed_, false)) queue_.after_sleep();
  read_queue();
  // Events that a handler or a done() adds wait for the next call. An operation that one of them cancels
  // leaves its event in the list.
  const std::size_t count = events_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Event event = events_[i];
    handle(event);
  }
  events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(count));
  if (!receive_buffers_.all_posted()) static_cast<void>(receive_buffers_.post());
  if (!backlogged_.empty()) post_backlogs();
  if (may_wait_for_dead_peer()) probe_silent();
  if (!probes_.is_idle()) end_probes();
  if (!has_losses_) return count;
  end_lost();
  return count + 1;
}

Result<void> OfiEndpoint::arm() noexcept {
  if (!events_.empty() || has_losses_) return fail(Errc::again);
  auto at_most = 0ms;
  if (!backlogged_.empty() || !receive_buffers_.all_posted())
    at_most = retry_every;
  else if (!probes_.is_idle())
    at_most = check_every;
  else if (may_wait_for_dead_peer())
    at_most = probe_every;
  const auto armed = queue_.arm(at_most);
  armed_ = armed.has_value();
  return armed;
}

void OfiEndpoint::handle(const Event& event) noexcept {
  if (event.context == nullptr) return;
  if (event.context->kind == Context::Kind::receive) {
    if (event.error == 0) handle_message(event);
    return receive_buffers_.done_with(event);
  }
  auto& transfer = *static_cast<Transfer*>(event.context);
  OfiOperation* operation = transfer.operation;
  Result<void> outcome;
  if (event.error != 0) {
    const auto error = to_error(event.error, event.provider_error);
    if (error.code == Errc::peer_lost && operation != nullptr) lose(*transfer.connection);
    outcome = fail(error);
  } else if (operation != nullptr && transfer.bounce_bytes() != 0) {
    std::memcpy(transfer.into, transfer.bytes, transfer.length);
  }
  if (operation != nullptr) detach(*operation);
  release(transfer);
  if (operation != nullptr) operations_.end(*operation, outcome);
}

void OfiEndpoint::handle_message(const Event& event) noexcept {
  base::Reader in(receive_buffers_.message_of(event));
  MessagePrefix prefix;
  in(prefix);
  const Bytes header = in.raw(prefix.header_bytes), payload = in.rest();
  if (!in.ok() || prefix.magic != MessagePrefix::ours || prefix.to != incarnation_) return;
  if (handler_ != nullptr) handler_(handler_self_, prefix.id, {header, payload});
}

void OfiEndpoint::release(Transfer& transfer) noexcept {
  Connection& connection = *transfer.connection;
  connection.reading -= transfer.bounce_bytes();
  if (transfer.is_posted) --connection.posted;
  pool_.put(transfer);
  --connection.transfers;
  connections_.remove_if_unused(connection);
}

/// The transfer that completes later has no operation then.
void OfiEndpoint::detach(const OfiOperation& operation) noexcept {
  Transfer& transfer = *operation.transfer;
  while (transfer.direct && transfer.is_posted && !transfer.is_complete) read_queue();
  transfer.operation = nullptr;
  if (transfer.kind == Context::Kind::read) --open_reads_;
}

/// Probes the peers that this endpoint waits for: those that owe a read, and those that the library does not
/// send to.
void OfiEndpoint::probe_silent() noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_probe_ < probe_every) return;
  last_probe_ = now;
  operations_.each([this](const transport::Operation& operation) {
    if (operation.region != nullptr) probes_.start(static_cast<const OfiPeer*>(operation.peer)->connection());
  });
  for (Connection* connection : backlogged_) probes_.start(*connection);
}

void OfiEndpoint::end_probes() noexcept {
  for (auto verdict = probes_.check(); verdict.connection != nullptr; verdict = probes_.check()) {
    if (verdict.error != 0) lose(*verdict.connection);
    --verdict.connection->transfers;
    connections_.remove_if_unused(*verdict.connection);
  }
}

void OfiEndpoint::lose(Connection& connection) noexcept {
  connection.lost = true;
  has_losses_ = true;
}

void OfiEndpoint::end_lost() noexcept {
  has_losses_ = false;
  end_if([](const transport::Operation& o) { return static_cast<const OfiPeer*>(o.peer)->is_lost(); },
         {Errc::peer_lost});
}

template <class Which>
void OfiEndpoint::end_if(Which&& which, const Error& why) noexcept {
  operations_.end_if(
      which, why, [this](transport::Operation& operation) { detach(static_cast<OfiOperation&>(operation)); });
}

void OfiEndpoint::cancel_operations(OfiPeer& peer) noexcept {
  end_if([&](const transport::Operation& o) { return o.peer == &peer; }, {Errc::canceled});
  --peer.connection().peers;
  // The peer's transfers leave the backlog with the next progress(), and the connection with them.
  connections_.remove_if_unused(peer.connection());
}

void OfiEndpoint::cancel_operations(const OfiRegion& region) noexcept {
  end_if([&](const transport::Operation& o) { return o.region == &region; }, {Errc::canceled});
}

}  // namespace weft::ofi
