// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ofi/transport.hpp"

#include <stdlib.h>

#include "transport/ofi/endpoint.hpp"

namespace weft::ofi {

Result<std::unique_ptr<Endpoint>> OfiTransport::open(std::string_view options) {
  const char* networks = ::secure_getenv("WEFT_NET");
  auto provider =
      choose({.options = options, .networks = networks == nullptr ? "" : networks, .locality = {}}, why_not_);
  if (!provider) return fail(provider.error());
  return OfiEndpoint::make(std::move(*provider));
}

}  // namespace weft::ofi
