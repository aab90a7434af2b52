// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/transport.hpp"

#include "base/log.hpp"
#include "base/settings.hpp"
#include "transport/tcp/endpoint.hpp"

namespace weft::tcp {

Result<std::unique_ptr<Endpoint>> TcpTransport::open(const Opening& opening) {
  const auto ports_text = base::read(base::Variable::ports).text;
  const auto ports = Ports::parse(ports_text);
  if (!ports) {
    why_not_ = "WEFT_PORTS=" + ports_text + " is neither a port, nor a range such as 20000-20999, nor none";
    return fail(Errc::invalid, why_not_.c_str());
  }
  const auto networks_text =
      opening.options.empty() ? base::read(base::Variable::net).text : std::string(opening.options);
  const auto networks = transport::Networks::parse(networks_text, why_not_);
  if (!networks) return fail(Errc::invalid, why_not_.c_str());

  std::vector<SocketAddress> toward, listen_at;
  if (opening.toward != nullptr)
    if (const auto address = base::decode<PackedAddress>(opening.toward->bytes)) toward = address->places;
  if (!ports->none) {
    listen_at = listening_addresses(networks_text.empty() ? nullptr : &*networks, toward);
    if (listen_at.empty()) {
      why_not_ = networks_text.empty()
                     ? "this node has no network with an IPv4 or IPv6 address"
                     : "WEFT_NET=" + networks_text + " leaves no network with an IPv4 or IPv6 address";
      return fail(Errc::not_found, why_not_.c_str());
    }
  }
  const auto records =
      base::read(base::Variable::tls_records).text == "openssl" ? RecordsBy::openssl : RecordsBy::weft;
  auto endpoint = TcpEndpoint::open(opening.key, listen_at, *ports, records);
  if (!endpoint) return fail(endpoint.error());
  if ((*endpoint)->records_by() != records)
    base::log(base::LogLevel::warn, base::LogPart::transport,
              "what Weft and OpenSSL seal is not the same here: OpenSSL seals and opens all (as with "
              "WEFT_TLS_RECORDS=openssl). "
              "Please report it with the version of OpenSSL");
  return std::move(*endpoint);
}

}  // namespace weft::tcp
