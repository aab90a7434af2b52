// SPDX-License-Identifier: BSD-3-Clause
// Where messages arrive: buffers that take several of them each, where the provider can do that, or one each.
#pragma once

#include <memory>
#include <vector>

#include "transport/ofi/completion.hpp"

namespace weft::ofi {

struct ReceiveBuffer : Context {
  std::byte* bytes = nullptr;
};

class Receives {
 public:
  /// message_bytes: of the largest. To be called once, with the endpoint enabled.
  Result<void> begin(fid_ep& endpoint, const Registrar& registrar, const fi_info& info,
                     std::size_t message_bytes);
  /// The message that a completion without an error is about; empty if it is about none.
  Bytes message_of(const Event& event) const noexcept;
  /// After the message was handled, and after each error.
  void done_with(const Event& event) noexcept;
  /// Gives the library what it has to get. Errors: os.
  Result<void> post() noexcept;
  bool all_posted() const noexcept { return waiting_.empty(); }

 private:
  fid_ep* endpoint_ = nullptr;
  bool multi_ = false;
  std::size_t each_ = 0;
  void* descriptor_ = nullptr;
  std::unique_ptr<std::byte[]> bytes_;
  Handle<fid_mr> registered_;
  std::vector<ReceiveBuffer> buffers_;  ///< never grows: the library knows where they are
  std::vector<ReceiveBuffer*> waiting_;
};

}  // namespace weft::ofi
