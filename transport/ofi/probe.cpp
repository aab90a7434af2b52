// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/probe.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace weft::ofi {

Probes::~Probes() {
  for (const auto& probe : all_)
    if (probe.socket >= 0) ::close(probe.socket);
}

bool Probes::fits(const fi_info& info) noexcept {
  const std::string_view name = info.fabric_attr->prov_name;
  const bool over_tcp = name == "net" || name == "tcp" || name == "tcp;ofi_rxm";
  return over_tcp && (info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN ||
                      info.addr_format == FI_SOCKADDR_IN6);
}

void Probes::start(Connection& connection) noexcept {
  if (connection.is_probed || connection.lost) return;
  sockaddr_storage to{};
  if (connection.address.size() < sizeof(sockaddr_in) || connection.address.size() > sizeof to) return;
  std::memcpy(&to, connection.address.data(), connection.address.size());
  const int socket = ::socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  const auto length = static_cast<socklen_t>(connection.address.size());
  Probe probe{&connection, socket, 0};
  const int error = ::connect(socket, reinterpret_cast<const sockaddr*>(&to), length) == 0 ? 0 : errno;
  if (error != EINPROGRESS) {
    // Other errors, such as EADDRNOTAVAIL, are local and do not concern the peer.
    if (error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH) probe.error = error;
    probe.socket = -1;
    ::close(socket);
  }
  connection.is_probed = true;
  ++connection.transfers;
  all_.push_back(probe);
}

Probes::Outcome Probes::check() noexcept {
  for (auto& probe : all_) {
    if (probe.socket >= 0) {
      pollfd ready{probe.socket, POLLOUT, 0};
      if (::poll(&ready, 1, 0) == 0) continue;
      socklen_t length = sizeof probe.error;
      if (::getsockopt(probe.socket, SOL_SOCKET, SO_ERROR, &probe.error, &length) != 0) probe.error = 0;
      ::close(probe.socket);
    }
    const Outcome out{probe.connection, probe.error};
    out.connection->is_probed = false;
    probe = all_.back();
    all_.pop_back();
    return out;
  }
  return {};
}

}  // namespace weft::ofi
