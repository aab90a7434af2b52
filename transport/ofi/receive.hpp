// SPDX-License-Identifier: BSD-3-Clause
// The buffers for received messages: several messages in each where the provider supports that, otherwise
// one.
#pragma once

#include <memory>
#include <vector>

#include "transport/ofi/completion.hpp"

namespace weft::ofi {

struct ReceiveBuffer : Context {
  std::byte* bytes = nullptr;
};

class ReceiveBuffers {
 public:
  /// Called once, on an enabled endpoint. message_bytes: size of the largest message.
  Result<void> begin(fid_ep& endpoint, const Registrar& registrar, const fi_info& info,
                     std::size_t message_bytes);
  /// The message that an error-free completion reports; empty if it reports none.
  Bytes message_of(const Event& event) const noexcept;
  /// After the message was handled, and after each error.
  void done_with(const Event& event) noexcept;
  /// Hands free buffers to the library. Errors: os.
  Result<void> post() noexcept;
  bool all_posted() const noexcept { return waiting_.empty(); }

 private:
  fid_ep* endpoint_ = nullptr;
  bool multi_ = false;
  std::size_t each_ = 0;
  void* descriptor_ = nullptr;
  std::unique_ptr<std::byte[]> bytes_;
  Handle<fid_mr> registered_;
  std::vector<ReceiveBuffer> buffers_;  ///< fixed size: the library holds pointers to them
  std::vector<ReceiveBuffer*> waiting_;
};

}  // namespace weft::ofi
