// SPDX-License-Identifier: BSD-3-Clause
// What a launcher has done to the environment of its job's processes: PMIX_SET_ENVAR and its like, in their
// order. Source: PMIx Standard, chapter "Process Management", attributes of PMIx_Spawn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/data/types/value.hpp"

namespace weft::server {

enum class EnvarChange : std::uint8_t {
  set,      ///< whatever it was
  add,      ///< unless it is there
  prepend,  ///< before what is there, or alone; with the separator between
  append,
  first,  ///< prepended; where it stands elsewhere among the parts, it is taken from there
  unset,
};

struct Envar {
  EnvarChange change = EnvarChange::set;
  std::string name;
  std::string value;
  char separator = ':';
  std::optional<std::uint32_t> application{};  ///< whose processes it is for; nothing: all of the job's
  bool operator==(const Envar&) const = default;
};
template <class Archive>
void fields(Archive& archive, Envar& m) {
  archive(m.change, m.name, m.value, m.separator, m.application);
}
bool is_valid(const Envar& envar) noexcept;
using Envars = std::vector<Envar>;

/// Appends what `infos` have of these attributes, in their order; others are passed over. Those in a
/// PMIX_APP_INFO_ARRAY are for the application whose PMIX_APPNUM stands beside them. Errors: invalid: one of
/// another type, or whose name is none; an array of them without PMIX_APPNUM. Nothing is appended then.
Result<void> read_envars(const pmix_info_t* infos, std::size_t count, Envars& out);

/// env: malloc'ed strings, as execve takes it. Errors: no_memory.
Result<void> apply(const Envar& envar, char*** env);

}  // namespace weft::server
