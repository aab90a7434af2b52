// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/requests/names_of.hpp"

#include <pmix.h>

#include <charconv>
#include <string_view>

namespace weft::host {
namespace {

/// What the namespace of a run's servers has behind that of its first job.
constexpr std::string_view of_servers = "-weftrun";

std::optional<pid_t> pid_in(std::string_view text) {
  for (const std::string_view word : {"pid:", "PID:"})
    if (text.starts_with(word)) text.remove_prefix(word.size());
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  const bool is_whole = error == std::errc() && end == text.data() + text.size() && pid > 0;
  return is_whole ? std::optional(pid) : std::nullopt;
}

}  // namespace

NamesOf read_names_of(const std::string& of) {
  constexpr std::string_view file = "file:";
  if (const auto pid = pid_in(of)) return {PMIX_SERVER_PIDINFO, {}, pid};
  if (of.starts_with(file)) return {PMIX_TOOL_ATTACHMENT_FILE, of.substr(file.size()), {}};
  if (of.find(';') != std::string::npos) return {PMIX_SERVER_URI, of, {}};
  return {PMIX_SERVER_NSPACE, of.ends_with(of_servers) ? of : of + std::string(of_servers), {}};
}

std::string why_no_names(pmix_status_t status) {
  switch (status) {
    case PMIX_ERR_UNREACH:
      return "no server of a run is there under that pid, URI or namespace, on this machine and in this "
             "network namespace. What to do: see weftinfo, which lists the runs that are there";
    case PMIX_ERR_NOT_FOUND:
      return "there is no such file";
    case PMIX_ERR_NO_PERMISSIONS:
      return "it is another user's, and names are shared by runs of one user";
    case PMIX_ERR_NOT_SUPPORTED:
      return "it is of another release, or what is said of it is no URI of weftrun. What to do: see "
             "weftinfo, which lists the runs that are there";
    case PMIX_ERR_TIMEOUT:
      return "its server does not answer. What to do: see whether that weftrun is stopped";
    default:
      return PMIx_Error_string(status);
  }
}

}  // namespace weft::host
