// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/servers.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

namespace weft::link {
namespace {

constexpr std::string_view mark_of_socket = ";weft:";
constexpr std::size_t longest_name = 64;

/// "weft-<pid>-<16 hex digits>", as new_server_name() makes it.
std::optional<pid_t> pid_in(std::string_view name) {
  constexpr std::string_view prefix = "weft-";
  constexpr std::size_t name_digits = 16;
  if (name.substr(0, prefix.size()) != prefix || name.size() < prefix.size() + 2 + name_digits)
    return std::nullopt;
  const auto tail = name.substr(name.size() - name_digits - 1);
  const auto digits = name.substr(prefix.size(), name.size() - prefix.size() - tail.size());
  if (tail[0] != '-' || tail.find_first_not_of("0123456789abcdef", 1) != std::string_view::npos)
    return std::nullopt;
  pid_t pid = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size() || pid <= 0)
    return std::nullopt;
  return pid;
}

/// num: ref_count protocol flags type state inode [path]
std::optional<ServerSocket> server_in(std::string_view line) {
  constexpr std::string_view listening =
      "00010000";  // __SO_ACCEPTCON; connections carry the same path without it
  std::array<std::string_view, 8> words;
  std::size_t count = 0;
  for (std::size_t at = 0; count < words.size();) {
    at = line.find_first_not_of(' ', at);
    if (at == std::string_view::npos) break;
    const auto end = std::min(line.find(' ', at), line.size());
    words[count++] = line.substr(at, end - at);
    at = end;
  }
  if (count != words.size() || words[3] != listening || words[7][0] != '@') return std::nullopt;
  const auto name = words[7].substr(1);
  const auto pid = pid_in(name);
  if (!pid) return std::nullopt;
  return ServerSocket{*pid, std::string(name)};
}

std::optional<std::string> table_of(const std::string& process) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(
      std::fopen(("/proc/" + process + "/net/unix").c_str(), "re"));
  if (!file) return std::nullopt;
  std::string table;
  std::array<char, 4096> bytes;
  for (std::size_t length; (length = std::fread(bytes.data(), 1, bytes.size(), file.get())) != 0;)
    table.append(bytes.data(), length);
  return table;
}

std::string network_of(const std::string& process) {
  std::array<char, 64> target{};
  const auto length = ::readlink(("/proc/" + process + "/ns/net").c_str(), target.data(), target.size());
  return length < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(length));
}

}  // namespace

std::vector<ServerSocket> servers_in(std::string_view table) {
  std::vector<ServerSocket> out;
  while (!table.empty()) {
    const auto end = std::min(table.find('\n'), table.size());
    if (auto server = server_in(table.substr(0, end))) out.push_back(std::move(*server));
    table.remove_prefix(std::min(end + 1, table.size()));
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return out;
}

Result<std::vector<ServerSocket>> servers_here() {
  const auto table = table_of("self");
  if (!table) return fail(Errc::os, "/proc/self/net/unix cannot be read");
  return servers_in(*table);
}

std::string uri_of(const pmix_proc_t& server, std::string_view socket) {
  return std::string(server.nspace, ::strnlen(server.nspace, PMIX_MAX_NSLEN)) + "." +
         std::to_string(server.rank) + std::string(mark_of_socket).append(socket);
}

Result<ServerSocket> socket_in(std::string_view uri) {
  const auto at = uri.rfind(mark_of_socket);
  const auto name =
      at == std::string_view::npos ? uri.substr(uri.size()) : uri.substr(at + mark_of_socket.size());
  const auto pid = name.size() <= longest_name ? pid_in(name) : std::nullopt;
  if (!pid) return fail(Errc::not_supported, "no URI of a server of this library");
  return ServerSocket{*pid, std::string(name)};
}

bool listens_elsewhere(pid_t pid) {
  const auto process = std::to_string(pid);
  const auto there = network_of(process);
  if (there.empty() || there == network_of("self")) return false;
  const auto table = table_of(process);
  if (!table) return false;
  const auto servers = servers_in(*table);
  return std::any_of(servers.begin(), servers.end(), [&](const auto& server) { return server.pid == pid; });
}

}  // namespace weft::link
