// SPDX-License-Identifier: BSD-3-Clause
// The program that this server is embedded in, as the rooms call it: one method an upcall of its module.
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

  /// module: may be null, for a host that offers nothing.
  Host(const pmix_server_module_t* module, asio::io_context& loop);
  /// What the host answers from here on has no effect.
  ~Host() { upcalls_->close(); }
  /// The loop is in the host and does not come back: neither answers nor upcalls from here on. Any thread.
  void abandon() noexcept { upcalls_->abandon(); }
  /// The upcall that the loop has not come back from; null: none. Any thread.
  const char* running() const noexcept { return upcalls_->running(); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void set_module(const pmix_server_module_t& module) noexcept { module_ = module; }
  bool does_fences() const noexcept { return module_.fence_nb != nullptr; }
  bool does_direct_modex() const noexcept { return module_.direct_modex != nullptr; }
  bool takes_events() const noexcept { return module_.notify_event != nullptr; }

  bool decides_on_tools() const noexcept { return module_.tool_connected != nullptr; }
  /// infos: what is known of the tool. done: on PMIX_SUCCESS also its name; without a namespace the host
  /// leaves it to the server.
  void tool_connected(data::Infos infos, std::function<void(pmix_status_t, const pmix_proc_t& name)> done);
  void client_connected(const pmix_proc_t& proc, void* object, Done done);
  void client_finalized(const pmix_proc_t& proc, void* object, Done done);
  void abort(const pmix_proc_t& proc, void* object, int status, std::string message,
             std::vector<pmix_proc_t> procs, Done done);
  void log(const pmix_proc_t& proc, data::Infos records, data::Infos directives, Done done);
  void notify(events::Event event, Done done);
  void fence(std::vector<pmix_proc_t> procs, data::Infos directives, const Blob& cards, TakeCards done);
  void direct_modex(const pmix_proc_t& proc, data::Infos directives, TakeCards done);

  // What clients ask for (host_services.cpp). requester: the client; a message: what it has sent.
  using Answered = std::function<void(pmix_status_t, data::Infos)>;
  using GotValue = std::function<void(pmix_status_t, data::Value)>;  ///< as in link::Answer
  void publish(const pmix_proc_t& requester, link::Publish message, Done done);
  void lookup(const pmix_proc_t& requester, link::Lookup message, GotValue done);
  void unpublish(const pmix_proc_t& requester, link::Unpublish message, Done done);
  void spawn(const pmix_proc_t& requester, link::Spawn message, GotValue done);
  void connect(link::Connect message, Done done);
  void disconnect(link::Disconnect message, Done done);
  bool does_connect() const noexcept { return module_.connect != nullptr; }
  bool does_groups() const noexcept { return module_.group != nullptr; }
  /// What all local members of a group ask for. call.procs: all members, of a group that ends, too.
  void group(pmix_group_operation_t operation, link::GroupConstruct call, Answered done);
  bool watches_events() const noexcept { return module_.register_events != nullptr; }
  void register_events(std::vector<pmix_status_t> codes, data::Infos infos, Done done);
  void deregister_events(std::vector<pmix_status_t> codes, Done done);
  bool answers_queries() const noexcept { return module_.query != nullptr; }
  /// queries: an array of PMIX_QUERY.
  void query(const pmix_proc_t& requester, data::Value queries, Answered done);
  void allocate(const pmix_proc_t& requester, link::Allocate message, Answered done);
  bool controls_jobs() const noexcept { return module_.job_control != nullptr; }
  void job_control(const pmix_proc_t& requester, link::JobControl message, Answered done);
  void monitor(const pmix_proc_t& requester, link::Monitor message, Answered done);
  void get_credential(const pmix_proc_t& requester, link::GetCredential message,
                      std::function<void(pmix_status_t, data::Value, data::Infos)> done);
  void validate_credential(const pmix_proc_t& requester, link::ValidateCredential message, Answered done);
  void pull_output(link::PullOutput message, Done done);
  void push_input(const pmix_proc_t& requester, link::PushInput message, Done done);
  void fabric(const pmix_proc_t& requester, link::Fabric message, Answered done);

 private:
  pmix_server_module_t module_{};
  const std::shared_ptr<OpenUpcalls> upcalls_;
};

}  // namespace weft::server
