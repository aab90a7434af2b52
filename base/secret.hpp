// SPDX-License-Identifier: BSD-3-Clause
// What must lie about nowhere: a key in a page of its own, and texts that hold it for a while.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "weft/bytes.hpp"

namespace weft::base {

/// Zeros that no compiler leaves out.
void wipe(void* at, std::size_t bytes) noexcept;

/// Bytes in a page of their own, which is in no core file, in no swap (as far as RLIMIT_MEMLOCK allows),
/// empty in the child of a fork, and wiped when the last copy goes. Copies share it: there is one place where
/// the bytes lie.
class Secret {
 public:
  /// A secret without bytes.
  Secret() = default;
  /// Throws std::bad_alloc.
  explicit Secret(Bytes bytes);
  /// Random bytes from the kernel. Throws std::bad_alloc, and std::system_error where the kernel has none.
  static Secret random(std::size_t bytes);

  Bytes bytes() const noexcept;
  bool operator==(const Secret& other) const noexcept;

 private:
  struct Pages;
  std::shared_ptr<const Pages> pages_;
};

/// Wipes what it gives back: a text that grows leaves nothing behind.
template <class T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <class U>
  WipingAllocator(const WipingAllocator<U>&) noexcept {}
  T* allocate(std::size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* at, std::size_t count) noexcept {
    wipe(at, count * sizeof(T));
    std::allocator<T>().deallocate(at, count);
  }
  template <class U>
  bool operator==(const WipingAllocator<U>&) const noexcept {
    return true;
  }
};

/// A text with a secret in it; one of less than 16 characters is not wiped.
using SecretText = std::basic_string<char, std::char_traits<char>, WipingAllocator<char>>;

}  // namespace weft::base
