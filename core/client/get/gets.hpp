// SPDX-License-Identifier: BSD-3-Clause
// Get. A value that the node knows is read here, in the caller's thread. After a miss decide_get() says what
// comes next, and a Get that needs the server goes one of two ways: a card of another node through this
// rank's FetchCell, all else by message. Any thread. Source: PMIx Standard, chapter "Data access and
// sharing".
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/client/get/puts.hpp"
#include "core/client/get/resolve.hpp"
#include "core/client/group/groups.hpp"
#include "core/store/get/get_decision.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::client {

class Gets {
 public:
  /// What a Get reads, and whose it is; all outlives this.
  struct Sources {
    const pmix_proc_t& self;
    bool is_singleton;
    OwnJob& job;
    Puts& puts;
    store::LocalValues& own;  ///< the values that stay in this process
    Groups& groups;
    /// WEFT_GET_WAIT of this process; nothing: its server's holds.
    std::optional<std::chrono::milliseconds> key_wait;
  };
  Gets(const Sources& of, Connection& connection) noexcept
      : self_(of.self),
        is_singleton_(of.is_singleton),
        job_(of.job),
        puts_(of.puts),
        private_(of.own),
        groups_(of.groups),
        key_wait_(of.key_wait),
        connection_(connection) {}

  /// Reads what this process can read by itself: its own puts, the segment, its private values. key empty:
  /// everything about proc.
  /// Errors: not_found, outside_scope (ask_server() may help after either), corrupt, no_memory.
  Result<data::Value> look_up(const pmix_proc_t& proc, std::string_view key,
                              const store::GetDirectives& how) const;
  /// After look_up() has failed with `why`: decides what comes next, and has the server do what only it can.
  /// Blocks as long as the Get waits. `found` is written on PMIX_SUCCESS only.
  pmix_status_t ask_server(const Error& why, const pmix_proc_t& proc, std::string_view key,
                           const pmix_info_t* infos, std::size_t ninfo, const store::GetDirectives& how,
                           data::Value& found);
  /// done runs on the connection's thread.
  void get_later(const pmix_proc_t& proc, std::string key, data::Infos infos,
                 std::function<void(pmix_status_t, data::Value)> done);

  // Which ranks run where.
  pmix_status_t resolve_peers(std::string_view node, std::string_view nspace, std::vector<pmix_proc_t>& out);
  pmix_status_t resolve_nodes(std::string_view nspace, std::string& out);

 private:
  // Values that this process reads by itself; each function says where it looks.
  Result<data::Value> known_value(const pmix_proc_t& proc, std::string_view key,
                                  const store::GetDirectives& how) const;  ///< all of the following
  Result<data::Value> segment_or_private_value(const pmix_proc_t& proc, std::string_view key,
                                               const store::GetDirectives& how) const;
  Result<data::Value> segment_value(const pmix_proc_t& proc, std::string_view key,
                                    const store::GetDirectives& how) const;
  Result<data::Value> private_value(const pmix_proc_t& proc, std::string_view key) const;
  Result<data::Value> all_known_values(const pmix_proc_t& proc) const;
  bool has_deleted(std::string_view key) const;
  bool lives_elsewhere(const pmix_proc_t& proc) const;

  // Steps after a miss.
  store::GetFacts facts_of(const pmix_proc_t& proc, std::string_view key,
                           const store::GetDirectives& how) const;
  std::optional<store::GetStep> step_after(const Error& why, const pmix_proc_t& proc, std::string_view key,
                                           const store::GetDirectives& how) const;
  Result<data::Infos> directives_for_server(const pmix_info_t* infos, std::size_t ninfo) const;
  bool has_fetch_cell_for(const pmix_proc_t& proc, const store::GetDirectives& how) const;
  std::optional<std::int32_t> request_card(std::uint32_t rank, store::RemoteCards::Link seen,
                                           store::FetchCell::Until until);
  store::FirstCall* first_fetch_of(const pmix_proc_t& proc, std::string_view key) const;
  store::TraceLog::Entry begin_trace(store::TraceCall call, const pmix_proc_t& proc,
                                     store::TraceLog::Thread thread) const;
  pmix_status_t wait_for_server(store::GetStep step, const pmix_proc_t& proc, std::string_view key,
                                const pmix_info_t* infos, std::size_t ninfo, const store::GetDirectives& how,
                                data::Value& found);
  std::optional<pmix_status_t> get_by_fetch(const pmix_proc_t& proc, std::string_view key,
                                            const store::GetDirectives& how, data::Value& found);

  Getter getter();
  PeersOf peers_of_namespaces();

  const pmix_proc_t& self_;
  const bool is_singleton_;
  OwnJob& job_;
  Puts& puts_;
  store::LocalValues& private_;
  Groups& groups_;
  const std::optional<std::chrono::milliseconds> key_wait_;
  Connection& connection_;
};

}  // namespace weft::client
