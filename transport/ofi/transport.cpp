// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/transport.hpp"

#include "transport/ofi/endpoint.hpp"

namespace weft::ofi {

Result<std::unique_ptr<Endpoint>> OfiTransport::open(std::string_view options) {
  auto provider = choose(options);
  if (!provider) return fail(provider.error());
  return OfiEndpoint::make(std::move(*provider));
}

}  // namespace weft::ofi
