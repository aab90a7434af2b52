// SPDX-License-Identifier: BSD-3-Clause
#include "base/secret.hpp"

#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

namespace weft::base {

void wipe(void* at, std::size_t bytes) noexcept {
  ::explicit_bzero(at, bytes);
}

struct Secret::Pages {
  explicit Pages(std::size_t wanted) : size(wanted) {
    void* const mapped = ::mmap(nullptr, std::max<std::size_t>(size, 1), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    at = static_cast<std::byte*>(mapped);
    // Each as far as it goes: a secret that may be swapped is better than no job.
    (void)::mlock(at, size);
    (void)::madvise(at, size, MADV_DONTDUMP);
    (void)::madvise(at, size, MADV_WIPEONFORK);
  }
  ~Pages() {
    wipe(at, size);
    ::munmap(at, std::max<std::size_t>(size, 1));
  }
  Pages(const Pages&) = delete;

  std::byte* at;
  std::size_t size;
};

Secret::Secret(Bytes bytes) {
  const auto pages = std::make_shared<Pages>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), pages->at);
  pages_ = pages;
}

Secret Secret::random(std::size_t bytes) {
  const auto pages = std::make_shared<Pages>(bytes);
  for (std::size_t done = 0; done < bytes;) {
    const auto got = ::getrandom(pages->at + done, bytes - done, 0);
    if (got < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  Secret out;
  out.pages_ = pages;
  return out;
}

Bytes Secret::bytes() const noexcept {
  return pages_ == nullptr ? Bytes() : Bytes(pages_->at, pages_->size);
}

bool Secret::operator==(const Secret& other) const noexcept {
  const auto mine = bytes(), theirs = other.bytes();
  return std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end());
}

}  // namespace weft::base
