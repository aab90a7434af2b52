// SPDX-License-Identifier: BSD-3-Clause
// A value as what it differs in from another one, its base. The addresses of processes of one node are alike:
// the same networks and devices, other ports and numbers, at the same places.
//
//   difference = varint bytes of the value, then runs until these are complete
//   run        = varint bytes that are the base's, varint bytes that are its own, these
//
// Where both have as many bytes, each lies at the same place in the base. Else the first run's are from the
// beginning of the base, and those of later ones, of which there is one at most, from its end.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::store {

/// Memory for a value that is put together of its base and its difference: in itself for a short one, so that
/// a Get of it allocates nothing. What is there is not moved.
class WholeValue {
 public:
  WholeValue() = default;
  WholeValue(const WholeValue&) = delete;
  WholeValue& operator=(const WholeValue&) = delete;

  std::byte* room(std::size_t bytes) {
    if (bytes <= short_.size()) return short_.data();
    long_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    return long_.get();
  }

 private:
  std::array<std::byte, 512> short_;
  std::unique_ptr<std::byte[]> long_;
};

/// Returns the bytes of the difference, written to `to`; 0: it has more than there is room for. O(bytes).
std::size_t write_difference(Bytes value, Bytes base, std::span<std::byte> to) noexcept;

/// The value, in `whole`. Trusts no byte: it has at most as many as both together. Errors: corrupt.
Result<Bytes> apply_difference(Bytes difference, Bytes base, WholeValue& whole);

}  // namespace weft::store
