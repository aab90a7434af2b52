// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/roles/role.hpp"

#include <pthread.h>

#include <array>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "core/abi/calls/traced.hpp"
#include "core/abi/roles/launcher_role.hpp"
#include "core/abi/roles/role_adapters.hpp"
#include "core/topology/opaque_types.hpp"

namespace weft::abi {
namespace {

/// A call that another thread was in when the role went away ends at once, but for what the program's own
/// callbacks do.
constexpr std::chrono::seconds patience{10};

/// Ends what calls of other threads wait for, and waits for their ends. False: one goes on.
template <class Owner>
bool end_calls(Owner& owner) {
  owner.stop();
  return others_have_left(patience);
}
bool end_calls(server::Server& server) {
  const bool has_ended = server.stop();
  return others_have_left(patience) && has_ended;
}

/// Takes over `next` and its adapter, and frees the former ones when nothing leads to them any more.
template <class Adapter, class Pointer, class Choose>
void replace(Pointer& owner, std::unique_ptr<Role>& role, std::atomic<typename Pointer::pointer>& now,
             Pointer next, Choose&& choose) {
  std::unique_ptr<Role> adapter = next != nullptr ? std::make_unique<Adapter>(*next) : nullptr;
  now.store(next.get(), std::memory_order_release);
  owner.swap(next);
  role.swap(adapter);
  choose();
  if (next == nullptr || end_calls(*next)) return;
  // Calls still use the object, so it is kept to the end of the process.
  static std::vector<std::pair<std::unique_ptr<Role>, Pointer>>* const kept =
      new std::remove_pointer_t<decltype(kept)>;
  kept->emplace_back(std::move(adapter), std::move(next));
}

}  // namespace

// Topologies and cpusets are understood from here on: before the first message that may hold one. A tool does
// not install them: it reads no such description of a server that may be another user's.

void Roles::set_client(std::unique_ptr<client::Client> client) {
  topology::install_opaque_types();
  watch_forks();
  replace<ClientRole>(client_, client_role_, client_now_, std::move(client), [this] { choose(); });
}

void Roles::set_server(server::Server::Owned server) {
  topology::install_opaque_types();
  watch_forks();
  children_.store(server != nullptr ? &server->launch().children() : nullptr, std::memory_order_release);
  replace<ServerRole>(server_, server_role_, server_now_, std::move(server), [this] { choose(); });
}

void Roles::set_tool(std::unique_ptr<client::Tool> tool) {
  watch_forks();
  replace<ToolRole>(tool_, tool_role_, tool_now_, std::move(tool), [this] { choose(); });
}

void Roles::set_launcher() {
  launcher_role_ = std::make_unique<LauncherRole>(*tool_, *server_);  // no call is in one before
  is_launcher_ = true;
  choose();
}

void Roles::choose() noexcept {
  if (server_ == nullptr) is_launcher_ = false;  // calls may be in its role yet
  if (is_launcher_) {
    for (auto* const role : {&acting_, &asking_, &requesting_})
      role->store(launcher_role_.get(), std::memory_order_release);
    return;
  }
  Role* const in_job = client_role_ != nullptr ? client_role_.get() : server_role_.get();
  acting_.store(in_job != nullptr ? in_job : tool_role_.get(), std::memory_order_release);
  asking_.store(tool_role_ != nullptr ? tool_role_.get() : in_job, std::memory_order_release);
  const bool is_served = client_ != nullptr && !client_->singleton();
  requesting_.store(is_served || tool_role_ == nullptr ? in_job : tool_role_.get(),
                    std::memory_order_release);
}

void Roles::forget_parent() noexcept {
  // Reachable, for a search for leaks, and never freed: a message, a join or an unmapping would be the
  // parent's.
  static std::array<void*, 7> of_parent;
  of_parent = {client_.release(),      server_.release(),    tool_.release(),         client_role_.release(),
               server_role_.release(), tool_role_.release(), launcher_role_.release()};
  // children_ stays: a host may set the environment of what it forks up here, too.
  client_count = server_count = tool_count = 0;
  client_now_ = nullptr;
  server_now_ = nullptr;
  tool_now_ = nullptr;
  choose();
  new (&mutex_) std::mutex;  // another thread of the parent may have had it
}

void Roles::watch_forks() {
  if (std::exchange(watches_forks_, true)) return;
  // The handler saves each call the question which process it is in: getpid() is a system call, and a page
  // that fork() empties costs a load. Children that are made without fork(), by vfork(), posix_spawn() or
  // clone(), are there for execve() only.
  ::pthread_atfork(nullptr, nullptr, [] {
    forget_threads_of_parent();
    call_log.store(nullptr, std::memory_order_relaxed);
    roles().forget_parent();
  });
}

constinit RolesStorage roles_storage;

void run_later(std::function<void()> task) {
  if (auto* role = roles().acting()) role->run_later(std::move(task));
}

std::string_view text_of(const char* text, std::size_t most) noexcept {
  return text == nullptr ? std::string_view() : std::string_view(text, ::strnlen(text, most));
}

}  // namespace weft::abi
