// SPDX-License-Identifier: BSD-3-Clause
// A name that a process has published: its key and value, and which processes may see it. Pure data and
// functions; what is said here of ranges is docs/design/published.md.
//
// Space     A range and what it is relative to: the publisher's node, its namespace, a list of processes, the
//           publisher alone. A key stands in a space once.
// Sight     A process sees a name if the publisher is in the range that the process looks in, and the process
//           in that of the publisher; access by user is asked behind that, so that "hidden" can be told from
//           "none".
// Source: PMIx Standard, chapter "Publish/Lookup Operations", "Retrieval rules for published data".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/data/types/fields.hpp"
#include "core/data/types/value.hpp"
#include "core/link/rank_runs.hpp"
#include "transport/mesh/node.hpp"

namespace weft::server {

using mesh::NodeNumber;

/// What the names of one call of PMIx_Publish have in common.
struct Publication {
  std::string nspace;  ///< of the publisher
  std::uint32_t rank = 0;
  NodeNumber origin = 0;     ///< its node
  std::uint64_t number = 0;  ///< of the call, counted by the server of the origin
  pmix_data_range_t range = PMIX_RANGE_SESSION;
  pmix_persistence_t persistence = PMIX_PERSIST_APP;
  link::RankRuns custom{};  ///< PMIX_RANGE_CUSTOM
  /// Users and groups of users that have access; nothing: all.
  std::optional<std::vector<std::uint32_t>> users{}, groups{};

  pmix_proc_t publisher() const;
  /// Processes of other runs may see it.
  bool is_of_runs() const noexcept { return range == PMIX_RANGE_SESSION || range == PMIX_RANGE_GLOBAL; }
  /// No process of another node sees it: the server of the origin keeps it.
  bool is_of_node() const noexcept { return range == PMIX_RANGE_LOCAL || range == PMIX_RANGE_PROC_LOCAL; }
  bool goes_when_read() const noexcept { return persistence == PMIX_PERSIST_FIRST_READ; }
  // No process could see it any more, or its persistence has ended.
  bool ends_with_process() const noexcept;
  bool ends_with_namespace() const noexcept;
};
template <class Archive>
void fields(Archive& archive, Publication& m) {
  archive(m.nspace, m.rank, m.origin, m.number, m.range, m.persistence, m.custom, m.users, m.groups);
}
bool is_valid(const Publication& by) noexcept;

struct Name {
  std::shared_ptr<const Publication> by;
  std::string key;
  std::vector<std::byte> value;  ///< as data::encode_value() writes it

  bool is_of(NodeNumber origin, std::uint64_t number) const noexcept {
    return by->origin == origin && by->number == number;
  }
  /// Bytes that it counts: those of key and value, and about what a server keeps beside them.
  std::size_t weight() const noexcept { return key.size() + value.size() + 256; }
};
using NameRef = std::shared_ptr<const Name>;

/// A process that looks names up, and where.
struct Looker {
  /// In place of a node: of another run. Such a process sees names of SESSION and GLOBAL alone.
  static constexpr NodeNumber of_other_run = UINT32_MAX;

  pmix_proc_t proc{};
  NodeNumber node = 0;
  std::uint32_t uid = 0, gid = 0;
  pmix_data_range_t range = PMIX_RANGE_SESSION;  ///< that the publisher is in
  link::RankRuns custom{};                       ///< PMIX_RANGE_CUSTOM
};
template <class Archive>
void fields(Archive& archive, Looker& m) {
  archive(m.proc, m.node, m.uid, m.gid, m.range, m.custom);
}
bool is_valid(const Looker& looker) noexcept;

enum class Sight : std::uint8_t {
  none,
  hidden,  ///< the ranges are met, and the user has no access
  seen,
};
Sight sight_of(const Publication& by, const Looker& looker);
/// Whether this user may see the name, in whichever range.
bool has_access(const Publication& by, std::uint32_t uid, std::uint32_t gid) noexcept;
bool is_same_space(const Publication& a, const Publication& b);
/// The name in the narrower range is found where several are in sight.
bool is_narrower(const Publication& a, const Publication& b) noexcept;

// What a call says, as the infos of a message.
/// All but publisher, origin and number. PMIX_ERR_BAD_PARAM: a directive of a wrong type, or without what it
/// needs.
pmix_status_t read_publication(const data::Infos& infos, Publication& out);
/// PMIX_RANGE, and PMIX_EVENT_CUSTOM_RANGE beside it. is_given: false: the range is the default.
pmix_status_t read_range(const data::Infos& infos, pmix_data_range_t& range, link::RankRuns& custom,
                         bool* is_given = nullptr);
/// The same of a lookup, where a number that is no range is as none: Open MPI 5 leaves the range of a lookup
/// unset, and looks up a name with whatever its stack holds.
pmix_status_t read_range(const data::Infos& infos, Looker& looker);

}  // namespace weft::server
