// SPDX-License-Identifier: BSD-3-Clause
// The program that this server is embedded in: the upcalls that rooms make, one method each, and ask() for
// those that a single request is for (requests/).
//
// Each takes what the Standard's prototype takes and a `done` that runs on the loop's thread, once, whichever
// completion style the host chose. An upcall that the host does not offer ends as PMIX_ERR_NOT_SUPPORTED.
#pragma once

#include <functional>
#include <string>

#include "core/data/types/value.hpp"
#include "core/events/event.hpp"
#include "core/link/requests.hpp"
#include "core/server/host/upcall.hpp"
#include "core/server/types.hpp"

namespace weft::server {

class Host {
 public:
  /// Cards of other nodes, as the host brought them.
  using TakeCards = std::function<void(pmix_status_t, const Blob& cards)>;

  /// module: may be null, for a host that offers nothing. hears_connects: its upcalls connect and disconnect
  /// only hear of what the servers have done (weft.hears_connects).
  Host(const pmix_server_module_t* module, asio::io_context& loop, bool hears_connects = false);
  /// What the host answers from here on has no effect.
  ~Host() { upcalls_->close(); }
  /// Those that have not been answered. Any thread.
  OpenUpcalls& upcalls() const noexcept { return *upcalls_; }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void set_module(const pmix_server_module_t& module) noexcept { module_ = module; }
  /// function: a member of the module.
  template <class Function>
  bool offers(Function pmix_server_module_t::*function) const noexcept {
    return module_.*function != nullptr;
  }
  bool does_fences() const noexcept { return offers(&pmix_server_module_t::fence_nb); }
  bool does_connect() const noexcept { return !hears_connects_ && offers(&pmix_server_module_t::connect); }
  bool hears_connects() const noexcept { return hears_connects_; }
  bool does_groups() const noexcept { return offers(&pmix_server_module_t::group); }

  /// Makes an upcall: call(function of the module, pointer for its callback) returns the function's status.
  /// name: as Upcall::make().
  template <class Kind, class Function, class Call>
  void ask(Function pmix_server_module_t::*function, const char* name, typename Kind::Done done,
           Call&& call) {
    const auto called = module_.*function;
    if (called == nullptr) return Kind::refuse(done);
    Kind::make(upcalls_, name, std::move(done), [&](void* open) { return call(called, open); });
  }

  /// infos: what is known of the tool. done: on PMIX_SUCCESS also its name; without a namespace the host
  /// leaves it to the server.
  void tool_connected(data::Infos infos, std::function<void(pmix_status_t, const pmix_proc_t& name)> done);
  void client_connected(const pmix_proc_t& proc, void* object, Done done);
  void client_finalized(const pmix_proc_t& proc, void* object, Done done);
  void notify(events::Event event, Done done);
  void fence(std::vector<pmix_proc_t> procs, data::Infos directives, const Blob& cards, TakeCards done);
  void direct_modex(const pmix_proc_t& proc, data::Infos directives, TakeCards done);

  using Answered = std::function<void(pmix_status_t, data::Infos)>;
  using GotValue = std::function<void(pmix_status_t, data::Value)>;  ///< as in link::Answer
  void connect(link::Connect message, Done done);
  void disconnect(link::Disconnect message, Done done);
  /// What all local members of a group ask for. call.procs: all members, of a group that ends, too.
  void group(pmix_group_operation_t operation, link::GroupConstruct call, Answered done);
  void register_events(std::vector<pmix_status_t> codes, data::Infos infos, Done done);
  void deregister_events(std::vector<pmix_status_t> codes, Done done);
  /// requester: a client. queries: an array of PMIX_QUERY.
  void query(const pmix_proc_t& requester, data::Value queries, Answered done);

 private:
  pmix_server_module_t module_{};
  const bool hears_connects_;
  const std::shared_ptr<OpenUpcalls> upcalls_;
};

}  // namespace weft::server
