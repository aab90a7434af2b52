// SPDX-License-Identifier: BSD-3-Clause
// transport_tcp.so: the transport for programs that load it at run time.
#include <new>

#include "transport/tcp/transport.hpp"

extern "C" __attribute__((visibility("default"))) const weft::TransportModule weft_transport_module = {
    .version = weft::TransportModule::current_version,
    .name = "tcp",
    .make = []() noexcept -> weft::Transport* { return new (std::nothrow) weft::tcp::TcpTransport; },
};
