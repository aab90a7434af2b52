// SPDX-License-Identifier: BSD-3-Clause
// The program that this server is embedded in, as the rooms call it: one method an upcall of its module.
//
// Each takes what the Standard's prototype takes and a `done` that runs on the loop's thread, once, whichever completion style
// the host chose. An upcall that the host does not offer ends as PMIX_ERR_NOT_SUPPORTED.
#pragma once

#include <functional>
#include <string>

#include "core/data/value.hpp"
#include "core/events/event.hpp"
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

  bool does_fences() const noexcept { return module_.fence_nb != nullptr; }
  bool does_direct_modex() const noexcept { return module_.direct_modex != nullptr; }
  bool takes_events() const noexcept { return module_.notify_event != nullptr; }

  void client_connected(const pmix_proc_t& proc, void* object, Done done);
  void client_finalized(const pmix_proc_t& proc, void* object, Done done);
  void abort(const pmix_proc_t& proc, void* object, int status, std::string message,
             std::vector<pmix_proc_t> procs, Done done);
  void log(const pmix_proc_t& proc, data::Infos records, data::Infos directives, Done done);
  void notify(events::Event event, Done done);
  void fence(std::vector<pmix_proc_t> procs, data::Infos directives, const Blob& cards, TakeCards done);
  void direct_modex(const pmix_proc_t& proc, data::Infos directives, TakeCards done);

 private:
  pmix_server_module_t module_{};
  const std::shared_ptr<OpenUpcalls> upcalls_;
};

}  // namespace weft::server
