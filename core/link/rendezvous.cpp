// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/rendezvous.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/settings.hpp"

namespace weft::link {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";

int nibble(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string first_bytes_of(const char* path) {
  const base::Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 64> bytes;
  const auto length = file ? ::read(file.get(), bytes.data(), bytes.size()) : 0;
  return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

/// True where each user of the machine has its own number: else the kernel reports some as the overflow user.
bool sees_all_users() {
  unsigned inside = 0, outside = 0, count = 0;
  return std::sscanf(first_bytes_of("/proc/self/uid_map").c_str(), "%u %u %u", &inside, &outside, &count) ==
             3 &&
         inside == 0 && count == UINT32_MAX;
}

bool is_overflow_user(uid_t user) {
  unsigned overflow = 65534;
  (void)std::sscanf(first_bytes_of("/proc/sys/kernel/overflowuid").c_str(), "%u", &overflow);
  return user == overflow;
}

}  // namespace

Token Token::random() {
  Token token;
  // 16 bytes come whole or not at all, and only before the kernel's pool is ready do they not come.
  while (::getrandom(token.bytes.data(), token.bytes.size(), 0) != static_cast<ssize_t>(token.bytes.size())) {
  }
  return token;
}

std::optional<Token> Token::parse(std::string_view hex) noexcept {
  Token token;
  if (hex.size() != token.bytes.size() * 2) return std::nullopt;
  for (std::size_t i = 0; i < token.bytes.size(); ++i) {
    const int high = nibble(hex[2 * i]);
    const int low = nibble(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    token.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return token;
}

std::string Token::hex() const {
  std::string out;
  for (const auto byte : bytes) {
    out += hex_digits[byte >> 4];
    out += hex_digits[byte & 15];
  }
  return out;
}

bool Token::equals(const Token& other) const noexcept {
  unsigned different = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) different |= bytes[i] ^ other.bytes[i];
  return different == 0;
}

Found from_environment(Identity& out) {
  const char* nspace = std::getenv(env_nspace);
  const char* rank = std::getenv(env_rank);
  if (nspace == nullptr || rank == nullptr) return Found::none;
  // The variables count as they stand there: an empty one is malformed, not missing, as with the settings.
  const char* server = std::getenv(env_server);
  const char* token = std::getenv(env_token);
  if (server == nullptr || token == nullptr) return Found::foreign;
  const auto parsed = Token::parse(token);
  const char* end = rank + std::strlen(rank);
  const auto number = std::from_chars(rank, end, out.rank);
  if (!parsed || number.ec != std::errc{} || number.ptr != end || std::strlen(nspace) > 255)
    return Found::malformed;
  out.nspace = nspace;
  out.server = server;
  out.server_file = base::read(base::Variable::server_file).text;
  out.server_uid = static_cast<uid_t>(base::read(base::Variable::server_uid).number);
  out.segment = base::read(base::Variable::segment).text;
  out.token = *parsed;
  return Found::identity;
}

Result<void> check_server(int socket, uid_t expected) {
  const auto peer = base::peer_credentials(socket);
  if (!peer) return fail(peer.error());
  if (peer->uid == ::geteuid() || peer->uid == 0 || peer->uid == expected) return {};
  if (is_overflow_user(peer->uid) && !sees_all_users()) return {};
  return fail(Errc::denied, "another user's");
}

Result<base::Fd> connect_to(const Identity& identity) {
  auto socket = connect_to(identity.server);
  if (socket || identity.server_file.empty()) return socket;
  return base::connect_to_file(identity.server_file, base::Blocking::yes);
}

bool is_server_name(std::string_view name) noexcept {
  constexpr std::string_view start = "weft-";
  if (name.substr(0, start.size()) != start) return false;
  name.remove_prefix(start.size());
  const auto digits = std::min(name.find_first_not_of("0123456789"), name.size());
  name.remove_prefix(digits);
  return digits != 0 && name.size() == 17 && name[0] == '-' &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return nibble(c) >= 0; });
}

std::string new_server_name() {
  return "weft-" + std::to_string(::getpid()) + "-" + Token::random().hex().substr(0, 16);
}

namespace {

/// A descriptor of another process: a memory of that name, and nothing else.
Result<shm::Fd> open_memory(std::string_view pid, std::string_view number, std::string_view wanted, int how) {
  const std::string path = "/proc/" + std::string(pid) + "/fd/" + std::string(number);
  // In another pid namespace the number is another process's: open nothing but a segment.
  char target[64] = {};
  const auto length = ::readlink(path.c_str(), target, sizeof target);
  if (length < 0 ||
      std::string_view(target, static_cast<std::size_t>(length)).substr(0, wanted.size()) != wanted)
    return fail(Errc::not_found, "no segment there");
  shm::Fd fd(::open(path.c_str(), how | O_CLOEXEC));
  if (!fd) return fail(Errc::not_found, "open", errno);
  return fd;
}

}  // namespace

std::string segment_place(pid_t server, int server_fd, int clients_fd) {
  return std::to_string(server) + ':' + std::to_string(server_fd) + ':' + std::to_string(clients_fd);
}

Result<SegmentFds> open_segment(std::string_view where) {
  std::array<std::string_view, 3> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto end = i + 1 == parts.size() ? where.size() : where.find(':');
    parts[i] = where.substr(0, end);
    if (end == std::string_view::npos || parts[i].empty() || parts[i].size() > 10 ||
        parts[i].find_first_not_of("0123456789") != std::string_view::npos)
      return fail(Errc::not_found, "malformed WEFT_SEGMENT");
    where.remove_prefix(std::min(end + 1, where.size()));
  }
  auto server = open_memory(parts[0], parts[1], "/memfd:weft-node", O_RDONLY);
  if (!server) return fail(server.error());
  auto clients = open_memory(parts[0], parts[2], "/memfd:weft-shared", O_RDWR);
  if (!clients) return fail(clients.error());
  return SegmentFds{std::move(*server), std::move(*clients)};
}

}  // namespace weft::link
