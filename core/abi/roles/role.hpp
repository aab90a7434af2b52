// SPDX-License-Identifier: BSD-3-Clause
// What this process is: a client, a server, a tool, or several of them; and what all of these can be asked
// for.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "core/abi/calls/calls.hpp"
#include "core/abi/roles/init_directives.hpp"
#include "core/client/client.hpp"
#include "core/client/tool/tool.hpp"
#include "core/server/server.hpp"

namespace weft::abi {

/// The interface by which entry points reach whichever role this process has. A role that lacks what an entry
/// point asks for answers PMIX_ERR_INIT, or nothing: for that caller the library is not initialised.
class Role {
 public:
  using Done = std::function<void(pmix_status_t)>;
  using Found = std::function<void(pmix_status_t, data::Value)>;
  using Answered = std::function<void(pmix_status_t, data::Infos)>;

  virtual ~Role() = default;
  virtual const pmix_proc_t& self() const noexcept = 0;

  /// On the library's thread.
  virtual void run_later(std::function<void()> task) = 0;
  virtual bool on_thread() const noexcept = 0;
  /// Calls start(done), on this thread, and waits until done(status) is called; on the library's thread by
  /// serving. The callback given to start must own the memory that it writes, because a wait can end
  /// without its answer (PMIX_ERR_INIT, PMIX_ERR_TIMEOUT).
  virtual pmix_status_t await(const std::function<void(Done)>& start) = 0;

  virtual pmix_status_t store_internal(const pmix_proc_t& proc, std::string_view key,
                                       const pmix_value_t& value) = 0;
  /// found: written on PMIX_SUCCESS only.
  virtual pmix_status_t get(const pmix_proc_t& proc, std::string_view key, const pmix_info_t* infos,
                            std::size_t ninfo, const store::GetDirectives& how, data::Value& found) = 0;
  virtual pmix_status_t get_later(const pmix_proc_t& proc, std::string key, data::Infos infos,
                                  Found done) = 0;
  /// A value that stays with the library until it is finalized.
  virtual pmix_value_t* keep(data::Value value) = 0;
  virtual pmix_status_t resolve_peers(std::string_view node, std::string_view nspace,
                                      std::vector<pmix_proc_t>& out) = 0;
  virtual pmix_status_t resolve_nodes(std::string_view nspace, std::string& out) = 0;

  virtual events::Registry* events() noexcept = 0;
  /// done(status) once the server knows that this process wants these events for a handler; none: all. A
  /// handler's subscription ends with the handler.
  virtual void subscribe(std::size_t handler, std::vector<pmix_status_t> codes, Done done) = 0;
  virtual void notify(events::Event event, Done done) = 0;

  /// PMIX_SUCCESS: there is a server to ask.
  virtual pmix_status_t can_query() const noexcept = 0;
  virtual void query(link::Query query, Answered done) = 0;

  /// By which a host is asked for something (core/link/requests.hpp). Null, and why: PMIX_ERR_UNREACH (there
  /// is no server), PMIX_ERR_NOT_SUPPORTED (a server, whose host has to be asked by itself).
  virtual std::shared_ptr<client::Connection> server_connection(pmix_status_t& why_not) = 0;
  /// Where output comes that was asked for through server_connection(); null where there never is one.
  virtual client::Outputs* outputs() noexcept = 0;
};

/// The roles of this process. The object is one for the process, because the C API has no handle that could
/// carry it.
class Roles {
 public:
  /// Loads only. The role that is returned stays valid during the call that asks for it (calls.hpp).
  client::Client* client() const noexcept { return client_now_.load(std::memory_order_acquire); }
  server::Server* server() const noexcept { return server_now_.load(std::memory_order_acquire); }
  /// For PMIx_server_setup_fork, also in a child that a server has forked, where server() is null.
  const server::ChildEnvironment* children() const noexcept {
    return children_.load(std::memory_order_acquire);
  }
  client::Tool* tool() const noexcept { return tool_now_.load(std::memory_order_acquire); }
  /// The client, else the server, else the tool; NULL: none.
  Role* acting() const noexcept { return acting_.load(std::memory_order_acquire); }
  /// For queries: the tool before the others, because it was made to ask.
  Role* asking() const noexcept { return asking_.load(std::memory_order_acquire); }
  /// For what a host is asked for: the client that has a server, else the tool, else the others.
  Role* requesting() const noexcept { return requesting_.load(std::memory_order_acquire); }

  /// Init and finalize, one at a time.
  class Changing {
   public:
    explicit Changing(Roles& roles) : lock_(roles.mutex_) {}

   private:
    const OutsideCall outside_;
    const std::lock_guard<std::mutex> lock_;
  };
  unsigned client_count = 0;
  std::unique_ptr<InitDirectives> init_directives;  ///< of those calls; null before the first
  unsigned server_count = 0;
  unsigned tool_count = 0;
  void set_client(std::unique_ptr<client::Client> client);
  void set_server(server::Server::Owned server);
  void set_tool(std::unique_ptr<client::Tool> tool);
  /// The server that there is was made for the tool, and goes with it: calls see one role.
  void set_launcher();
  bool is_launcher() const noexcept { return is_launcher_ && server_ != nullptr; }
  /// In the child of a fork: what its parent is remains the parent's, untouched, and here there is no role.
  void forget_parent() noexcept;

 private:
  void choose() noexcept;
  void watch_forks();

  std::mutex mutex_;
  bool watches_forks_ = false;
  std::unique_ptr<client::Client> client_;
  server::Server::Owned server_;
  std::unique_ptr<client::Tool> tool_;
  std::unique_ptr<Role> client_role_, server_role_, tool_role_, launcher_role_;
  bool is_launcher_ = false;
  std::atomic<client::Client*> client_now_{nullptr};
  std::atomic<server::Server*> server_now_{nullptr};
  std::atomic<client::Tool*> tool_now_{nullptr};
  std::atomic<const server::ChildEnvironment*> children_{nullptr};
  std::atomic<Role*> acting_{nullptr}, asking_{nullptr}, requesting_{nullptr};
};

/// Never destroyed: threads of the application may still call while the process exits.
union RolesStorage {
  Roles roles;
  constexpr RolesStorage() noexcept : roles() {}
  ~RolesStorage() {}
};
extern constinit RolesStorage roles_storage;

inline Roles& roles() noexcept {
  return roles_storage.roles;
}

/// On the library's thread of whichever role there is. Without a role the task is dropped: nothing can have
/// asked for it.
void run_later(std::function<void()> task);

/// The text of a fixed-size or NUL-terminated C name, never longer than `most`.
std::string_view text_of(const char* text, std::size_t most) noexcept;

}  // namespace weft::abi
