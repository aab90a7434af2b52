// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/completion.hpp"

#include <poll.h>
#include <rdma/fi_endpoint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace weft::ofi {

namespace {

constexpr unsigned max_spurious_checks = 16;
constexpr std::chrono::milliseconds max_sleep_while_readable{100};

}  // namespace

void TransferPool::begin(const Registrar& registrar, std::size_t max_send_bytes, std::size_t max_read_bytes) {
  registrar_ = &registrar;
  const auto set = [](Class& of, std::size_t bytes, std::size_t per_slab, std::size_t max_slabs) {
    of.bytes = bytes;
    of.per_slab = per_slab;
    of.max_slabs = max_slabs;
    of.slabs.reserve(max_slabs);
  };
  const auto largest = std::max(max_send_bytes, max_read_bytes);
  set(classes_[0], std::min<std::size_t>(512, largest), 128, 32);
  set(classes_[1], std::min<std::size_t>(8192, largest), 16, 32);
  set(classes_[2], max_send_bytes, 4, 32);
  set(classes_[3], largest, 1, max_read_bytes > max_send_bytes ? 16 : 0);
}

Transfer* TransferPool::take(std::size_t bytes) noexcept {
  for (auto& of : classes_) {
    if (bytes > of.bytes || (of.free == nullptr && !grow(of))) continue;  // a larger buffer will do
    Transfer* transfer = of.free;
    of.free = transfer->next;
    transfer->next = nullptr;
    return transfer;
  }
  return nullptr;
}

void TransferPool::put(Transfer& transfer) noexcept {
  Class& of = classes_[transfer.size_class];
  transfer.operation = nullptr;
  transfer.connection = nullptr;
  transfer.mapped.reset();
  transfer.direct = transfer.is_posted = transfer.is_complete = false;
  transfer.next = of.free;
  of.free = &transfer;
}

bool TransferPool::grow(Class& of) noexcept {
  if (of.slabs.size() == of.max_slabs) return false;
  Slab slab;
  slab.bytes.reset(new (std::nothrow) std::byte[of.bytes * of.per_slab]);
  slab.transfers.reset(new (std::nothrow) Transfer[of.per_slab]);
  if (!slab.bytes || !slab.transfers) return false;
  void* descriptor = nullptr;
  if (registrar_->asks_for(FI_MR_LOCAL)) {
    auto registered = registrar_->add({slab.bytes.get(), of.bytes * of.per_slab}, FI_SEND | FI_READ);
    if (!registered) return false;
    slab.registered = std::move(*registered);
    descriptor = fi_mr_desc(slab.registered.get());
  }
  for (std::size_t i = 0; i < of.per_slab; ++i) {
    Transfer& transfer = slab.transfers[i];
    transfer.size_class = static_cast<std::uint8_t>(&of - classes_);
    transfer.bytes = slab.bytes.get() + i * of.bytes;
    transfer.descriptor = descriptor;
    put(transfer);
  }
  of.slabs.push_back(std::move(slab));
  return true;
}

Result<CompletionQueue> CompletionQueue::make(fid_fabric& fabric, fid_domain& domain, const fi_info& info) {
  CompletionQueue out;
  out.fabric_ = &fabric;
  fi_cq_attr attributes{};
  attributes.size = info.tx_attr->size + info.rx_attr->size;
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.wait_obj = FI_WAIT_FD;
  fid_cq* queue = nullptr;
  if (fi_cq_open(&domain, &attributes, &queue, nullptr) == 0) {
    out.queue_.reset(queue);
    if (const auto made = out.make_wait_fd(); !made) return fail(made.error());
    return out;
  }
  attributes.wait_obj = FI_WAIT_NONE;
  if (const int code = fi_cq_open(&domain, &attributes, &queue, nullptr); code != 0)
    return failed("fi_cq_open", code);
  out.queue_.reset(queue);
  return out;
}

Result<void> CompletionQueue::make_wait_fd() {
  // No descriptor: the owner polls
  if (fi_control(&queue_->fid, FI_GETWAIT, &library_) != 0 || library_ < 0) return {};
  alarm_ = Descriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  Descriptor both(::epoll_create1(EPOLL_CLOEXEC));
  if (alarm_.get() < 0 || both.get() < 0) return fail(Errc::os, "timerfd_create, epoll_create1", errno);
  epoll_event by_edge{}, by_level{};
  by_edge.events = EPOLLIN | EPOLLET;
  by_level.events = EPOLLIN;
  if (::epoll_ctl(both.get(), EPOLL_CTL_ADD, library_, &by_edge) != 0 ||
      ::epoll_ctl(both.get(), EPOLL_CTL_ADD, alarm_.get(), &by_level) != 0)
    return fail(Errc::os, "epoll_ctl", errno);
  wait_ = std::move(both);
  return {};
}

void CompletionQueue::after_sleep() noexcept {
  std::uint64_t times = 0;
  if (timer_.count() != 0 && ::read(alarm_.get(), &times, sizeof times) > 0)
    timer_ = {};
  else  // the library's descriptor woke the owner: several reads may be needed, some without an event of ours
    spurious_readable_ = 0;
}

void CompletionQueue::read(std::vector<Event>& to) noexcept {
  fi_cq_data_entry entries[64];
  const auto count = fi_cq_read(queue_.get(), entries, std::size(entries));
  if (count != -FI_EAGAIN) spurious_readable_ = 0;
  for (ssize_t i = 0; i < count; ++i)
    to.push_back({static_cast<Context*>(entries[i].op_context), entries[i].flags, entries[i].len,
                  static_cast<std::byte*>(entries[i].buf), 0, 0});
  if (count != -FI_EAVAIL) return;
  for (std::size_t i = 0; i < std::size(entries); ++i) {
    fi_cq_err_entry entry{};
    if (fi_cq_readerr(queue_.get(), &entry, 0) <= 0) return;
    // Observed with shm of 1.17: a negative error number.
    to.push_back({static_cast<Context*>(entry.op_context), entry.flags, entry.len,
                  static_cast<std::byte*>(entry.buf), entry.err != 0 ? std::abs(entry.err) : FI_EIO,
                  entry.prov_errno});
  }
}

Result<void> CompletionQueue::arm(std::chrono::milliseconds at_most) noexcept {
  if (!wait_fd()) return fail(Errc::not_supported, "this provider has no descriptor to sleep on");
  // Discards the edges so far. An edge from here on is new; what caused an earlier one is seen by
  // fi_trywait().
  epoll_event edges[2];
  static_cast<void>(::epoll_wait(wait_.get(), edges, 2, 0));
  fid* queue = &queue_->fid;
  const int code = fi_trywait(fabric_, &queue, 1);
  if (code == -FI_EAGAIN) return fail(Errc::again);
  if (code != 0) return failed("fi_trywait", code);
  pollfd still{library_, POLLIN, 0};
  if (::poll(&still, 1, 0) != 1) {
    spurious_readable_ = 0;
  } else {
    // Either something is left to do, or the descriptor is readable without reason. After a few checks the
    // latter is assumed, but the sleep is limited.
    if (++spurious_readable_ <= max_spurious_checks) return fail(Errc::again);
    at_most = at_most.count() == 0 ? max_sleep_while_readable : std::min(at_most, max_sleep_while_readable);
  }
  // A timer that runs already and fires no later is kept.
  if (at_most.count() == 0 || (timer_.count() != 0 && timer_ <= at_most)) return {};
  itimerspec once{};
  once.it_value.tv_sec = at_most.count() / 1000;
  once.it_value.tv_nsec = at_most.count() % 1000 * 1'000'000;
  if (::timerfd_settime(alarm_.get(), 0, &once, nullptr) != 0)
    return fail(Errc::os, "timerfd_settime", errno);
  timer_ = at_most;
  return {};
}

Error to_error(int error, int provider_error) noexcept {
  switch (error) {
    case FI_ECONNRESET:
    case FI_ECONNABORTED:
    case FI_ECONNREFUSED:
    case FI_ENOTCONN:
    case FI_ESHUTDOWN:
    case FI_EHOSTUNREACH:
    case FI_EHOSTDOWN:
    case FI_ENETUNREACH:
    case FI_ETIMEDOUT:
    case EPIPE:
    case FI_ECANCELED:  // this endpoint never cancels: the connection was flushed
      return {Errc::peer_lost, error, "the fabric has lost the peer"};
    case FI_EACCES:
    case FI_EINVAL:
    case FI_EPERM:
    case FI_ENOKEY:
    case FI_EKEYREJECTED:
    case FI_EMSGSIZE:
      return {Errc::invalid, error, "the peer rejected the operation"};
    case FI_EIO: {
      // Verbs reports more in the status of the work completion: 5 flushed, 12 and 13 no answer, 9 and 10 not
      // allowed.
      if (provider_error == 5 || provider_error == 12 || provider_error == 13)
        return {Errc::peer_lost, error, "the fabric has lost the peer"};
      if (provider_error == 9 || provider_error == 10)
        return {Errc::invalid, error, "the peer rejected the operation"};
      return {Errc::os, error, "the fabric failed"};
    }
    default:
      return {Errc::os, error, "the fabric failed"};
  }
}

}  // namespace weft::ofi
