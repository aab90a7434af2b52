// SPDX-License-Identifier: BSD-3-Clause
// The cost of libfabric itself between two processes: reliable datagrams, there and back with fi_inject or
// fi_send, reads with fi_read, one thread that polls or sleeps on the descriptor of the completion queue.
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <string.h>  // strdup

#include <array>
#include <cstring>

#include "bench/pair/die.hpp"
#include "bench/pair/phases.hpp"

namespace weft::bench {
namespace {

constexpr std::size_t receives = 16, receive_bytes = 4096;

/// Returns a code that is no error; `again` is one of them.
ssize_t must(ssize_t code, const char* what) {
  if (code < 0 && code != -FI_EAGAIN) die(what, fi_strerror(static_cast<int>(-code)));
  return code;
}

template <class T>
struct Closed {
  T* fid = nullptr;
  ~Closed() {
    if (fid != nullptr) fi_close(&fid->fid);
  }
  T* operator->() const { return fid; }
};

struct Card {  // sent to the client, followed by the name of the server
  std::uint64_t memory = 0, key = 0;
};

class Side {
 public:
  explicit Side(const PairOptions& options)
      : sleeps_(options.wait == PairOptions::Wait::sleep), memory_(options.memory_bytes) {
    fi_info* hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    if (!options.transport.empty()) hints->fabric_attr->prov_name = ::strdup(options.transport.c_str());
    must(fi_getinfo(FI_VERSION(1, 15), nullptr, nullptr, 0, hints, &info_), "fi_getinfo");
    fi_freeinfo(hints);
    must(fi_fabric(info_->fabric_attr, &fabric_.fid, nullptr), "fi_fabric");
    must(fi_domain(fabric_.fid, info_, &domain_.fid, nullptr), "fi_domain");
    fi_cq_attr queue{};
    queue.format = FI_CQ_FORMAT_MSG;
    queue.wait_obj = sleeps_ ? FI_WAIT_FD : FI_WAIT_NONE;
    must(fi_cq_open(domain_.fid, &queue, &queue_.fid, nullptr), "fi_cq_open");
    if (sleeps_) must(fi_control(&queue_->fid, FI_GETWAIT, &descriptor_), "FI_GETWAIT");
    fi_av_attr names{};
    names.type = FI_AV_TABLE;
    must(fi_av_open(domain_.fid, &names, &names_.fid, nullptr), "fi_av_open");
    must(fi_endpoint(domain_.fid, info_, &endpoint_.fid, nullptr), "fi_endpoint");
    must(fi_ep_bind(endpoint_.fid, &queue_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_ep_bind(endpoint_.fid, &names_->fid, 0), "fi_ep_bind");
    must(fi_enable(endpoint_.fid), "fi_enable");
    must(fi_mr_reg(domain_.fid, memory_.data(), memory_.size(), FI_READ | FI_REMOTE_READ | FI_SEND | FI_RECV,
                   0, 1, 0, &region_.fid, nullptr),
         "fi_mr_reg");
    const auto room = received_.size() * receive_bytes;
    buffers_.resize(room);
    must(fi_mr_reg(domain_.fid, buffers_.data(), room, FI_RECV, 0, 2, 0, &receiving_.fid, nullptr),
         "fi_mr_reg");
    for (auto& one : received_) post(one);
  }
  ~Side() { fi_freeinfo(info_); }

  std::vector<std::byte> name() const {
    std::size_t length = 256;
    std::vector<std::byte> out(length);
    must(fi_getname(&endpoint_->fid, out.data(), &length), "fi_getname");
    out.resize(length);
    return out;
  }
  Card card() const {
    const bool absolute = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    return {absolute ? reinterpret_cast<std::uint64_t>(memory_.data()) : 0, fi_mr_key(region_.fid)};
  }
  void reach(const void* name) {
    if (fi_av_insert(names_.fid, name, 1, &peer_, 0, nullptr) != 1) die("fi_av_insert", "not a name");
  }

  /// Handles completions; if there were none, waits as the options say. beside: a second descriptor that ends
  /// the wait. Returns the bytes of a received message, -1 if there was none.
  std::ptrdiff_t turn(int beside = -1) {
    fi_cq_msg_entry entry;
    const auto count = fi_cq_read(queue_.fid, &entry, 1);
    if (count == 1) {
      const auto one = reinterpret_cast<std::uintptr_t>(entry.op_context);
      const auto first = reinterpret_cast<std::uintptr_t>(received_.data());
      if (one - first < sizeof received_) {
        last_ = static_cast<fi_context2*>(entry.op_context);
        return static_cast<std::ptrdiff_t>(entry.len);
      }
      static_cast<Operation*>(entry.op_context)->open = false;
      return -1;
    }
    if (count == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      fi_cq_readerr(queue_.fid, &error, 0);
      die("an operation", fi_strerror(error.err));
    }
    must(count, "fi_cq_read");
    if (!sleeps_) return -1;
    fid* waits_for = &queue_->fid;
    if (fi_trywait(fabric_.fid, &waits_for, 1) != FI_SUCCESS) return -1;
    pollfd waits[]{{descriptor_, POLLIN, 0}, {beside, POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) die_of_errno("poll");
    return -1;
  }
  /// The bytes of the last message, valid until repost().
  const std::byte* last() const { return buffers_.data() + (last_ - received_.data()) * receive_bytes; }
  void repost() { post(*last_); }

  void send(std::span<const std::byte> bytes) {
    if (bytes.size() <= info_->tx_attr->inject_size) {
      while (must(fi_inject(endpoint_.fid, bytes.data(), bytes.size(), peer_), "fi_inject") != 0) progress();
      return;
    }
    while (sent_.open) progress();
    sent_.open = true;
    const auto start = [&] {
      return fi_send(endpoint_.fid, bytes.data(), bytes.size(), fi_mr_desc(region_.fid), peer_, &sent_);
    };
    while (must(start(), "fi_send") != 0) progress();
  }
  void read(std::size_t bytes, const Card& from) {
    const auto piece = std::min(bytes, info_->ep_attr->max_msg_size);
    for (std::size_t at = 0; at < bytes; at += piece) {
      read_.open = true;
      const auto start = [&] {
        return fi_read(endpoint_.fid, memory_.data() + at, std::min(piece, bytes - at),
                       fi_mr_desc(region_.fid), peer_, from.memory + at, from.key, &read_);
      };
      while (must(start(), "fi_read") != 0) progress();
      while (read_.open) turn();
    }
  }
  std::span<const std::byte> memory() const { return memory_; }

 private:
  struct Operation {
    fi_context2 context{};
    bool open = false;
  };
  void progress() { fi_cq_read(queue_.fid, nullptr, 0); }
  void post(fi_context2& one) {
    const auto at = static_cast<std::size_t>(&one - received_.data());
    must(fi_recv(endpoint_.fid, buffers_.data() + at * receive_bytes, receive_bytes,
                 fi_mr_desc(receiving_.fid), FI_ADDR_UNSPEC, &one),
         "fi_recv");
  }

  bool sleeps_;
  int descriptor_ = -1;
  std::vector<std::byte> memory_, buffers_;
  std::array<fi_context2, receives> received_{};
  fi_context2* last_ = nullptr;
  Operation sent_, read_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  fi_info* info_ = nullptr;
  Closed<fid_fabric> fabric_;
  Closed<fid_domain> domain_;
  Closed<fid_mr> region_, receiving_;
  Closed<fid_cq> queue_;
  Closed<fid_av> names_;
  Closed<fid_ep> endpoint_;
};

class OfiClient final : public PairClient {
 public:
  explicit OfiClient(const PairOptions& options) : side_(options) {}
  void contact(std::span<const std::byte> card) override {
    std::memcpy(&server_, card.data(), sizeof server_);
    side_.reach(card.data() + sizeof server_);
    side_.send(side_.name());
    answered();
  }
  void there_and_back(std::size_t bytes) override {
    side_.send(side_.memory().first(bytes));
    answered();
  }
  void get(std::size_t bytes) override { side_.read(bytes, server_); }

 private:
  void answered() {
    while (side_.turn() < 0) {
    }
    side_.repost();
  }
  Side side_;
  Card server_;
};

void serve(const PairOptions& options) {
  Side side(options);
  auto side_channel = SideChannel::accept(options.at);
  const Card card = side.card();
  auto said = side.name();
  const auto* bytes = reinterpret_cast<const std::byte*>(&card);
  said.insert(said.begin(), bytes, bytes + sizeof card);
  side_channel.send(said);
  // Where the client connects again and again, the first word of each connection is its name; else the name
  // is sent once.
  bool named = false;
  constexpr unsigned often = 1024;
  for (unsigned round = 0; round % often != 0 || !side_channel.is_closed(); ++round) {
    const auto length = side.turn(side_channel.fd());
    if (length < 0) continue;
    if (!named) side.reach(side.last());
    named = !only_connects(options);
    side.repost();
    side.send(side.memory().first(static_cast<std::size_t>(length)));
  }
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  int status = 0;
  const auto options =
      parse_pair_options(argc, argv, "weft_floor_ofi_pair: times libfabric between two processes", status);
  if (!options) return status;
  settle(*options);
  if (options->serve) {
    serve(*options);
  } else {
    auto side_channel = SideChannel::connect(options->at);
    run_client(
        *options, "floor_ofi", [&] { return std::make_unique<OfiClient>(*options); }, side_channel);
  }
}
