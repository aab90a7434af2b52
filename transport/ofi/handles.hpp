// SPDX-License-Identifier: BSD-3-Clause
// Owning pointers for libfabric objects, and the translation of its return values.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <unistd.h>

#include <memory>
#include <utility>

#include "weft/result.hpp"

namespace weft::ofi {

struct CloseInfo {
  void operator()(fi_info* info) const noexcept { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, CloseInfo>;

struct CloseFid {
  template <class T>
  void operator()(T* object) const noexcept {
    fi_close(&object->fid);
  }
};
template <class T>
using Handle = std::unique_ptr<T, CloseFid>;

class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const noexcept { return number_; }

 private:
  int number_;
};

/// For calls that return 0 or a negative fabric errno, which equals the system's errno where the system has
/// one.
inline Unexpected failed(const char* what, long code) noexcept {
  return fail(code == -FI_ENOMEM ? Errc::no_memory : Errc::os, what, static_cast<int>(-code));
}

}  // namespace weft::ofi
