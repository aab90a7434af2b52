// SPDX-License-Identifier: BSD-3-Clause
// The server's side of memories that clients write: one for each job, a memfd of its own, so that a
// descriptor leads to one job's bytes.
//
// All lie in one range of addresses, which is reserved for as long as the server lives. A thread of the host
// that reads a job while it goes finds zeros there, and no fault.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "base/fd.hpp"
#include "transport/shm/address_range.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::shm {

class Memories {
 public:
  /// Reserves addresses for all of them together: bytes, reduced to what RLIMIT_FSIZE allows one. Errors: os.
  static Result<Memories> create(std::size_t bytes);
  Memories(Memories&& other) noexcept;
  Memories& operator=(Memories&& other) noexcept;
  ~Memories();

  /// Calls prepare(memory) for each new memory, before its first page is touched.
  void on_new(std::function<void(MutableBytes)> prepare) { prepare_ = std::move(prepare); }

  /// A new memory, all zero, at base() + what is returned; it is used only where it is touched. Errors:
  /// no_space (of addresses), os.
  Result<std::uint64_t> make(std::size_t bytes);
  /// Frees a memory: its bytes read as zero at once here, its addresses serve a later memory. Clients keep
  /// what they have mapped, and the kernel gets the pages back when the last of them has gone.
  void release(std::uint64_t at);
  /// at: what make() returned.
  int fd(std::uint64_t at) const { return live_.at(at).fd.get(); }

  std::byte* base() const noexcept { return base_; }
  MutableBytes bytes() const noexcept { return {base_, bytes_}; }
  /// Bytes of addresses behind the last memory.
  std::uint64_t left() const noexcept { return range_.left(); }

 private:
  struct Live {
    base::Fd fd;
    std::size_t bytes;
  };
  Memories(std::byte* base, std::size_t bytes) noexcept : base_(base), bytes_(bytes), range_(bytes) {}

  std::byte* base_;
  std::size_t bytes_;
  AddressRange range_;
  std::map<std::uint64_t, Live> live_;
  std::function<void(MutableBytes)> prepare_;
};

}  // namespace weft::shm
