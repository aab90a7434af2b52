// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/role.hpp"

#include <cstring>

#include "core/abi/role_adapters.hpp"
#include "core/topology/opaque_types.hpp"

namespace weft::abi {
namespace {

/// Takes over `next` and its adapter, and frees the former ones when nothing leads to them any more.
template <class Adapter, class Owner, class Choose>
void replace(std::unique_ptr<Owner>& owner, std::unique_ptr<Role>& role, std::atomic<Owner*>& now,
             std::unique_ptr<Owner> next, Choose&& choose) {
  std::unique_ptr<Role> adapter = next != nullptr ? std::make_unique<Adapter>(*next) : nullptr;
  now.store(next.get(), std::memory_order_release);
  owner.swap(next);
  role.swap(adapter);
  choose();
}

}  // namespace

// Topologies and cpusets are understood from here on: before the first message that may hold one. A tool asks for neither, and
// reads no such description of a server that may be another user's.

void Roles::set_client(std::unique_ptr<client::Client> client) {
  topology::install_opaque_types();
  replace<ClientRole>(client_, client_role_, client_now_, std::move(client), [this] { choose(); });
}

void Roles::set_server(std::unique_ptr<server::Server> server) {
  topology::install_opaque_types();
  replace<ServerRole>(server_, server_role_, server_now_, std::move(server), [this] { choose(); });
}

void Roles::set_tool(std::unique_ptr<client::Tool> tool) {
  replace<ToolRole>(tool_, tool_role_, tool_now_, std::move(tool), [this] { choose(); });
}

void Roles::choose() noexcept {
  Role* const in_job = client_role_ != nullptr ? client_role_.get() : server_role_.get();
  acting_.store(in_job != nullptr ? in_job : tool_role_.get(), std::memory_order_release);
  asking_.store(tool_role_ != nullptr ? tool_role_.get() : in_job, std::memory_order_release);
}

Roles& roles() noexcept {
  static Roles* const only = new Roles;
  return *only;
}

void run_later(std::function<void()> task) {
  if (auto* role = roles().acting()) role->run_later(std::move(task));
}

std::string_view text_of(const char* text, std::size_t most) noexcept {
  return text == nullptr ? std::string_view() : std::string_view(text, ::strnlen(text, most));
}

}  // namespace weft::abi
