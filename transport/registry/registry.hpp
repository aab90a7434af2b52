// SPDX-License-Identifier: BSD-3-Clause
// Finds transports: by the name in WEFT_TRANSPORT, or the best that works on this machine.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/transport.hpp"

namespace weft::transport {

class Registry {
 public:
  using Make = std::function<std::unique_ptr<Transport>()>;

  /// folders: searched in this order for modules named transport_<name>.so.
  explicit Registry(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  /// Adds a transport that is linked in. Such a transport takes precedence over a module of the same name.
  void add(std::string name, Make make) { built_in_.push_back({std::move(name), std::move(make)}); }

  /// The names of the transports that are linked in, then of the modules in the folders, each once. Opens no
  /// module.
  std::vector<std::string> names() const;

  /// The members are destroyed in the order that the contract requires: the endpoint first.
  struct OpenResult {
    std::string name, options;
    std::unique_ptr<Transport> transport;
    std::unique_ptr<Endpoint> endpoint;  ///< NULL: failed, see why_not
    std::string why_not;                 ///< one line: what was requested, what is available, what to do
    std::string passed_over{};           ///< one line: better ones of `preferred` that did not open, and why
  };
  /// asked: "name" or "name:options", the value of WEFT_TRANSPORT. Empty: tries `preferred` in order until
  /// one opens. with: its options are not looked at.
  OpenResult open(std::string_view asked, const std::vector<std::string>& preferred,
                  const Opening& with = {}) const;

 private:
  struct BuiltIn {
    std::string name;
    Make make;
  };
  OpenResult open_named(std::string_view name, std::string_view options, const Opening& with) const;
  std::string describe_choices() const;

  std::vector<std::string> folders_;
  std::vector<BuiltIn> built_in_;
};

}  // namespace weft::transport
