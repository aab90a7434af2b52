// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/devices.hpp"

#include <algorithm>

#include "transport/base/folder.hpp"

namespace weft::ucx {

std::string useful_modules(const std::string& sysfs) {
  const bool has_card = !transport::names_in(sysfs + "/class/infiniband").empty();
  return std::string("^cma,cuda*,gdr*,knem,rocm*,xpmem,ze*") + (has_card ? "" : ",gga*,ib*,mlx5*,rdmacm*");
}

bool lacks_wireup(std::string_view transports) noexcept {
  if (transports.starts_with('^')) return false;
  bool has_rc = false;
  for (auto left = transports; !left.empty();) {
    const auto comma = left.find(',');
    const auto entry = left.substr(0, comma);
    left.remove_prefix(comma == left.npos ? left.size() : comma + 1);
    const auto name = entry.substr(0, entry.find(':'));  // `ud_verbs:aux` is for nothing but this
    has_rc |= name == "rc_verbs" || name == "rc_mlx5";
    for (const std::string_view other : {"all", "ib", "rc", "rc_v", "rc_x"})
      if (name == other) return false;
    if (name.starts_with("ud") || name.starts_with("dc")) return false;
  }
  return has_rc;
}

transport::Network network_of(const std::string& device, const std::vector<transport::Network>& interfaces,
                              const std::string& sysfs) {
  transport::Network network;
  const auto card = device.substr(0, device.find(':'));
  network.names.push_back(card);
  for (auto& name : transport::names_in(sysfs + "/class/infiniband/" + card + "/device/net"))
    network.names.push_back(std::move(name));
  for (const auto& interface : interfaces) {
    const auto& name = interface.names.front();
    if (std::find(network.names.begin(), network.names.end(), name) == network.names.end()) continue;
    network.addresses.insert(network.addresses.end(), interface.addresses.begin(), interface.addresses.end());
  }
  return network;
}

Result<std::string> devices_for(const std::vector<std::string>& devices, std::string_view networks,
                                std::string& why_not) {
  const auto wanted = transport::Networks::parse(networks, why_not);
  if (!wanted) return fail(Errc::invalid, why_not.c_str());
  const auto interfaces = transport::interfaces();
  std::string taken, others;
  for (const auto& device : devices) {
    const auto network = network_of(device, interfaces);
    if (wanted->accepts(network))
      taken += (taken.empty() ? "" : ",") + device;
    else
      others += (others.empty() ? "" : ", ") + transport::to_text(network);
  }
  if (!taken.empty()) return others.empty() ? std::string() : taken;
  why_not = "WEFT_NET=" + std::string(networks) +
            (others.empty() ? ", and UCX has no network device here" : " matches none of " + others);
  return fail(Errc::not_found, why_not.c_str());
}

}  // namespace weft::ucx
