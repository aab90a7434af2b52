// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/transport.hpp"

#include "base/settings.hpp"
#include "transport/ofi/endpoint.hpp"

namespace weft::ofi {

Result<std::unique_ptr<Endpoint>> OfiTransport::open(const Opening& opening) {
  const auto networks = base::read(base::Variable::net).text;
  auto provider = choose({.options = opening.options, .networks = networks, .locality = {}}, why_not_);
  if (!provider) return fail(provider.error());
  return OfiEndpoint::make(std::move(*provider));
}

}  // namespace weft::ofi
