// SPDX-License-Identifier: BSD-3-Clause
// Clients of a server that is alone, which ask for groups.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "core/data/types/array.hpp"
#include "tests/unit/core/server/clients/one_node.hpp"
#include "weft/pmix_extensions.h"

namespace weft::server {

class OneNodeGroups : public OneNode {
 protected:
  static constexpr std::uint64_t tag = 7;  ///< of each request: a client has one at a time

  static Requester by(const Line& line) { return {line.connection, tag}; }
  static Procs ranks(std::initializer_list<std::uint32_t> ranks) {
    Procs out;
    for (const auto rank : ranks) out.push_back(proc(rank));
    return out;
  }
  /// The status of the reply; nothing: the call waits.
  static std::optional<pmix_status_t> status_on(const Line& line) {
    while (const auto frame = line.read()) {
      if (frame->tag != tag) continue;
      if (frame->type == link::MessageType::done) return link::decode<link::Done>(frame->payload)->status;
      if (frame->type == link::MessageType::answer) return link::decode<link::Answer>(frame->payload)->status;
    }
    return std::nullopt;
  }
  void construct(const Line& line, const Procs& members, data::Infos directives = {}) {
    request(by(line), link::GroupConstruct{"group", members, std::move(directives)});
  }
  /// option: of each member's call, true; null: none.
  void make_group(std::initializer_list<const Line*> lines, const char* option = nullptr) {
    Procs members;
    for (const auto* line : lines) members.push_back(line->connection->proc);
    for (const auto* line : lines) {
      data::Infos directives;
      if (option != nullptr) directives.add(option, data::Value::of(true));
      construct(*line, members, std::move(directives));
    }
    for (const auto* line : lines) ASSERT_EQ(status_on(*line), PMIX_SUCCESS);
  }
};

}  // namespace weft::server
