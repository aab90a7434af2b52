// SPDX-License-Identifier: BSD-3-Clause
#include "transport/registry/order.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "transport/base/folder.hpp"

namespace weft::transport {
namespace {

std::string line_of(const std::string& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

/// Whether some address of the port is not all zeros.
bool has_address(const std::string& port) {
  const auto numbers = names_in(port + "/gids");
  return std::any_of(numbers.begin(), numbers.end(), [&](const auto& number) {
    const auto address = line_of(port + "/gids/" + number);
    return address.find_first_not_of("0:") != address.npos;
  });
}

/// Why no port of the device can be used; empty: one can, as far as sysfs says.
std::string why_not(const std::string& device, std::string_view name) {
  const auto ports = names_in(device + "/ports");
  std::string reason;
  for (const auto& number : ports) {
    const auto port = device + "/ports/" + number;
    const auto state = line_of(port + "/state");  // "4: ACTIVE"
    const std::string of = std::string(name) + ": port " + number;
    if (state.find("ACTIVE") == state.npos)
      reason = of + " is not active (" + state + "): see to its link (ip link, rdma link, cable)";
    else if (!has_address(port))
      reason = of + " has no GID: give its network interface an address";
    else
      return {};
  }
  return reason;
}

}  // namespace

Order preferred_on_one_host() {
  return {{"shm", "tcp"}};
}

Order preferred_here(const std::string& sysfs) {
  const auto verbs = sysfs + "/class/infiniband";
  Order out;
  std::vector<std::string> usable;
  for (const auto& name : names_in(verbs)) {
    auto reason = why_not(verbs + "/" + name, name);
    if (reason.empty())
      usable.push_back(name);
    else if (out.note.empty())
      out.note = "no RDMA card is used. " + std::move(reason);
  }
  const auto is_there = [&](std::string_view prefix) {
    return std::any_of(usable.begin(), usable.end(),
                       [&](const auto& name) { return name.starts_with(prefix); });
  };
  if (!names_in(sysfs + "/class/cxi").empty())
    out.transports = {"ofi:cxi"};
  else if (is_there("efa"))
    out.transports = {"ofi:efa"};
  else if (is_there("hfi1"))
    out.transports = {"ofi:opx", "ofi:psm2"};
  else if (!usable.empty())
    out.transports = {"ofi:verbs;ofi_rxm"};
  if (!out.transports.empty()) out.note.clear();
  out.transports.emplace_back("tcp");
  return out;
}

}  // namespace weft::transport
