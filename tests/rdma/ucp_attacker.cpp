// SPDX-License-Identifier: BSD-3-Clause
// A stranger that uses UCX itself to reach a worker of transport/ucx: UCX_TLS says over what.
//
//   ucp_attacker WHAT ADDRESS KEY OFFSET   WHAT: get, put, add; 8 bytes at the offset from the region's
//                                          begin. Prints UCX's word for the outcome and the bytes
#include <ucp/api/ucp.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/rdma/hex.hpp"
#include "transport/ucx/wire.hpp"

namespace weft::rdma {
namespace {

constexpr std::chrono::seconds longest{60};

void check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  std::printf("%s: %s\n", what, ucs_status_string(status));
  std::exit(1);
}

/// Waits for the end of an operation; UCS_INPROGRESS: it had none.
ucs_status_t wait(ucp_worker_h worker, ucs_status_ptr_t request) {
  if (request == nullptr) return UCS_OK;
  if (UCS_PTR_IS_ERR(request)) return UCS_PTR_STATUS(request);
  const auto end = std::chrono::steady_clock::now() + longest;
  auto status = UCS_INPROGRESS;
  while (status == UCS_INPROGRESS && std::chrono::steady_clock::now() < end) {
    ucp_worker_progress(worker);
    status = ucp_request_check_status(request);
  }
  if (status != UCS_INPROGRESS) ucp_request_free(request);
  return status;
}

int main(int count, char** words) {
  if (count != 5) return 2;
  const std::string_view what = words[1];
  const auto packed_address = from_hex(words[2]), packed_key = from_hex(words[3]);
  const auto address = ucx::unpack_address(packed_address);
  const auto key = ucx::unpack_key(packed_key);
  if (!address || !key) return 2;

  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64 | UCP_FEATURE_AM;
  ucp_context_h context = nullptr;
  check(ucp_init(&params, nullptr, &context), "ucp_init");
  ucp_worker_params_t worker_params{};
  ucp_worker_h worker = nullptr;
  check(ucp_worker_create(context, &worker_params, &worker), "ucp_worker_create");
  ucp_ep_params_t to{};
  to.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                  UCP_EP_PARAM_FIELD_ERR_HANDLER;
  to.address = reinterpret_cast<const ucp_address_t*>(address->data());
  to.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  to.err_handler.cb = [](void*, ucp_ep_h, ucs_status_t) {};
  ucp_ep_h peer = nullptr;
  check(ucp_ep_create(worker, &to, &peer), "ucp_ep_create");
  ucp_rkey_h remote = nullptr;
  check(ucp_ep_rkey_unpack(peer, key->remote_key.data(), &remote), "ucp_ep_rkey_unpack");

  std::uint64_t value = 0x6465676e61686321, old = 0;
  const std::uint64_t at = key->base + static_cast<std::uint64_t>(std::stoll(words[4]));
  ucp_request_param_t how{};
  ucs_status_ptr_t request = nullptr;
  if (what == "get") {
    request = ucp_get_nbx(peer, &old, sizeof old, at, remote, &how);
  } else if (what == "put") {
    request = ucp_put_nbx(peer, &value, sizeof value, at, remote, &how);
  } else {
    how.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    how.datatype = ucp_dt_make_contig(sizeof value);
    how.reply_buffer = &old;
    request = ucp_atomic_op_nbx(peer, UCP_ATOMIC_OP_ADD, &value, 1, at, remote, &how);
  }
  auto status = wait(worker, request);
  // A put ends when its bytes are on their way.
  ucp_request_param_t plain{};
  if (status == UCS_OK) status = wait(worker, ucp_ep_flush_nbx(peer, &plain));
  std::printf("%s %s\n", ucs_status_string(status), to_hex(std::as_bytes(std::span(&old, 1))).c_str());
  std::fflush(stdout);
  std::_Exit(0);  // no goodbye: the connection may be broken, and a stranger says none
}

}  // namespace
}  // namespace weft::rdma

int main(int count, char** words) {
  return weft::rdma::main(count, words);
}
