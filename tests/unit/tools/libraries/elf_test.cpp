// SPDX-License-Identifier: BSD-3-Clause
#include "tools/libraries/elf.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/tools/libraries/elf_file.hpp"

namespace weft::libraries {
namespace {

using Bytes = std::vector<std::byte>;

std::optional<Needs> needs_in(const Bytes& file, std::size_t* most_read = nullptr) {
  return read_needs([&](std::uint64_t offset, std::size_t length) {
    if (most_read != nullptr) *most_read = std::max(*most_read, length);
    if (offset >= file.size()) return Bytes();
    const auto end =
        std::min<std::uint64_t>(file.size(), offset + std::min<std::uint64_t>(length, file.size()));
    return Bytes(file.begin() + static_cast<std::ptrdiff_t>(offset),
                 file.begin() + static_cast<std::ptrdiff_t>(end));
  });
}

TEST(Elf, NamesLibrariesAndFolders) {
  const auto needs = needs_in(elf_file({"libmpi.so.40", "libc.so.6"}, "/opt/a:$ORIGIN", "/opt/b"));
  ASSERT_TRUE(needs);
  EXPECT_EQ(needs->names, (std::vector<std::string>{"libmpi.so.40", "libc.so.6"}));
  EXPECT_EQ(needs->rpath, "/opt/a:$ORIGIN");
  EXPECT_EQ(needs->runpath, "/opt/b");
}

TEST(Elf, AFileWithoutLibrariesNamesNone) {
  const auto needs = needs_in(elf_file({}));
  ASSERT_TRUE(needs);
  EXPECT_TRUE(needs->names.empty());
}

TEST(Elf, WhatIsNoElfFileIsNone) {
  EXPECT_FALSE(needs_in({}));
  EXPECT_FALSE(needs_in(Bytes(10000, std::byte{'#'})));
  auto file = elf_file({"libc.so.6"});
  file[EI_CLASS] = std::byte{ELFCLASS32};
  EXPECT_FALSE(needs_in(file));
  file = elf_file({"libc.so.6"});
  file[EI_DATA] = std::byte{ELFDATA2MSB};
  EXPECT_FALSE(needs_in(file));
}

TEST(Elf, AFileThatIsCutShortNamesWhatIsThere) {
  const auto file = elf_file({"liba.so", "libb.so"}, "/opt/a");
  for (std::size_t length = 0; length < file.size(); ++length) {
    const auto needs = needs_in(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length)));
    if (!needs) continue;
    for (const auto& name : needs->names) EXPECT_TRUE(name == "liba.so" || name == "libb.so") << name;
  }
}

TEST(Elf, DamagedBytesAreReadWithinBounds) {
  std::mt19937 chance(7);
  const auto file = elf_file({"libmpi.so.40", "libc.so.6"}, "/opt/a", "/opt/b");
  std::size_t most_read = 0;
  for (int round = 0; round < 20000; ++round) {
    auto damaged = file;
    for (int i = 0; i < 3; ++i) damaged[chance() % damaged.size()] = static_cast<std::byte>(chance());
    const auto needs = needs_in(damaged, &most_read);
    if (needs) {
      EXPECT_LE(needs->names.size(), 256U);
    }
  }
  EXPECT_LE(most_read, 64U * 1024);
}

}  // namespace
}  // namespace weft::libraries
