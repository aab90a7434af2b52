// SPDX-License-Identifier: BSD-3-Clause
// The same decoders under libFuzzer, which looks for bytes that reach code that none reached before. The
// first byte of an input says which decoder has the rest. See README.md.
#include <algorithm>
#include <cstdint>

#include "tests/fuzz/decoders.hpp"

namespace {

const weft::fuzz::Decoders& decoders() {
  static const auto all = weft::fuzz::all_decoders();
  return all;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto& decoder = decoders()[data[0] % decoders().size()];
  (void)decoder.accepts({reinterpret_cast<const std::byte*>(data + 1), size - 1});
  return 0;
}

/// Now and then begins from a valid message: lengths and types that fit are hard to guess. The samples are
/// therefore the corpus that every run begins with.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  if (seed % 16 == 0) {
    const auto number = (seed >> 4) % decoders().size();
    const auto& samples = decoders()[number].samples;
    const auto& sample = samples[(seed >> 16) % samples.size()];
    if (sample.size() < most) {
      data[0] = static_cast<std::uint8_t>(number);
      std::transform(sample.begin(), sample.end(), data + 1,
                     [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
      size = sample.size() + 1;
      if (seed % 32 == 0) return size;  // as it is
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}
