// SPDX-License-Identifier: BSD-3-Clause
// Reads where no network card does them: a request, and the target's progress() answers it.
//
// fi_read would do the same inside the library, but libfabric 1.17 breaks the whole connection of two endpoints
// off when a key is not valid any more (net, tcp), with every message on it, or reads without asking for the key
// (shm); and a region that dies while the library is writing a reply from it has its memory read after that.
#include <cstring>

#include "transport/ofi/endpoint.hpp"

namespace weft::ofi {
namespace {

constexpr std::size_t most_waiting = 65536;  // requests that wait for a carrier; more than that is an attack
constexpr std::chrono::milliseconds probe_every{500}, probe_soon_after{10};

template <class T>
bool take(Bytes& from, T& into) noexcept {
  if (from.size() < sizeof into) return false;
  std::memcpy(&into, from.data(), sizeof into);
  from = from.subspan(sizeof into);
  return true;
}

}  // namespace

Result<void> OfiEndpoint::ask(const OfiKey& key, std::uint64_t offset, const OfiRegion& region,
                              std::byte* into, std::size_t length, Completion& completion) {
  if (tickets_.is_full()) return fail(Errc::again);
  Carrier* carrier = pool_.take(sizeof(Head) + sizeof(ReadRequest) + address_.bytes.size());
  if (carrier == nullptr) return fail(Errc::again);
  const auto ticket = tickets_.next();
  if (tickets_.in_use() == 0) last_probe_ = std::chrono::steady_clock::now();
  const Head head{.wire = Wire::read, .to = key.peer().owner()};
  const ReadRequest request{.key = key.key(),
                            .offset = key.address(offset),
                            .length = static_cast<std::uint32_t>(length),
                            .ticket = ticket,
                            .generation = tickets_.generation(ticket),
                            .address_bytes = static_cast<std::uint32_t>(address_.bytes.size())};
  std::memcpy(carrier->bytes, &head, sizeof head);
  std::memcpy(carrier->bytes + sizeof head, &request, sizeof request);
  std::memcpy(carrier->bytes + sizeof head + sizeof request, address_.bytes.data(), address_.bytes.size());
  carrier->kind = Context::Kind::request;
  carrier->length = static_cast<std::uint32_t>(sizeof head + sizeof request + address_.bytes.size());
  if (const auto launched = launch(*carrier, key.peer().route()); !launched) return launched;
  Open& open = open_on(*carrier, key.peer(), &region, completion);
  open.into = into;
  open.length = static_cast<std::uint32_t>(length);
  open.ticket = ticket;
  tickets_.take(ticket, open);
  return {};
}

void OfiEndpoint::serve(Bytes request, bool is_for_us) noexcept {
  if (!try_to_serve(request, is_for_us) && is_for_us && waiting_reads_.size() < most_waiting)
    waiting_reads_.emplace_back(request.begin(), request.end());
}

void OfiEndpoint::serve_waiting() noexcept {
  while (!waiting_reads_.empty() && try_to_serve(waiting_reads_.front(), true)) waiting_reads_.pop_front();
}

/// False: there is no carrier for the reply now.
bool OfiEndpoint::try_to_serve(Bytes rest, bool is_for_us) noexcept {
  ReadRequest request;
  if (!take(rest, request) || request.address_bytes != rest.size() || request.length > capabilities_.max_get)
    return true;
  const auto found = is_for_us ? exposed_.find(request.key) : exposed_.end();
  const OfiRegion* region = found == exposed_.end() ? nullptr : found->second;
  const std::size_t room = region == nullptr ? 0 : region->memory().size();
  ReadReply reply{.ticket = request.ticket, .generation = request.generation};
  if (region == nullptr || request.offset > room || request.length > room - request.offset)
    reply.outcome = is_for_us ? ReadReply::outside : ReadReply::somebody_else;
  const std::size_t length = reply.outcome != ReadReply::right ? 0 : request.length;
  Carrier* carrier = pool_.take(largest_overhead + length);
  if (carrier == nullptr) return false;

  Route* route = nullptr;
  std::uint64_t reader = 0;
  if (const auto address = unpack({{rest.begin(), rest.end()}}, kind_)) {
    reader = address->owner;
    if (const auto entered = routes_.enter(*address)) route = *entered;
  }
  if (route == nullptr) {
    pool_.put(*carrier);
    return true;
  }
  // The first reply enters the reader among the addresses; it stays there, or each reply would have to connect.
  if (route->served) --route->peers;
  route->served = true;
  const Head head{.wire = Wire::reply, .to = reader};
  std::memcpy(carrier->bytes, &head, sizeof head);
  std::memcpy(carrier->bytes + sizeof head, &reply, sizeof reply);
  if (length != 0)
    std::memcpy(carrier->bytes + largest_overhead, region->memory().data() + request.offset, length);
  carrier->kind = Context::Kind::service;
  carrier->length = static_cast<std::uint32_t>(largest_overhead + length);
  static_cast<void>(launch(*carrier, *route));  // a reader that is lost does not wait
  return true;
}

void OfiEndpoint::handle_reply(Bytes rest) noexcept {
  ReadReply reply;
  if (!take(rest, reply)) return;
  Open* open = tickets_.find(reply.ticket, reply.generation);
  if (open == nullptr) return;  // canceled meanwhile
  if (reply.outcome == ReadReply::somebody_else)
    return lose(static_cast<const OfiPeer*>(open->peer)->route());
  const bool right = reply.outcome == ReadReply::right && rest.size() == open->length;
  if (right) std::memcpy(open->into, rest.data(), rest.size());
  detach(*open);
  operations_.end(
      *open, right ? Result<void>{} : fail(Errc::invalid, "outside of the exposed region, or it is gone"));
}

/// Where an answer is overdue: a read that has left, or what the library refuses to take. Looks once in a while, and
/// soon after we were woken up for nothing, as by a connection that was closed.
void OfiEndpoint::probe_silent(bool idle) noexcept {
  if (idle && std::exchange(armed_, false)) probe_soon_ = true;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_probe_ < (probe_soon_ ? probe_soon_after : probe_every)) return;
  last_probe_ = now;
  probe_soon_ = false;
  for (const auto& ticket : tickets_.all())
    if (ticket.open != nullptr) probes_.start(static_cast<const OfiPeer*>(ticket.open->peer)->route());
  for (Route* route : with_backlog_) probes_.start(*route);
}

void OfiEndpoint::end_probes() noexcept {
  for (auto verdict = probes_.check(); verdict.route != nullptr; verdict = probes_.check()) {
    if (verdict.error != 0) lose(*verdict.route);
    --verdict.route->carriers;
    routes_.release_if_unused(*verdict.route);
  }
}

}  // namespace weft::ofi
