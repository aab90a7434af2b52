// SPDX-License-Identifier: BSD-3-Clause
#include <new>

#include "transport/ucx/endpoint.hpp"

extern "C" {
[[gnu::visibility("default")]] extern const weft::TransportModule weft_transport_module;
const weft::TransportModule weft_transport_module{.name = "ucx", .make = []() noexcept -> weft::Transport* {
                                                    return new (std::nothrow) weft::ucx::UcxTransport;
                                                  }};
}
