// SPDX-License-Identifier: BSD-3-Clause
#include "tools/libraries/elf.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace weft::libraries {
namespace {

constexpr std::size_t most_segments = 64, most_entries = 1024, most_needs = 256, longest_text = 4096;

template <class Entry>
std::optional<Entry> entry_at(const Read& read, std::uint64_t offset) {
  const auto bytes = read(offset, sizeof(Entry));
  if (bytes.size() < sizeof(Entry)) return std::nullopt;
  Entry entry;
  std::memcpy(&entry, bytes.data(), sizeof entry);
  return entry;
}

template <class Entry>
std::vector<Entry> entries_at(const Read& read, std::uint64_t offset, std::size_t count) {
  const auto bytes = read(offset, count * sizeof(Entry));
  std::vector<Entry> entries(bytes.size() / sizeof(Entry));
  if (!entries.empty()) std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(Entry));
  return entries;
}

bool is_known_kind(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_phentsize == sizeof(Elf64_Phdr) &&
         header.e_phnum <= most_segments;
}

std::optional<std::uint64_t> file_offset(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
  for (const auto& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const auto into = address - segment.p_vaddr;
    if (into < segment.p_filesz && into <= UINT64_MAX - segment.p_offset) return segment.p_offset + into;
  }
  return std::nullopt;
}

/// The text at `index` of the string table; empty where it is longer than any path, or outside of the table.
std::string text_at(const Read& read, std::uint64_t table, std::uint64_t table_bytes, std::uint64_t index) {
  if (index >= table_bytes || index > UINT64_MAX - table) return {};
  const auto bytes = read(
      table + index, static_cast<std::size_t>(std::min<std::uint64_t>(longest_text, table_bytes - index)));
  const auto end = std::find(bytes.begin(), bytes.end(), std::byte{0});
  if (end == bytes.end()) return {};
  return {reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(end - bytes.begin())};
}

struct Dynamic {
  std::vector<std::uint64_t> needed;
  std::optional<std::uint64_t> strings, rpath, runpath;
  std::uint64_t strings_bytes = 0;
};

Dynamic read_dynamic(const Read& read, const Elf64_Phdr& segment) {
  Dynamic dynamic;
  const auto count = std::min<std::uint64_t>(most_entries, segment.p_filesz / sizeof(Elf64_Dyn));
  for (const auto& entry : entries_at<Elf64_Dyn>(read, segment.p_offset, static_cast<std::size_t>(count))) {
    const auto value = entry.d_un.d_val;
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED && dynamic.needed.size() < most_needs) dynamic.needed.push_back(value);
    if (entry.d_tag == DT_STRTAB) dynamic.strings = value;
    if (entry.d_tag == DT_STRSZ) dynamic.strings_bytes = value;
    if (entry.d_tag == DT_RPATH) dynamic.rpath = value;
    if (entry.d_tag == DT_RUNPATH) dynamic.runpath = value;
  }
  return dynamic;
}

}  // namespace

std::optional<Needs> read_needs(const Read& read) {
  const auto header = entry_at<Elf64_Ehdr>(read, 0);
  if (!header || !is_known_kind(*header)) return std::nullopt;
  const auto segments = entries_at<Elf64_Phdr>(read, header->e_phoff, header->e_phnum);
  const auto at = std::find_if(segments.begin(), segments.end(),
                               [](const Elf64_Phdr& segment) { return segment.p_type == PT_DYNAMIC; });
  if (at == segments.end()) return std::nullopt;
  const auto dynamic = read_dynamic(read, *at);
  const auto table = dynamic.strings ? file_offset(segments, *dynamic.strings) : std::nullopt;
  if (!table) return std::nullopt;
  const auto text = [&](std::uint64_t index) { return text_at(read, *table, dynamic.strings_bytes, index); };
  Needs needs;
  for (const auto index : dynamic.needed)
    if (auto name = text(index); !name.empty()) needs.names.push_back(std::move(name));
  if (dynamic.rpath) needs.rpath = text(*dynamic.rpath);
  if (dynamic.runpath) needs.runpath = text(*dynamic.runpath);
  return needs;
}

}  // namespace weft::libraries
