// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/places/server_trace.hpp"

#include <span>
#include <utility>

#include "base/wire.hpp"
#include "tools/node/places/server_query.hpp"

namespace weft::node {
namespace {

constexpr const char* trace_key = "weft.trace";

}  // namespace

base::ServerTrace trace_in(const pmix_value_t& value) {
  if (value.type != PMIX_BYTE_OBJECT || value.data.bo.bytes == nullptr) return {};
  auto trace = base::decode<base::ServerTrace>(
      std::as_bytes(std::span<const char>(value.data.bo.bytes, value.data.bo.size)));
  return trace ? std::move(*trace) : base::ServerTrace();
}

void ask_server_trace(const std::string& nspace, std::function<void(base::ServerTrace)> answered) {
  ask_server(trace_key, nspace, [answered = std::move(answered)](const pmix_value_t* value) {
    answered(value == nullptr ? base::ServerTrace() : trace_in(*value));
  });
}

}  // namespace weft::node
