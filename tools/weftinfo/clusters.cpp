// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftinfo/clusters.hpp"

#include <pmix_tool.h>

#include <algorithm>
#include <map>

#include "tools/weftinfo/messages.hpp"
#include "tools/weftinfo/reader.hpp"

namespace weft::weftinfo {
namespace {

constexpr const char* report_key = "weft.cluster";

/// This process as a tool: of the server of `pid`, or of none.
class Tool {
 public:
  explicit Tool(std::optional<long> pid) : pid_(pid) {
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    if (pid) {
      const auto number = static_cast<pid_t>(*pid);
      PMIX_INFO_LOAD(&info, PMIX_SERVER_PIDINFO, &number, PMIX_PID);
    } else {
      PMIX_INFO_LOAD(&info, PMIX_TOOL_DO_NOT_CONNECT, nullptr, PMIX_BOOL);
    }
    const auto status = PMIx_tool_init(nullptr, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    if (status != PMIX_SUCCESS) throw messages::cannot_attach(pid, status);
  }
  ~Tool() { PMIx_tool_finalize(); }
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  /// read: from the value of the only key that is asked for.
  template <class Read>
  auto ask(const char* key, bool only_here, Read&& read) const {
    char* keys[] = {const_cast<char*>(key), nullptr};
    pmix_info_t qualifier;
    PMIX_INFO_LOAD(&qualifier, PMIX_QUERY_LOCAL_ONLY, nullptr, PMIX_BOOL);
    pmix_query_t query{keys, &qualifier, only_here ? std::size_t{1} : 0};
    pmix_info_t* results = nullptr;
    std::size_t count = 0;
    const auto status = PMIx_Query_info(&query, 1, &results, &count);
    PMIX_INFO_DESTRUCT(&qualifier);
    if (status != PMIX_SUCCESS) throw messages::no_answer(pid_, status);
    struct Results {
      pmix_info_t* list;
      std::size_t count;
      ~Results() { PMIX_INFO_FREE(list, count); }
    } const owned{results, count};
    if (count != 1) throw messages::unreadable_report();
    return read(results[0].value);
  }

 private:
  std::optional<long> pid_;
};

struct Server {
  std::uint32_t rank = 0;
  long pid = 0;
};

Cluster read_report(const pmix_value_t& value) {
  auto cluster = read_cluster(value);
  if (!cluster) throw messages::unreadable_report();
  return std::move(*cluster);
}

std::uint64_t age_of(const Listed& server) {
  return server.cluster.nodes.empty() ? 0 : server.cluster.nodes[0].age_ms;
}

}  // namespace

std::vector<Listed> one_of_each(std::vector<Listed> servers) {
  std::sort(servers.begin(), servers.end(),
            [](const Listed& a, const Listed& b) { return age_of(a) > age_of(b); });
  // Hosts that do not name their clusters apart have several of one name: then a number comes twice.
  std::map<std::string, std::uint32_t> first;
  std::map<std::string, std::vector<Job>> jobs;
  for (const auto& server : servers) {
    first.try_emplace(server.cluster.nspace, server.rank);
    auto& known = jobs[server.cluster.nspace];
    if (known.empty()) known = server.cluster.jobs;
  }
  // A launcher without ranks of its own knows its job's name only.
  for (auto& server : servers)
    if (server.cluster.jobs.empty()) server.cluster.jobs = jobs[server.cluster.nspace];
  std::erase_if(servers, [&](const Listed& server) { return server.rank != first[server.cluster.nspace]; });
  std::sort(servers.begin(), servers.end(), [](const Listed& a, const Listed& b) { return a.pid < b.pid; });
  return servers;
}

std::vector<Listed> list_clusters() {
  auto servers = Tool(std::nullopt).ask(PMIX_QUERY_AVAIL_SERVERS, false, [](const pmix_value_t& value) {
    return Reader(&value).each([](const Reader& one) {
      return Server{one.at(PMIX_SERVER_RANK).small(),
                    static_cast<long>(one.at(PMIX_SERVER_PIDINFO).number())};
    });
  });
  std::vector<Listed> out;
  for (const auto& server : servers) try {
      const Tool tool(server.pid);
      out.push_back({server.pid, server.rank, tool.ask(report_key, true, read_report)});
    } catch (const Stop&) {
      // The server ended, or was stopped, since it answered.
    }
  return one_of_each(std::move(out));
}

Cluster ask_cluster(long pid) {
  return Tool(pid).ask(report_key, false, read_report);
}

}  // namespace weft::weftinfo
