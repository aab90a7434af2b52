// SPDX-License-Identifier: BSD-3-Clause
// Why gets ask the target (docs/decisions/0007-ucx-gets.md): what a worker of UCP that offers RMA gives away
// over TCP, and that ours does not. Where the first test fails, a new UCX checks what it is asked for: read
// the decision again.
#include <gtest/gtest.h>
#include <ucp/api/ucp.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "transport/ucx/endpoint.hpp"

namespace weft::ucx {
namespace {

/// A worker on UCP's own interface, as any process can create it.
class Stranger {
 public:
  explicit Stranger(std::uint64_t features) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = features;
    ucp_config_t* config = nullptr;
    if (ucp_config_read(nullptr, nullptr, &config) != UCS_OK) return;
    const bool begun =
        ucp_config_modify(config, "TLS", "tcp") == UCS_OK && ucp_init(&params, config, &context_) == UCS_OK;
    ucp_config_release(config);
    if (!begun) return;
    ucp_worker_params_t worker_params{};
    worker_params.field_mask = UCP_WORKER_PARAM_FIELD_FLAGS;
    worker_params.flags = UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK;
    if (ucp_worker_create(context_, &worker_params, &worker_) != UCS_OK) worker_ = nullptr;
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() {
    leave();
    if (mapped_ != nullptr) ucp_mem_unmap(context_, mapped_);
    if (worker_ != nullptr) ucp_worker_destroy(worker_);
    if (context_ != nullptr) ucp_cleanup(context_);
  }

  bool works() const { return worker_ != nullptr; }
  void progress() { ucp_worker_progress(worker_); }

  std::vector<std::byte> address() const {
    ucp_worker_attr_t attributes{};
    attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
    attributes.address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY;
    if (ucp_worker_query(worker_, &attributes) != UCS_OK) return {};
    const auto* bytes = reinterpret_cast<const std::byte*>(attributes.address);
    std::vector<std::byte> out(bytes, bytes + attributes.address_length);
    ucp_worker_release_address(worker_, attributes.address);
    return out;
  }
  bool reach(Bytes address) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    return ucp_ep_create(worker_, &params, &to_) == UCS_OK;
  }
  /// A key as its owner hands it out, of that memory.
  std::vector<std::byte> expose(std::span<std::byte> memory) {
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    params.address = memory.data();
    params.length = memory.size();
    if (ucp_mem_map(context_, &params, &mapped_) != UCS_OK) return {};
    void* packed = nullptr;
    std::size_t size = 0;
    if (ucp_rkey_pack(context_, mapped_, &packed, &size) != UCS_OK) return {};
    const auto* bytes = static_cast<const std::byte*>(packed);
    std::vector<std::byte> out(bytes, bytes + size);
    ucp_rkey_buffer_release(packed);
    return out;
  }
  bool import(Bytes packed) { return ucp_ep_rkey_unpack(to_, packed.data(), &key_) == UCS_OK; }
  ucs_status_ptr_t read(const void* at, std::span<char> into) {
    ucp_request_param_t params{};
    return ucp_get_nbx(to_, into.data(), into.size(), reinterpret_cast<std::uintptr_t>(at), key_, &params);
  }
  ucs_status_ptr_t say(Bytes bytes) {
    ucp_request_param_t params{};
    return ucp_am_send_nbx(to_, message_channel, nullptr, 0, bytes.data(), bytes.size(), &params);
  }

  /// Ends what is open; UCP aborts if a worker is destroyed with an unanswered read.
  void leave() {
    if (to_ == nullptr) return;
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_EP_CLOSE_FLAG_FORCE;
    if (key_ != nullptr) ucp_rkey_destroy(std::exchange(key_, nullptr));
    const auto closing = ucp_ep_close_nbx(std::exchange(to_, nullptr), &params);
    if (!UCS_PTR_IS_PTR(closing)) return;
    while (ucp_request_check_status(closing) == UCS_INPROGRESS) progress();
    ucp_request_free(closing);
  }

 private:
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h to_ = nullptr;
  ucp_mem_h mapped_ = nullptr;
  ucp_rkey_h key_ = nullptr;
};

template <class Step, class Done>
bool until(Step&& step, Done&& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    step();
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

bool is_complete(ucs_status_ptr_t request) {
  return !UCS_PTR_IS_PTR(request) || ucp_request_check_status(request) != UCS_INPROGRESS;
}
ucs_status_t outcome(ucs_status_ptr_t request) {
  return UCS_PTR_IS_PTR(request) ? ucp_request_check_status(request) : UCS_PTR_RAW_STATUS(request);
}
void finish_close(ucs_status_ptr_t request) {
  if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
}

constexpr char secret_text[] = "memory whose key was given to no peer";

TEST(UcxReads, a_worker_that_offers_rma_gives_away_memory_that_it_never_exposed) {
  const std::string secret(secret_text);
  std::vector<std::byte> exposed(4096);
  std::string found(secret.size(), ' ');
  Stranger owner(UCP_FEATURE_RMA), reader(UCP_FEATURE_RMA);
  ASSERT_TRUE(owner.works() && reader.works());
  ASSERT_TRUE(reader.reach(owner.address()) && reader.import(owner.expose(exposed)));
  const auto request = reader.read(secret.data(), found);
  ASSERT_TRUE(until(
      [&] {
        reader.progress();
        owner.progress();
      },
      [&] { return is_complete(request); }));
  EXPECT_EQ(outcome(request), UCS_OK);
  EXPECT_EQ(found, secret);
  finish_close(request);
}

TEST(UcxReads, our_endpoint_answers_no_read_but_its_own) {
  const std::string secret(secret_text);
  std::vector<std::byte> memory(4096);
  std::string found(secret.size(), ' ');
  auto opened = UcxTransport().open({"tcp"});
  ASSERT_TRUE(opened);
  Endpoint& ours = **opened;
  if (ours.capabilities().rma)
    GTEST_SKIP() << "a network card reads memory here: RMA is on, and the memory open";
  std::size_t heard = 0;
  ours.on_message(
      [](void* count, std::uint16_t, const Message&) noexcept { ++*static_cast<std::size_t*>(count); },
      &heard);
  const auto address = unpack_address(ours.address().bytes);
  ASSERT_TRUE(address);
  Stranger reader(UCP_FEATURE_RMA | UCP_FEATURE_AM), other(UCP_FEATURE_RMA);
  ASSERT_TRUE(reader.works() && other.works());
  ASSERT_TRUE(reader.reach(*address) && reader.import(other.expose(memory)));
  const auto step = [&] {
    reader.progress();
    ours.progress();
  };
  const auto say = [&](std::size_t times) {
    const MessagePrefix prefix{7, 0, 0};
    const auto said = reader.say(std::as_bytes(std::span(&prefix, 1)));
    const bool arrived = until(step, [&] { return is_complete(said) && heard == times; });
    finish_close(said);
    return arrived;
  };
  ASSERT_TRUE(say(1));
  const auto request = reader.read(secret.data(), found);
  // A message that is sent after the read has passed it on its way; the answer would be there by now.
  ASSERT_TRUE(say(2));
  for (int i = 0; i < 10'000; ++i) step();
  EXPECT_NE(outcome(request), UCS_OK);
  EXPECT_EQ(found, std::string(secret.size(), ' '));
  EXPECT_TRUE(say(3)) << "the connection is as good as before";
  reader.leave();
  finish_close(request);
}

}  // namespace
}  // namespace weft::ucx
