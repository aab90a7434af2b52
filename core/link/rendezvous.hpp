// SPDX-License-Identifier: BSD-3-Clause
// How a process finds its server: through environment variables that PMIx_server_setup_fork wrote.
//
// The socket has an abstract name: it lives in the kernel only, so nothing is left behind by any exit. Where
// the user has named a folder (WEFT_SOCKET_DIR) the server has a second one, which is a file there. Values
// hold none of [ ] and *: a launcher of Open MPI 4 hands them on in a text that uses these as separators.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/local_socket.hpp"
#include "base/wire.hpp"
#include "transport/shm/segment.hpp"
#include "weft/result.hpp"

namespace weft::link {

inline constexpr const char* env_nspace = "PMIX_NAMESPACE";
inline constexpr const char* env_rank = "PMIX_RANK";
inline constexpr const char* env_server =
    "WEFT_SERVER";  ///< name of the abstract socket, without the leading NUL
/// the same server's socket that is a file; not set: it has none
inline constexpr const char* env_server_file = "WEFT_SERVER_FILE";
inline constexpr const char* env_server_uid = "WEFT_SERVER_UID";
/// "<pid>:<descriptor>:<descriptor>": the server's memory, and that of the clients of this rank's job; not
/// set: the server hands them over
inline constexpr const char* env_segment = "WEFT_SEGMENT";
inline constexpr const char* env_token = "WEFT_TOKEN";  ///< 32 hex digits, known to this rank and its server

/// Proves to the server that a process is the rank it says it is.
struct Token {
  std::array<std::uint8_t, 16> bytes{};
  static Token random();
  static std::optional<Token> parse(std::string_view hex) noexcept;
  std::string hex() const;
  /// In time that does not depend on where they differ.
  bool equals(const Token& other) const noexcept;
};
template <class Archive>
void fields(Archive& archive, Token& token) {
  archive(token.bytes);
}

struct Identity {
  std::string nspace;
  std::uint32_t rank = 0;
  std::string server;
  std::string server_file;  ///< empty: it has none
  uid_t server_uid = 0;
  std::string segment;  ///< empty: not said
  Token token;
};

enum class Found { none, identity, foreign, malformed };

/// Reads the identity from the environment. foreign: another PMIx library started this process, whose server
/// we cannot speak to.
Found from_environment(Identity& out);

/// "weft-<pid>-<16 hex digits>"; hard to guess, though guessing it gains nothing without a token.
std::string new_server_name();
/// Whether a name looks like that of a server's socket.
bool is_server_name(std::string_view name) noexcept;

struct SegmentFds {
  shm::Fd server, clients;
};
/// The text of WEFT_SEGMENT for these descriptors of a server.
std::string segment_place(pid_t server, int server_fd, int clients_fd);
/// Opens a server's segment through /proc, as its user may. Errors: not_found (another pid namespace, another
/// user, /proc hidden, or what is there is no segment): then the server hands it over itself.
Result<SegmentFds> open_segment(std::string_view where);

/// Errors: unreachable (no server has that name), os.
inline Result<base::Fd> connect_to(std::string_view server) {
  return base::connect_to(server, base::Blocking::yes);
}
/// The server of that process, by its name or, from another network namespace, by its file. Errors: as
/// connect_to().
Result<base::Fd> connect_to(const Identity& identity);
/// The kernel's word about the user of the process that listens there: this process's own, root, or
/// `expected`. A name that a server has left may be another user's by now. In a user namespace that does not
/// map all users the kernel has one number for those that it does not know, which is accepted. Errors:
/// denied, os.
Result<void> check_server(int socket, uid_t expected);
inline Result<base::Fd> listen_on(std::string_view server) {
  return base::listen_at(server);
}

}  // namespace weft::link
