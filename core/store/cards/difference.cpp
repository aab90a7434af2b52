// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/cards/difference.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/store/cards/varint.hpp"

namespace weft::store {
namespace {

/// Fewer equal bytes are not worth two runs.
constexpr std::size_t least_equal = 4;

std::size_t equal_at_front(Bytes a, Bytes b) noexcept {
  const auto most = std::min(a.size(), b.size());
  std::size_t same = 0;
  for (std::uint64_t x, y; same + sizeof x <= most; same += sizeof x) {
    std::memcpy(&x, a.data() + same, sizeof x);
    std::memcpy(&y, b.data() + same, sizeof y);
    if (x != y) break;
  }
  while (same < most && a[same] == b[same]) ++same;
  return same;
}

std::size_t equal_at_back(Bytes a, Bytes b) noexcept {
  const auto most = std::min(a.size(), b.size());
  std::size_t same = 0;
  while (same < most && a[a.size() - 1 - same] == b[b.size() - 1 - same]) ++same;
  return same;
}

/// Where equal bytes begin again, of as many on both sides, which begin with unequal ones; their end, where
/// none do that are worth it.
std::size_t unequal_at_front(Bytes a, Bytes b) noexcept {
  for (std::size_t at = least_equal; at + least_equal <= a.size(); at += least_equal)
    if (std::memcmp(a.data() + at, b.data() + at, least_equal) == 0) {
      while (a[at - 1] == b[at - 1]) --at;  // ends before the first, which is unequal
      return at;
    }
  return a.size();
}

class Runs {
 public:
  explicit Runs(std::span<std::byte> to) noexcept : to_(to) {}

  void number(std::uint64_t number) noexcept {
    if (!has_room(varint_bytes(number))) return;
    at_ = static_cast<std::size_t>(put_varint(to_.data() + at_, number) - to_.data());
  }
  void run(std::size_t same, Bytes own) noexcept {
    number(same);
    number(own.size());
    if (own.empty() || !has_room(own.size())) return;
    std::memcpy(to_.data() + at_, own.data(), own.size());
    at_ += own.size();
  }
  std::size_t bytes() const noexcept { return is_full_ ? 0 : at_; }

 private:
  bool has_room(std::size_t bytes) noexcept {
    is_full_ |= bytes > to_.size() - at_;
    return !is_full_;
  }
  std::span<std::byte> to_;
  std::size_t at_ = 0;
  bool is_full_ = false;
};

}  // namespace

std::size_t write_difference(Bytes value, Bytes base, std::span<std::byte> to) noexcept {
  Runs out(to);
  out.number(value.size());
  if (!value.empty() && value.size() != base.size()) {
    const auto front = equal_at_front(value, base);
    const auto back = equal_at_back(value.subspan(front), base.subspan(front));
    out.run(front, value.subspan(front, value.size() - front - back));
    if (back != 0) out.run(back, {});
    return out.bytes();
  }
  for (std::size_t at = 0; at < value.size() && out.bytes() != 0;) {
    const auto same = equal_at_front(value.subspan(at), base.subspan(at));
    at += same;
    const auto own = at == value.size() ? 0 : unequal_at_front(value.subspan(at), base.subspan(at));
    out.run(same, value.subspan(at, own));
    at += own;
  }
  return out.bytes();
}

Result<Bytes> apply_difference(Bytes difference, Bytes base, WholeValue& whole) {
  const auto corrupt = [] { return fail(Errc::corrupt, "difference of a value"); };
  std::uint64_t at = 0, size = 0;
  if (!read_varint(difference, at, size) || size > base.size() + difference.size()) return corrupt();
  auto* const value = whole.room(size);
  const auto copy = [](std::byte* to, Bytes bytes) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  };
  std::uint64_t done = 0;
  for (bool is_first = true; done < size; is_first = false) {
    std::uint64_t same = 0, own = 0;
    if (!read_varint(difference, at, same) || !read_varint(difference, at, own)) return corrupt();
    const auto left = size - done;
    if (same > left || own > left - same || own > difference.size() - at) return corrupt();
    if (!is_first && same + own == 0) return corrupt();  // every walk ends
    const auto from = is_first || size == base.size() ? done : base.size() - left;
    if (from > base.size() || same > base.size() - from) return corrupt();
    copy(value + done, base.subspan(from, same));
    copy(value + done + same, difference.subspan(at, own));
    done += same + own;
    at += own;
  }
  if (at != difference.size()) return corrupt();
  return Bytes(value, size);
}

}  // namespace weft::store
