// SPDX-License-Identifier: BSD-3-Clause
// What our messages look like on the fabric. Both sides have the same byte order: libfabric's providers ask for that too.
#pragma once

#include <cstdint>

namespace weft::ofi {

enum class Wire : std::uint8_t {
  message = 1,
  read,   ///< ReadRequest, then the packed address of who asks
  reply,  ///< ReadReply, then the bytes
};

struct Head {
  std::uint8_t magic = 0x57;
  Wire wire = Wire::message;
  std::uint16_t id = 0;
  std::uint32_t header_bytes = 0;
  std::uint64_t to = 0;  ///< owner of the address: who hears it may have come after the one who was meant
};
static_assert(sizeof(Head) == 16);

struct ReadRequest {
  std::uint64_t key = 0, offset = 0;
  std::uint32_t length = 0;
  std::uint32_t ticket = 0, generation = 0;
  std::uint32_t address_bytes = 0;
};
static_assert(sizeof(ReadRequest) == 32);

struct ReadReply {
  std::uint32_t ticket = 0, generation = 0;
  enum : std::uint32_t { right = 0, outside = 1, somebody_else = 2 };
  std::uint32_t outcome = right;  ///< somebody_else: the one that was asked is gone, and its port taken
  std::uint32_t reserved = 0;
};
static_assert(sizeof(ReadReply) == 16);

constexpr std::size_t largest_overhead = sizeof(Head) + sizeof(ReadReply);

}  // namespace weft::ofi
