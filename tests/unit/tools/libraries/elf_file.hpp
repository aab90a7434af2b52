// SPDX-License-Identifier: BSD-3-Clause
// The smallest ELF file that names libraries.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace weft::libraries {

inline std::vector<std::byte> elf_file(const std::vector<std::string>& names, const std::string& rpath = {},
                                       const std::string& runpath = {}) {
  std::string strings(1, '\0');
  std::vector<Elf64_Dyn> dynamic;
  const auto add = [&](Elf64_Sxword tag, const std::string& text) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = strings.size();
    dynamic.push_back(entry);
    strings += text + '\0';
  };
  for (const auto& name : names) add(DT_NEEDED, name);
  if (!rpath.empty()) add(DT_RPATH, rpath);
  if (!runpath.empty()) add(DT_RUNPATH, runpath);
  constexpr std::uint64_t base = 0x10000;  // where the file would be in memory
  const std::uint64_t at = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  const std::uint64_t dynamic_bytes = (dynamic.size() + 3) * sizeof(Elf64_Dyn);
  const auto entry = [&](Elf64_Sxword tag, std::uint64_t value) {
    Elf64_Dyn made{};
    made.d_tag = tag;
    made.d_un.d_val = value;
    dynamic.push_back(made);
  };
  entry(DT_STRTAB, base + at + dynamic_bytes);
  entry(DT_STRSZ, strings.size());
  entry(DT_NULL, 0);
  const std::uint64_t size = at + dynamic_bytes + strings.size();

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  Elf64_Phdr segments[2]{};
  segments[0].p_type = PT_LOAD;
  segments[0].p_vaddr = base;
  segments[0].p_filesz = size;
  segments[1].p_type = PT_DYNAMIC;
  segments[1].p_offset = at;
  segments[1].p_filesz = dynamic_bytes;

  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, segments, sizeof segments);
  std::memcpy(bytes.data() + at, dynamic.data(), dynamic_bytes);
  std::memcpy(bytes.data() + at + dynamic_bytes, strings.data(), strings.size());
  return bytes;
}

}  // namespace weft::libraries
