// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/registrations.hpp"

#include "core/data/types/array.hpp"
#include "core/server/loop/waits.hpp"

namespace weft::server {

void Registrations::register_nspace(std::string nspace, int local_size, data::Infos infos, Done done) {
  auto held = std::make_shared<data::Infos>(std::move(infos));
  calls_.run_later(
      [this, nspace = std::move(nspace), local_size, held, done = answered_once(std::move(done))] {
        done(rooms_.register_nspace(nspace, local_size, *held));
      });
}

void Registrations::deregister_nspace(std::string nspace, Done done) {
  calls_.run_later([this, nspace = std::move(nspace), done = answered_once(std::move(done))] {
    door_.after_hellos([this, nspace, done] {
      auto* job = rooms_.jobs.find_announced(nspace);
      if (job == nullptr || job->has_ended) {
        // A launcher that serves none of its processes has raised events about it.
        rooms_.events.forget(nspace);
        handlers_.forget_namespace(nspace);
        return done(PMIX_ERR_NOT_FOUND);
      }
      rooms_.clients.remove_all(*job, [this, nspace, done] { forget_nspace(nspace, done); });
    });
  });
}

void Registrations::forget_nspace(const std::string& nspace, const Done& done) {
  if (!rooms_.end_nspace(nspace)) return done(PMIX_ERR_NOT_FOUND);
  launch_.forget(nspace);
  handlers_.forget_namespace(nspace);
  done(PMIX_SUCCESS);
}

void Registrations::register_client(pmix_proc_t proc, Registered client, Done done) {
  calls_.run_later([this, proc, client, done = answered_once(std::move(done))] {
    rooms_.ends.make_room_for(link::nspace_of(proc));
    auto& job = rooms_.jobs.announce(std::string(link::nspace_of(proc)));
    job.clients[proc.rank] = client;
    if (!job.writer || job.is_learned) return done(PMIX_SUCCESS);
    done(job.writer->add_local(proc.rank) ? PMIX_SUCCESS : PMIX_ERR_OUT_OF_RESOURCE);
  });
}

void Registrations::deregister_client(pmix_proc_t proc, Done done) {
  calls_.run_later([this, proc, done = answered_once(std::move(done))] {
    // A process that has ended may have connected and not been accepted yet; the host is told of it before
    // `done`.
    door_.after_hellos([this, proc, done] {
      auto* job = rooms_.jobs.find_announced(link::nspace_of(proc));
      if (job == nullptr || job->has_ended) return done(PMIX_ERR_NOT_FOUND);
      rooms_.clients.remove(*job, proc.rank, done);
    });
  });
}

void Registrations::define_process_set(std::string name, Procs members, Done done) {
  calls_.run_later(
      [this, name = std::move(name), members = std::move(members), done = answered_once(std::move(done))] {
        const auto status = rooms_.process_sets.define(name, members);
        if (status == PMIX_SUCCESS) tell_of_set(PMIX_PROCESS_SET_DEFINE, name);
        done(status);
      });
}

void Registrations::delete_process_set(std::string name, Done done) {
  calls_.run_later([this, name = std::move(name), done = answered_once(std::move(done))] {
    if (!rooms_.process_sets.remove(name)) return done(PMIX_ERR_NOT_FOUND);
    tell_of_set(PMIX_PROCESS_SET_DELETE, name);
    done(PMIX_SUCCESS);
  });
}

/// The clients of this server; each server has its own host.
void Registrations::tell_of_set(pmix_status_t code, const std::string& name) {
  events::Event event{code, self_, PMIX_RANGE_LOCAL, {}};
  event.infos.add(PMIX_PSET_NAME, data::Value::of(std::string_view(name)));
  if (const auto* runs = rooms_.process_sets.find(name)) {
    const auto members = link::procs_of(*runs);
    auto array =
        members ? data::value_of_array(PMIX_PROC, members->data(), members->size()) : fail(members.error());
    if (array) event.infos.add(PMIX_PSET_MEMBERS, std::move(*array));
  }
  event.infos.add(PMIX_EVENT_NON_DEFAULT, data::Value::of(true));
  events::stamp(event);
  rooms_.events.tell_clients(event);
}

}  // namespace weft::server
