// SPDX-License-Identifier: BSD-3-Clause
// A tool, a process of no job: what PMIx_tool_init makes and PMIx_tool_finalize ends. All calls from any
// thread.
//
// A server lets a tool in by what the kernel reports of its user. No job counts a tool: no fence waits for
// it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/client/get/kept_values.hpp"
#include "core/client/get/resolve.hpp"
#include "core/client/tool/tool_servers.hpp"
#include "core/store/get/get_decision.hpp"
#include "core/store/get/local_values.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::client {

class Tool {
 public:
  /// A server that is there but says nothing, because it is stopped or has another thing to do.
  static constexpr std::chrono::seconds patience{10};
  using Done = std::function<void(pmix_status_t)>;
  using Answered = std::function<void(pmix_status_t, data::Infos)>;

  struct Started {
    std::unique_ptr<Tool> tool;  ///< NULL: see status
    pmix_status_t status;
  };
  /// self: without a namespace the server gives it a name; version: of this library. status: that of
  /// find_server().
  static Started start(const ServerWish& wish, const pmix_proc_t& self, std::string version);
  ~Tool() { stop(); }
  /// Calls that wait end; later ones, too.
  void stop() { servers_.stop(); }

  const pmix_proc_t& self() const noexcept { return self_; }
  ToolServers& servers() noexcept { return servers_; }

  /// key empty: everything the server says about proc. found: written on PMIX_SUCCESS only.
  pmix_status_t get(const pmix_proc_t& proc, std::string_view key, const pmix_info_t* infos,
                    std::size_t ninfo, const store::GetDirectives& how, data::Value& found);
  void get_later(const pmix_proc_t& proc, std::string key, data::Infos infos,
                 std::function<void(pmix_status_t, data::Value)> done);
  pmix_status_t store_internal(const pmix_proc_t& proc, std::string_view key, const pmix_value_t& value);
  pmix_value_t* keep(data::Value value) { return kept_.keep(std::move(value)); }
  pmix_status_t resolve_peers(std::string_view node, std::string_view nspace, std::vector<pmix_proc_t>& out);
  pmix_status_t resolve_nodes(std::string_view nspace, std::string& out);

  events::Registry& events() noexcept { return *servers_.handlers(); }
  void subscribe(std::size_t handler, std::vector<pmix_status_t> codes, Done done);
  void notify(events::Event event, Done done);
  Outputs& outputs() noexcept { return outputs_; }

  /// done: on the thread. Servers that can be reached are answered here (PMIX_QUERY_AVAIL_SERVERS), the rest
  /// there.
  void query_later(link::Query query, Answered done);

  // The thread of the server that requests go to; without a server there is one, too.
  /// Calls start(done) and waits for the status that done is called with; PMIX_ERR_TIMEOUT after `patience`.
  pmix_status_t await(const std::function<void(Done)>& start);
  bool on_thread();
  void run_later(std::function<void()> task);

 private:
  Tool(const pmix_proc_t& self, std::string version);
  Getter getter();
  Result<data::Value> known_value(const pmix_proc_t& proc, std::string_view key) const;

  const pmix_proc_t self_;
  Outputs outputs_;
  store::LocalValues private_;
  KeptValues kept_;
  ToolServers servers_;  ///< last: the chains of its handlers use the others
};

}  // namespace weft::client
