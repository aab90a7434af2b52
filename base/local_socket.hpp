// SPDX-License-Identifier: BSD-3-Clause
// Unix stream sockets, with abstract names where nothing asks for a file: no file is left behind by any exit,
// and the kernel says which process is at the other end. No descriptor that is made here survives an exec.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::base {

enum class Blocking : bool { no, yes };

/// A socket that listens; it does not block. Errors: invalid (an empty or too long name), os (EADDRINUSE:
/// taken).
Result<Fd> listen_at(std::string_view name);
/// Errors: invalid, unreachable (no process listens there), again (Blocking::no: too many wait to be
/// accepted), os.
Result<Fd> connect_to(std::string_view name, Blocking blocking);

/// The same of sockets that are files: a process finds them where their folder is mounted, whatever its
/// network namespace. The file stays when its server ends. Errors: unreachable also where there is no such
/// file.
Result<Fd> listen_at_file(std::string_view path);
Result<Fd> connect_to_file(std::string_view path, Blocking blocking);

/// The process that connected, or that listens: its pid as this process sees it (0: in another pid
/// namespace), user and group. Errors: os.
Result<ucred> peer_credentials(int socket);

/// Whether an error of accept4() says that this process or the system is short of descriptors or memory: the
/// connection stays in the backlog, and the listener readable: its owner pauses for `shortage_pause`.
bool is_shortage(int error) noexcept;
inline constexpr std::chrono::milliseconds shortage_pause{50};

/// Room for the descriptors of one message.
inline constexpr std::size_t most_descriptors = 8;

/// One sendmsg(), repeated when a signal interrupts it; no SIGPIPE. The descriptors, most_descriptors at
/// most, go with the first byte. Number of bytes that went. Errors: again (Blocking::no, or a socket that
/// does not block), peer_lost, os.
Result<std::size_t> send_some(int socket, Bytes bytes, std::span<const int> descriptors, Blocking blocking);

enum class Take { bytes, copy };  ///< copy: the bytes, and descriptors with them, stay to be received again

/// One recvmsg(), repeated when a signal interrupts it. Descriptors that came along are appended, if there is
/// a list; else the kernel closes them. Errors: again, peer_lost (closed), corrupt (more than
/// most_descriptors, or than are free here; all are closed), os.
Result<std::size_t> receive_some(int socket, MutableBytes into, std::vector<Fd>* descriptors,
                                 Blocking blocking, Take take = Take::bytes);

}  // namespace weft::base
