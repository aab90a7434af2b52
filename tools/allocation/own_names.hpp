// SPDX-License-Identifier: BSD-3-Clause
// The names of this machine: host lists, Slurm and the machine itself need not use the same one.
#pragma once

#include <string>
#include <string_view>

namespace weft::allocation {

struct OwnNames {
  std::string host;        ///< as the system has it
  std::string slurm_node;  ///< SLURMD_NODENAME, which may differ; may be empty
  static OwnNames here();

  /// True if `name` is one of these, with or without domain, or localhost, or an address of a network card.
  /// Asks no resolver: a list may be long, and a resolver may take seconds for each name.
  bool matches(std::string_view name) const;
};

/// True if the resolver knows `name` and none of its addresses is this machine's. May take seconds.
bool resolves_elsewhere(const std::string& name);

/// "a" and "a.cluster.org" are the same host, "a.one.org" and "a.two.org" are not. Letter case does not
/// matter.
bool same_host(std::string_view one, std::string_view other) noexcept;

}  // namespace weft::allocation
