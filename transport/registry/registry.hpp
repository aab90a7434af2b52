// SPDX-License-Identifier: BSD-3-Clause
// Which transports there are, and which one is meant: by WEFT_TRANSPORT, or the best that works here.
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

  /// folders: where modules named transport_<name>.so lie, the first to be looked at first.
  explicit Registry(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  /// One that is linked in. It is found before a module of its name.
  void add(std::string name, Make make) { built_in_.push_back({std::move(name), std::move(make)}); }

  /// Those linked in, then the modules that lie in the folders, each name once. No module is opened for it.
  std::vector<std::string> names() const;

  /// The members die in the order that the contract asks for: the endpoint first.
  struct Opened {
    std::string name, options;
    std::unique_ptr<Transport> transport;
    std::unique_ptr<Endpoint> endpoint;  ///< NULL: see why_not
    std::string why_not;                 ///< one line: what was asked for, what is there, what to do
  };
  /// asked: "name" or "name:options", as WEFT_TRANSPORT has it. Empty: each of `preferred` in turn, until one opens.
  Opened open(std::string_view asked, const std::vector<std::string>& preferred) const;

 private:
  struct BuiltIn {
    std::string name;
    Make make;
  };
  Opened open_one(std::string_view name, std::string_view options) const;
  std::string what_is_there() const;

  std::vector<std::string> folders_;
  std::vector<BuiltIn> built_in_;
};

}  // namespace weft::transport
