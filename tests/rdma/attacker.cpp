// SPDX-License-Identifier: BSD-3-Clause
// A stranger on an RDMA fabric, without the key of any job: verbs and rdma_cm, and ofi_rxm's hello as it was
// recorded.
//
//   attacker record ADDRESS                           prints the private data of ofi_rxm's hello and where
//                                                     its port stands
//   attacker connect ADDRESS PORT DATA THEN COUNT     so many connections. DATA: none, garbage, HEX:OFFSET of
//                                                     a recorded hello, whose port differs each time,
//                                                     HEX:OFFSET:PORT in the name of that port. THEN: close
//                                                     (once established or refused), half (the connection
//                                                     request only), silent (stays connected), speak (sends
//                                                     garbage)
//   attacker memory ADDRESS PORT HEX:OFFSET WHAT BASE KEY BYTES    one operation on a connected queue pair:
//                                                                  read, write, add, swap
//   attacker open ADDRESS                             the contrary: accepts any connection, and exposes 64
//                                                     bytes to all operations. Prints "port N", "base N" and
//                                                     "key N", and for each line of its standard input
//                                                     "bytes HEX"
//   attacker datagrams QKEY SEED COUNT QPN...         garbage to queue pairs of unreliable datagrams
//
// Each prints a line of what came of it. `connect` then waits for the end of its standard input, and holds
// what it has opened.
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <algorithm>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/rdma/hex.hpp"
#include "transport/ofi/transport.hpp"

namespace weft::rdma {
namespace {

constexpr std::chrono::seconds longest{120};  // for a step; an emulated machine on a busy one
constexpr std::size_t most_private_data = 56;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "attacker: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}
void check(bool is_well, const char* what) {
  if (!is_well) give_up(what);
}

sockaddr_in address_of(const char* host, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  check(::inet_pton(AF_INET, host, &out.sin_addr) == 1, "an IPv4 address");
  return out;
}

/// What a connection begins with.
class Hello {
 public:
  /// none, garbage, HEX:OFFSET, or HEX:OFFSET:PORT.
  explicit Hello(std::string_view words) : is_garbage_(words == "garbage") {
    if (words == "none" || is_garbage_) return;
    const auto colon = words.find(':');
    recorded_ = from_hex(words.substr(0, colon));
    port_at_ = std::stoul(std::string(words.substr(colon + 1)));
    if (const auto last = words.rfind(':'); last != colon)
      port_ = std::stoul(std::string(words.substr(last + 1)));
  }
  std::vector<std::byte> next() {
    auto out = recorded_;
    if (is_garbage_) {
      out.resize(1 + random_() % most_private_data);
      for (auto& one : out) one = static_cast<std::byte>(random_());
    } else if (!out.empty()) {
      // Another port is another peer, to ofi_rxm.
      const auto port = static_cast<std::uint16_t>(port_ != 0 ? port_ : 20000 + ++count_ % 40000);
      std::memcpy(&out[port_at_], &port, sizeof port);
    }
    return out;
  }

 private:
  bool is_garbage_;
  std::vector<std::byte> recorded_;
  std::size_t port_at_ = 0, port_ = 0, count_ = 0;
  std::mt19937 random_{1};
};

enum class Outcome { asked, established, refused, failed };

/// Connections over one channel of rdma_cm.
class Connections {
 public:
  Connections() : channel_(rdma_create_event_channel()) {
    check(channel_ != nullptr, "rdma_create_event_channel");
  }

  /// Sends a connection request, and waits for its outcome where has_queue says that the connection is to be
  /// established.
  Outcome open(const sockaddr_in& to, const std::vector<std::byte>& data, bool has_queue, rdma_cm_id** out) {
    rdma_cm_id* id = nullptr;
    check(rdma_create_id(channel_, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
    *out = id;
    sockaddr_in target = to;
    check(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&target), 60'000) == 0,
          "rdma_resolve_addr");
    if (wait(id) != RDMA_CM_EVENT_ADDR_RESOLVED) return Outcome::failed;
    check(rdma_resolve_route(id, 60'000) == 0, "rdma_resolve_route");
    if (wait(id) != RDMA_CM_EVENT_ROUTE_RESOLVED) return Outcome::failed;
    if (has_queue) {
      ibv_qp_init_attr queue{};
      queue.qp_type = IBV_QPT_RC;
      queue.cap = {
          .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
      check(rdma_create_qp(id, nullptr, &queue) == 0, "rdma_create_qp");
    }
    rdma_conn_param asked{};
    asked.private_data = data.data();
    asked.private_data_len = static_cast<std::uint8_t>(data.size());
    asked.responder_resources = asked.initiator_depth = 4;
    asked.retry_count = asked.rnr_retry_count = 7;
    asked.qp_num = 17;  // where there is no queue pair
    check(rdma_connect(id, &asked) == 0, "rdma_connect");
    if (!has_queue) return Outcome::asked;
    switch (wait(id)) {
      case RDMA_CM_EVENT_ESTABLISHED:
        return Outcome::established;
      case RDMA_CM_EVENT_REJECTED:
        return Outcome::refused;
      default:
        return Outcome::failed;
    }
  }

  static void close(rdma_cm_id* id) {
    if (id->qp != nullptr) {
      rdma_disconnect(id);
      rdma_destroy_qp(id);
    }
    rdma_destroy_id(id);
  }

 private:
  /// The next event of this one; those of others are passed over.
  rdma_cm_event_type wait(const rdma_cm_id* id) {
    for (;;) {
      pollfd ready{channel_->fd, POLLIN, 0};
      const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(longest).count();
      if (::poll(&ready, 1, static_cast<int>(milliseconds)) <= 0) return RDMA_CM_EVENT_UNREACHABLE;
      rdma_cm_event* event = nullptr;
      check(rdma_get_cm_event(channel_, &event) == 0, "rdma_get_cm_event");
      const auto type = event->event;
      const bool is_ours = event->id == id;
      rdma_ack_cm_event(event);
      if (is_ours) return type;
    }
  }

  rdma_event_channel* channel_;
};

/// Memory of this process that a queue pair may read and write.
struct Buffer {
  Buffer(ibv_pd* domain, std::size_t size) : bytes(size) {
    region = ibv_reg_mr(domain, bytes.data(), bytes.size(), IBV_ACCESS_LOCAL_WRITE);
    check(region != nullptr, "ibv_reg_mr");
  }
  ~Buffer() { ibv_dereg_mr(region); }
  ibv_sge of(std::size_t length) const {
    return {.addr = reinterpret_cast<std::uintptr_t>(bytes.data()),
            .length = static_cast<std::uint32_t>(length),
            .lkey = region->lkey};
  }
  std::vector<std::byte> bytes;
  ibv_mr* region;
};

/// Posts one request and waits for its end.
ibv_wc_status carry_out(ibv_qp* queue, ibv_cq* completions, ibv_send_wr& request) {
  request.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  check(ibv_post_send(queue, &request, &bad) == 0, "ibv_post_send");
  const auto end = std::chrono::steady_clock::now() + longest;
  ibv_wc done{};
  while (ibv_poll_cq(completions, 1, &done) == 0)
    if (std::chrono::steady_clock::now() > end) return IBV_WC_RESP_TIMEOUT_ERR;
  return done.status;
}

int record(char** words) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_id* listener = nullptr;
  check(channel != nullptr && rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP) == 0,
        "rdma_create_id");
  auto here = address_of(words[0], 0);
  check(rdma_bind_addr(listener, reinterpret_cast<sockaddr*>(&here)) == 0, "rdma_bind_addr");
  check(rdma_listen(listener, 4) == 0, "rdma_listen");

  ofi::OfiTransport transport;
  auto endpoint = transport.open({.options = "verbs;ofi_rxm"});
  check(endpoint.has_value(), "open ofi");
  // An address ends with libfabric's: that of an IPv4 socket.
  auto address = (*endpoint)->address();
  sockaddr_in own;
  auto* const name = &address.bytes[address.bytes.size() - sizeof own];
  std::memcpy(&own, name, sizeof own);
  here.sin_port = rdma_get_src_port(listener);
  std::memcpy(name, &here, sizeof here);
  const auto peer = (*endpoint)->reach(address);
  check(peer.has_value(), "reach");
  Completion completion;
  completion.done = [](Completion&, Result<void>) noexcept {};
  check((*endpoint)->send(**peer, 1, {}, completion).has_value(), "send");
  const auto end = std::chrono::steady_clock::now() + longest;
  for (pollfd ready{channel->fd, POLLIN, 0}; ::poll(&ready, 1, 1) == 0;) {
    (*endpoint)->progress();
    check(std::chrono::steady_clock::now() < end, "no hello came");
  }
  rdma_cm_event* event = nullptr;
  check(rdma_get_cm_event(channel, &event) == 0, "rdma_get_cm_event");
  check(event->event == RDMA_CM_EVENT_CONNECT_REQUEST, "another event");
  const auto& said = event->param.conn;
  const auto* first = static_cast<const std::byte*>(said.private_data);
  const std::vector<std::byte> data(first, first + said.private_data_len);
  const std::uint16_t port = ntohs(own.sin_port);
  std::size_t at = 0;
  while (at + 2 <= data.size() && std::memcmp(&data[at], &port, 2) != 0) ++at;
  check(at + 2 <= data.size(), "no port in the hello");
  std::printf("%s:%zu\n", to_hex(data).c_str(), at);
  std::fflush(stdout);
  ::_exit(0);
}

int connect(char** words) {
  const auto to = address_of(words[0], static_cast<std::uint16_t>(std::stoul(words[1])));
  Hello hello(words[2]);
  const std::string_view then = words[3];
  const auto count = std::stoul(words[4]);
  Connections connections;
  std::map<Outcome, unsigned> outcomes;
  std::mt19937 random{2};
  for (unsigned long i = 0; i < count; ++i) {
    rdma_cm_id* id = nullptr;
    const auto outcome = connections.open(to, hello.next(), then != "half", &id);
    ++outcomes[outcome];
    if (outcome == Outcome::established && then == "speak") {
      const Buffer buffer(id->pd, 4096);
      for (int message = 0; message < 8; ++message) {
        // ofi_rxm's buffers have some hundred bytes at least; longer messages are refused by the card.
        auto piece = buffer.of(random() % 1024);
        for (std::size_t at = 0; at < piece.length; ++at)
          reinterpret_cast<std::byte*>(piece.addr)[at] =
              static_cast<std::byte>(message % 2 == 0 ? random() : random() % 8);
        ibv_send_wr request{};
        request.sg_list = &piece;
        request.num_sge = 1;
        request.opcode = IBV_WR_SEND;
        if (carry_out(id->qp, id->send_cq, request) != IBV_WC_SUCCESS) break;
      }
    }
    if (then == "close" || then == "speak") Connections::close(id);
  }
  std::printf("asked %u established %u refused %u failed %u\n", outcomes[Outcome::asked],
              outcomes[Outcome::established], outcomes[Outcome::refused], outcomes[Outcome::failed]);
  std::fflush(stdout);
  for (char ignored; ::read(STDIN_FILENO, &ignored, 1) > 0;) {
  }
  return 0;
}

int memory(char** words) {
  const auto to = address_of(words[0], static_cast<std::uint16_t>(std::stoul(words[1])));
  Hello hello(words[2]);
  const std::string_view what = words[3];
  const auto base = std::stoull(words[4], nullptr, 0);
  const auto key = static_cast<std::uint32_t>(std::stoul(words[5], nullptr, 0));
  const auto bytes = std::stoul(words[6]);
  Connections connections;
  rdma_cm_id* id = nullptr;
  check(connections.open(to, hello.next(), true, &id) == Outcome::established, "a connection");
  Buffer buffer(id->pd, bytes);
  std::fill(buffer.bytes.begin(), buffer.bytes.end(), std::byte{0xaa});
  auto piece = buffer.of(bytes);
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  if (what == "read" || what == "write") {
    request.opcode = what == "read" ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
    request.wr.rdma = {.remote_addr = base, .rkey = key};
  } else {
    check(what == "add" || what == "swap", "read, write, add or swap");
    request.opcode = what == "add" ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
    request.wr.atomic = {.remote_addr = base, .compare_add = 1, .swap = 2, .rkey = key};
  }
  const auto status = carry_out(id->qp, id->send_cq, request);
  std::printf("%s %s\n", ibv_wc_status_str(status), to_hex(buffer.bytes).c_str());
  Connections::close(id);
  return 0;
}

int open_to_all(char** words) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_id* listener = nullptr;
  check(channel != nullptr && rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP) == 0,
        "rdma_create_id");
  auto here = address_of(words[0], 0);
  check(rdma_bind_addr(listener, reinterpret_cast<sockaddr*>(&here)) == 0, "rdma_bind_addr");
  check(rdma_listen(listener, 4) == 0, "rdma_listen");
  ibv_pd* const domain = ibv_alloc_pd(listener->verbs);
  check(domain != nullptr, "ibv_alloc_pd");
  alignas(8) std::byte memory[64] = {std::byte{1}};
  ibv_mr* const region = ibv_reg_mr(
      domain, memory, sizeof memory,
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
  check(region != nullptr, "ibv_reg_mr");
  std::printf("port %u\nbase %ju\nkey %u\n", static_cast<unsigned>(ntohs(rdma_get_src_port(listener))),
              static_cast<std::uintmax_t>(reinterpret_cast<std::uintptr_t>(memory)),
              static_cast<unsigned>(region->rkey));
  std::fflush(stdout);
  for (;;) {
    pollfd ready[] = {{STDIN_FILENO, POLLIN, 0}, {channel->fd, POLLIN, 0}};
    check(::poll(ready, 2, -1) > 0, "poll");
    if (ready[0].revents != 0) {
      char line[64];
      if (::read(STDIN_FILENO, line, sizeof line) <= 0) ::_exit(0);
      std::printf("bytes %s\n", to_hex(memory).c_str());
      std::fflush(stdout);
    }
    if (ready[1].revents == 0) continue;
    rdma_cm_event* event = nullptr;
    check(rdma_get_cm_event(channel, &event) == 0, "rdma_get_cm_event");
    const auto type = event->event;
    rdma_cm_id* const id = event->id;
    rdma_ack_cm_event(event);
    if (type != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
    ibv_qp_init_attr queue{};
    queue.qp_type = IBV_QPT_RC;
    queue.cap = {
        .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    check(rdma_create_qp(id, domain, &queue) == 0, "rdma_create_qp");
    rdma_conn_param answer{};
    answer.responder_resources = answer.initiator_depth = 4;
    check(rdma_accept(id, &answer) == 0, "rdma_accept");
  }
}

/// The count of datagrams that a port has dropped because of their key.
unsigned violations(ibv_context* device) {
  ibv_port_attr port{};
  check(ibv_query_port(device, 1, &port) == 0, "ibv_query_port");
  return port.qkey_viol_cntr;
}

int datagrams(char** words, int count_of_words) {
  const auto key = static_cast<std::uint32_t>(std::stoul(words[0], nullptr, 0));
  std::mt19937 random{static_cast<std::uint32_t>(std::stoul(words[1]))};
  const auto count = std::stoul(words[2]);
  ibv_device** const devices = ibv_get_device_list(nullptr);
  check(devices != nullptr && devices[0] != nullptr, "a device");
  ibv_context* const device = ibv_open_device(devices[0]);
  check(device != nullptr, "ibv_open_device");
  ibv_pd* const domain = ibv_alloc_pd(device);
  ibv_cq* const completions = ibv_create_cq(device, 16, nullptr, nullptr, 0);
  check(domain != nullptr && completions != nullptr, "a domain and a queue");
  ibv_qp_init_attr made{};
  made.send_cq = made.recv_cq = completions;
  made.qp_type = IBV_QPT_UD;
  made.cap = {
      .max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  ibv_qp* const queue = ibv_create_qp(domain, &made);
  check(queue != nullptr, "ibv_create_qp");
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_INIT;
  state.port_num = 1;
  state.qkey = key;
  check(ibv_modify_qp(queue, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0,
        "to INIT");
  state.qp_state = IBV_QPS_RTR;
  check(ibv_modify_qp(queue, &state, IBV_QP_STATE) == 0, "to RTR");
  state.qp_state = IBV_QPS_RTS;
  check(ibv_modify_qp(queue, &state, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0, "to RTS");
  ibv_ah_attr way{};
  way.is_global = 1;
  way.port_num = 1;
  way.grh.hop_limit = 64;
  check(ibv_query_gid(device, 1, 0, &way.grh.dgid) == 0, "ibv_query_gid");
  ibv_ah* const handle = ibv_create_ah(domain, &way);
  check(handle != nullptr, "ibv_create_ah");
  Buffer buffer(domain, 2048);
  const auto before = violations(device);
  unsigned sent = 0;
  for (unsigned long i = 0; i < count; ++i) {
    // Half of them noise; half with small numbers where a protocol has its types, numbers and lengths.
    for (auto& one : buffer.bytes)
      one = static_cast<std::byte>(i % 2 == 0 ? random() : random() % 4 == 0 ? 0xff : random() % 8);
    auto piece = buffer.of(1 + random() % (i % 3 == 0 ? 64 : 1024));
    ibv_send_wr request{};
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.wr.ud.ah = handle;
    request.wr.ud.remote_qkey = key;
    request.wr.ud.remote_qpn =
        static_cast<std::uint32_t>(std::stoul(words[3 + i % static_cast<unsigned>(count_of_words - 3)]));
    sent += carry_out(queue, completions, request) == IBV_WC_SUCCESS;
  }
  std::printf("sent %u dropped for their key %u\n", sent, violations(device) - before);
  return 0;
}

int main(int count, char** words) {
  const std::string_view mode = count > 1 ? words[1] : "";
  if (mode == "record" && count == 3) return record(words + 2);
  if (mode == "connect" && count == 7) return connect(words + 2);
  if (mode == "memory" && count == 9) return memory(words + 2);
  if (mode == "open" && count == 3) return open_to_all(words + 2);
  if (mode == "datagrams" && count > 5) return datagrams(words + 2, count - 2);
  std::fprintf(stderr, "attacker: see the top of tests/rdma/attacker.cpp\n");
  return 2;
}

}  // namespace
}  // namespace weft::rdma

int main(int count, char** words) {
  return weft::rdma::main(count, words);
}
