// SPDX-License-Identifier: BSD-3-Clause
// What the host registers: namespaces, their clients, sets of processes. Source: PMIx Standard, chapter
// "Server-specific interfaces". Any thread; done on the loop's thread, in the order of the calls.
#pragma once

#include <string>

#include "core/events/registry.hpp"
#include "core/server/clients/door.hpp"
#include "core/server/launch/launch.hpp"
#include "core/server/loop/host_calls.hpp"
#include "core/server/rooms.hpp"

namespace weft::server {

class Registrations {
 public:
  Registrations(HostCalls& calls, const pmix_proc_t& self, Door& door, Rooms& rooms, Launch& launch,
                events::Registry& handlers)
      : calls_(calls), self_(self), door_(door), rooms_(rooms), launch_(launch), handlers_(handlers) {}
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;

  void register_nspace(std::string nspace, int local_size, data::Infos infos, Done done);
  void deregister_nspace(std::string nspace, Done done);
  void register_client(pmix_proc_t proc, Registered client, Done done);
  void deregister_client(pmix_proc_t proc, Done done);
  void define_process_set(std::string name, Procs members, Done done);
  void delete_process_set(std::string name, Done done);

 private:
  void forget_nspace(const std::string& nspace, const Done& done);
  void tell_of_set(pmix_status_t code, const std::string& name);

  HostCalls& calls_;
  const pmix_proc_t self_;
  Door& door_;
  Rooms& rooms_;
  Launch& launch_;
  events::Registry& handlers_;
};

}  // namespace weft::server
