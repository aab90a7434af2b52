// SPDX-License-Identifier: BSD-3-Clause
// Messages and reads of a caller, and the operations of the endpoint that carry them, piece by piece.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "transport/mesh/contact.hpp"
#include "transport/mesh/envelope.hpp"

namespace weft::mesh {

class Mesh;
struct Node;

/// Number of a region of a node: from 0 those in its contact, then imported ones.
using RegionNumber = std::uint16_t;

/// A message or a read in flight. The caller owns it; it stays in place until done() ran, exactly once, in
/// progress().
struct Work {
  using Done = void (*)(Work& self, Result<void> outcome) noexcept;
  Done done = nullptr;

 private:
  friend class Mesh;
  enum class Kind : std::uint8_t { message, read };

  Work* next_ = nullptr;     // in its node's queue, or among those that have ended
  std::uint64_t begun_ = 0;  // bytes that are in pieces already
  std::uint64_t total_ = 0;  // bytes in all
  std::uint32_t open_pieces_ = 0;
  Kind kind_ = Kind::message;
  bool is_queued_ = false;
  std::optional<Error> error_;  // the first

 protected:
  Work() = default;
  ~Work() = default;
};

/// A message. Its payload stays the caller's, unchanged, until done(), which means: handed to the fabric.
struct Sending : Work {
  static constexpr std::size_t max_header = 64;

 private:
  friend class Mesh;
  Bytes payload_;
  std::uint64_t number_ = 0;  // of a message in pieces
  std::uint16_t id_ = 0;
  std::uint8_t header_bytes_ = 0;
  std::array<std::byte, max_header> header_;
};

/// A read of another node's memory. The local region stays until done().
struct Reading : Work {
 private:
  friend class Mesh;
  RegionNumber region_ = 0;
  std::uint64_t from_ = 0, into_offset_ = 0;
  MemoryRegion* into_ = nullptr;
};

/// One operation of the endpoint, from the mesh's pool.
struct Operation : Completion {
  Mesh* mesh = nullptr;
  Node* node = nullptr;
  Work* work = nullptr;  ///< NULL: a probe, for which no caller waits
  Operation* next = nullptr;
  Operation* previous = nullptr;  ///< in the node's list of messages; `next` alone in the pool
  std::uint64_t sequence = 0;     ///< 0: a read
  std::uint64_t offset = 0;       ///< into the payload, or into what is read
  std::size_t length = 0;
  std::uint8_t header_bytes = 0;
  std::array<std::byte, 128> header;
  std::vector<std::byte> text;  ///< the sealed payload; empty where the fabric seals
};

}  // namespace weft::mesh
