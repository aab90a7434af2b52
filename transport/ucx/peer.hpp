// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "transport/ucx/completion.hpp"

namespace weft::ucx {

class UcxPeer final : public Peer {
 public:
  explicit UcxPeer(Line& line) : line_(line) { line.peer = this; }
  ~UcxPeer() override;
  Line& line() const noexcept { return line_; }

 private:
  Line& line_;
};

}  // namespace weft::ucx
