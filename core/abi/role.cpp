// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/role.hpp"

#include <cstring>

#include "core/topology/opaque_types.hpp"

namespace weft::abi {

void Role::set_client(std::unique_ptr<client::Client> client) {
  topology::install_opaque_types();  // before the first message that may hold a topology or cpuset
  client_now_.store(client.get(), std::memory_order_release);
  client_ = std::move(client);
}

void Role::set_server(std::unique_ptr<server::Server> server) {
  topology::install_opaque_types();
  server_now_.store(server.get(), std::memory_order_release);
  server_ = std::move(server);
}

void Role::set_tool(std::unique_ptr<client::Tool> tool) {
  topology::install_opaque_types();
  tool_now_.store(tool.get(), std::memory_order_release);
  tool_ = std::move(tool);
}

Role& role() noexcept {
  static Role* const only = new Role;
  return *only;
}

void run_later(std::function<void()> task) {
  if (auto* client = role().client())
    client->run_later(std::move(task));
  else if (auto* server = role().server())
    server->run_later(std::move(task));
  else if (auto* tool = role().tool())
    tool->run_later(std::move(task));
}

std::string_view text_of(const char* text, std::size_t most) noexcept {
  return text == nullptr ? std::string_view() : std::string_view(text, ::strnlen(text, most));
}

}  // namespace weft::abi
