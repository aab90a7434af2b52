// SPDX-License-Identifier: BSD-3-Clause
// The cost of UCP itself between two processes: active messages there and back, ucp_get_nbx, one thread that
// polls or sleeps on the descriptor of the worker.
#include <poll.h>
#include <ucp/api/ucp.h>

#include <array>
#include <cstring>

#include "bench/pair/die.hpp"
#include "bench/pair/phases.hpp"

namespace weft::bench {
namespace {

constexpr unsigned id_name = 0, id_bytes = 1;

void must(ucs_status_t status, const char* what) {
  if (status != UCS_OK) die(what, ucs_status_string(status));
}

class Side {
 public:
  explicit Side(const PairOptions& options)
      : sleeps_(options.wait == PairOptions::Wait::sleep),
        tells_of_loss_(options.tells_of_loss),
        memory_(options.memory_bytes) {
    ucp_config_t* config = nullptr;
    must(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    if (!options.transport.empty())
      must(ucp_config_modify(config, "TLS", options.transport.c_str()), options.transport.c_str());
    ucp_params_t context{};
    context.field_mask = UCP_PARAM_FIELD_FEATURES;
    context.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | (sleeps_ ? UCP_FEATURE_WAKEUP : 0);
    must(ucp_init(&context, config, &context_), "ucp_init");
    ucp_config_release(config);
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SINGLE;
    must(ucp_worker_create(context_, &worker, &worker_), "ucp_worker_create");
    if (sleeps_) must(ucp_worker_get_efd(worker_, &descriptor_), "ucp_worker_get_efd");
    handle(id_name, [](void* self, const void*, std::size_t, void* data, std::size_t,
                       const ucp_am_recv_param_t*) noexcept {
      auto& side = *static_cast<Side*>(self);
      side.reach(data);
      side.send(id_bytes, 0);
      return UCS_OK;
    });
    handle(id_bytes, [](void* self, const void*, std::size_t, void*, std::size_t length,
                        const ucp_am_recv_param_t*) noexcept {
      auto& side = *static_cast<Side*>(self);
      ++side.heard_;
      if (side.answers_) side.send(id_bytes, length);
      return UCS_OK;
    });
    ucp_mem_map_params_t map{};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.address = memory_.data();
    map.length = memory_.size();
    must(ucp_mem_map(context_, &map, &region_), "ucp_mem_map");
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side() {
    if (key_ != nullptr) ucp_rkey_destroy(key_);
    ucp_mem_unmap(context_, region_);
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }

  std::vector<std::byte> name() {
    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    must(ucp_worker_get_address(worker_, &address, &length), "ucp_worker_get_address");
    const auto* bytes = reinterpret_cast<const std::byte*>(address);
    std::vector<std::byte> out(bytes, bytes + length);
    ucp_worker_release_address(worker_, address);
    return out;
  }
  /// The address of the memory, the length of its key in 8 bytes each, the key, the name.
  std::vector<std::byte> card() {
    void* key = nullptr;
    std::size_t length = 0;
    must(ucp_rkey_pack(context_, region_, &key, &length), "ucp_rkey_pack");
    const std::uint64_t words[]{reinterpret_cast<std::uint64_t>(memory_.data()), length};
    std::vector<std::byte> out(sizeof words + length);
    std::memcpy(out.data(), words, sizeof words);
    std::memcpy(out.data() + sizeof words, key, length);
    ucp_rkey_buffer_release(key);
    const auto self = name();
    out.insert(out.end(), self.begin(), self.end());
    return out;
  }
  void reach(const void* name) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.err_mode = tells_of_loss_ ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
    params.address = static_cast<const ucp_address_t*>(name);
    must(ucp_ep_create(worker_, &params, &peer_), "ucp_ep_create");
  }
  void reach_card(std::span<const std::byte> card) {
    std::uint64_t words[2];
    std::memcpy(words, card.data(), sizeof words);
    remote_ = words[0];
    const auto rest = card.subspan(sizeof words);
    reach(rest.data() + words[1]);
    must(ucp_ep_rkey_unpack(peer_, rest.data(), &key_), "ucp_ep_rkey_unpack");
  }

  /// Makes progress; if nothing was ready, waits as the options say. beside: a second descriptor that ends
  /// the wait.
  void turn(int beside = -1) {
    if (ucp_worker_progress(worker_) != 0 || !sleeps_) return;
    const auto armed = ucp_worker_arm(worker_);
    if (armed == UCS_ERR_BUSY) return;
    must(armed, "ucp_worker_arm");
    // Over rdma_rxe a message that arrived just before the arming wakes nothing.
    if (ucp_worker_progress(worker_) != 0) return;
    pollfd waits[]{{descriptor_, POLLIN, 0}, {beside, POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) die_of_errno("poll");
  }
  void send(unsigned id, std::span<const std::byte> bytes) {
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_AM_SEND_FLAG_EAGER;
    left_to_itself(ucp_am_send_nbx(peer_, id, nullptr, 0, bytes.data(), bytes.size(), &params));
  }
  void send(unsigned id, std::size_t bytes) { send(id, std::span(memory_).first(bytes)); }
  void wait_for_answer(std::size_t heard) {
    while (heard_ == heard) turn();
  }
  void read(std::size_t bytes) {
    const ucp_request_param_t params{};
    void* request = ucp_get_nbx(peer_, memory_.data(), bytes, remote_, key_, &params);
    if (request == nullptr) return;
    if (UCS_PTR_IS_ERR(request)) must(UCS_PTR_STATUS(request), "ucp_get_nbx");
    ucs_status_t status;
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) turn();
    must(status, "a get");
    ucp_request_free(request);
  }
  void answer() { answers_ = true; }
  std::size_t heard() const { return heard_; }

 private:
  using Callback = ucs_status_t (*)(void*, const void*, std::size_t, void*, std::size_t,
                                    const ucp_am_recv_param_t*);
  void handle(unsigned id, Callback callback) {
    ucp_am_handler_param_t params{};
    params.field_mask =
        UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    params.id = id;
    params.cb = callback;
    params.arg = this;
    must(ucp_worker_set_am_recv_handler(worker_, &params), "ucp_worker_set_am_recv_handler");
  }
  /// The bytes stay unchanged, so the completion of the send need not be tracked.
  static void left_to_itself(void* request) {
    if (request == nullptr) return;
    if (UCS_PTR_IS_ERR(request)) must(UCS_PTR_STATUS(request), "ucp_am_send_nbx");
    ucp_request_free(request);
  }

  bool sleeps_, tells_of_loss_, answers_ = false;
  int descriptor_ = -1;
  std::vector<std::byte> memory_;
  std::size_t heard_ = 0;
  std::uint64_t remote_ = 0;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_mem_h region_ = nullptr;
  ucp_ep_h peer_ = nullptr;
  ucp_rkey_h key_ = nullptr;
};

class UcxClient final : public PairClient {
 public:
  explicit UcxClient(const PairOptions& options) : side_(options) {}
  void contact(std::span<const std::byte> card) override {
    side_.reach_card(card);
    name_ = side_.name();
    const auto heard = side_.heard();
    side_.send(id_name, name_);
    side_.wait_for_answer(heard);
  }
  void there_and_back(std::size_t bytes) override {
    const auto heard = side_.heard();
    side_.send(id_bytes, bytes);
    side_.wait_for_answer(heard);
  }
  void get(std::size_t bytes) override { side_.read(bytes); }

 private:
  Side side_;
  std::vector<std::byte> name_;
};

void serve(const PairOptions& options) {
  Side side(options);
  side.answer();
  auto side_channel = SideChannel::accept(options.at);
  side_channel.send(side.card());
  constexpr unsigned often = 1024;
  for (unsigned round = 0; round % often != 0 || !side_channel.is_closed(); ++round)
    side.turn(side_channel.fd());
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  int status = 0;
  const auto options =
      parse_pair_options(argc, argv, "weft_floor_ucx_pair: times UCP between two processes", status);
  if (!options) return status;
  settle(*options);
  if (options->serve) {
    serve(*options);
  } else {
    auto side_channel = SideChannel::connect(options->at);
    run_client(
        *options, "floor_ucx", [&] { return std::make_unique<UcxClient>(*options); }, side_channel);
  }
}
