// SPDX-License-Identifier: BSD-3-Clause
// The API half: any thread in, the loop's thread does it.

#include "base/log_format.hpp"
#include "core/data/names/status.hpp"
#include "core/data/types/array.hpp"
#include "core/server/jobs/job_level.hpp"
#include "core/server/server.hpp"

namespace weft::server {

void Server::run_later(std::function<void()> task) {
  loop_.post([this, task = std::move(task)] {
    const LoopWatch::Work work(watch_, "a call of the host");
    task();
  });
}

pmix_status_t Server::await(const std::function<void(Done)>& start) {
  const auto wait = Waits::make();
  start([this, wait](pmix_status_t status) { waits_.answer(wait, status); });
  for (;;) {
    if (const auto status = waits_.look(wait)) return *status;
    if (by_calls_ || on_loop())
      if (const base::Driver::Turn turn(driver_); turn) {
        serve();
        continue;
      }
    // Between looks whether the loop's thread was stopped, or another thread has left off turning it.
    const auto slice = std::chrono::milliseconds(by_calls_ ? 1 : 100);
    if (const auto status = waits_.wait_for(wait, slice)) return *status;
  }
}

// ---- namespaces and clients

void Server::register_nspace(std::string nspace, int local_size, data::Infos infos, Done done) {
  auto held = std::make_shared<data::Infos>(std::move(infos));
  run_later([this, nspace = std::move(nspace), local_size, held, done = answered_once(std::move(done))] {
    done(rooms_->register_nspace(nspace, local_size, *held));
  });
}

void Server::deregister_nspace(std::string nspace, Done done) {
  run_later([this, nspace = std::move(nspace), done = answered_once(std::move(done))] {
    after_hellos([this, nspace, done] {
      auto* job = rooms_->jobs.find_announced(nspace);
      if (job == nullptr) return done(PMIX_ERR_NOT_FOUND);
      rooms_->clients.remove_all(*job, [this, nspace, done] { forget_nspace(nspace, done); });
    });
  });
}

void Server::forget_nspace(const std::string& nspace, const Done& done) {
  auto* job = rooms_->jobs.find_announced(nspace);
  if (job == nullptr) return done(PMIX_ERR_NOT_FOUND);
  // A client that came in while the others were leaving comes too late.
  while (!job->connections.empty()) {
    const auto late = job->connections.begin()->second;
    late->finalized = true;
    late->close();
  }
  rooms_->clients.forget(nspace);
  children_->forget(nspace);
  launch_info_.forget(nspace);
  introducers_.forget(nspace);
  rooms_->ends.namespace_ended(*job);
  handlers_->forget_namespace(nspace);
  done(PMIX_SUCCESS);
}

void Server::define_process_set(std::string name, Procs members, Done done) {
  run_later(
      [this, name = std::move(name), members = std::move(members), done = answered_once(std::move(done))] {
        const auto status = rooms_->process_sets.define(name, members);
        if (status == PMIX_SUCCESS) tell_of_set(PMIX_PROCESS_SET_DEFINE, name);
        done(status);
      });
}

void Server::delete_process_set(std::string name, Done done) {
  run_later([this, name = std::move(name), done = answered_once(std::move(done))] {
    if (!rooms_->process_sets.remove(name)) return done(PMIX_ERR_NOT_FOUND);
    tell_of_set(PMIX_PROCESS_SET_DELETE, name);
    done(PMIX_SUCCESS);
  });
}

/// The clients of this server; each server has its own host.
void Server::tell_of_set(pmix_status_t code, const std::string& name) {
  events::Event event{code, self_, PMIX_RANGE_LOCAL, {}};
  event.infos.add(PMIX_PSET_NAME, data::Value::of(std::string_view(name)));
  if (const auto* runs = rooms_->process_sets.find(name)) {
    const auto members = link::procs_of(*runs);
    auto array =
        members ? data::value_of_array(PMIX_PROC, members->data(), members->size()) : fail(members.error());
    if (array) event.infos.add(PMIX_PSET_MEMBERS, std::move(*array));
  }
  event.infos.add(PMIX_EVENT_NON_DEFAULT, data::Value::of(true));
  events::stamp(event);
  rooms_->events.tell_clients(event);
}

void Server::register_client(pmix_proc_t proc, Registered client, Done done) {
  run_later([this, proc, client, done = answered_once(std::move(done))] {
    auto& job = rooms_->jobs.announce(std::string(link::nspace_of(proc)));
    job.clients[proc.rank] = client;
    if (!job.writer || job.is_learned) return done(PMIX_SUCCESS);
    done(job.writer->add_local(proc.rank) ? PMIX_SUCCESS : PMIX_ERR_OUT_OF_RESOURCE);
  });
}

void Server::deregister_client(pmix_proc_t proc, Done done) {
  run_later([this, proc, done = answered_once(std::move(done))] {
    // A process that has ended may have connected and not been accepted yet; the host is told of it before
    // `done`.
    after_hellos([this, proc, done] {
      auto* job = rooms_->jobs.find_announced(link::nspace_of(proc));
      if (job == nullptr) return done(PMIX_ERR_NOT_FOUND);
      rooms_->clients.remove(*job, proc.rank, done);
    });
  });
}

// ---- data

void Server::dmodex_request(pmix_proc_t proc, std::function<void(pmix_status_t, Blob)> done) {
  run_later([this, proc, done = answered_once(std::move(done))] {
    if (proc.rank == PMIX_RANK_WILDCARD) {
      const auto* job = rooms_->jobs.find(link::nspace_of(proc));
      auto all = job != nullptr ? encode_job_level(job->view()) : fail(Errc::not_found);
      return all ? done(PMIX_SUCCESS, std::move(*all)) : done(data::to_status(all.error()), {});
    }
    rooms_->gets.card({proc}, [done](Gets::CardReply reply) { done(reply.status, std::move(reply.card)); });
  });
}

Result<data::Value> Server::look_up(const pmix_proc_t& proc, std::string_view key,
                                    const store::GetDirectives& how) const {
  const auto nspace = link::nspace_of(proc);
  if (!key.empty())
    if (auto value = private_.find(nspace, proc.rank, key)) return value;
  const auto bytes = segment_->bytes();
  const auto at = store::find_job(bytes, nspace);
  const auto job = at ? store::JobView::open(bytes, *at) : fail(Errc::not_found);
  if (!key.empty()) {
    auto value = job ? store::lookup(*job, proc.rank, key, how, {}) : fail(Errc::not_found);
    if (value || how.realm != store::Realm::session || !how.session) return value;
    return store::lookup_session(bytes, *how.session, key);
  }
  auto all = job ? store::lookup_all(*job, proc.rank, {}) : fail(Errc::not_found);
  if (all) return all;
  data::Infos mine;
  private_.collect(nspace, proc.rank, mine);
  return mine.size() != 0 ? store::array_of(mine) : fail(Errc::not_found);
}

void Server::get(pmix_proc_t proc, std::string key, data::Infos infos,
                 std::function<void(pmix_status_t, data::Value)> done) {
  auto held = std::make_shared<data::Infos>(std::move(infos));
  run_later([this, proc, key = std::move(key), held, done = answered_once(std::move(done))] {
    if (key.empty()) {
      auto value = look_up(proc, key, {});
      return value ? done(PMIX_SUCCESS, std::move(*value)) : done(PMIX_ERR_NOT_FOUND, {});
    }
    if (auto value = private_.find(link::nspace_of(proc), proc.rank, key))
      return done(PMIX_SUCCESS, std::move(*value));
    rooms_->gets.get({proc, key, std::move(*held), {}, true},
                     [done](pmix_status_t status, const store::Encoded& bytes) {
                       data::Reader in(bytes);
                       auto value = status == PMIX_SUCCESS ? data::Value::decode(in) : fail(Errc::not_found);
                       if (value) return done(status, std::move(*value));
                       done(status == PMIX_SUCCESS ? data::to_status(value.error()) : status, {});
                     });
  });
}

pmix_status_t Server::store_internal(const pmix_proc_t& proc, std::string_view key,
                                     const pmix_value_t& value) {
  if (key.empty() || key.size() > PMIX_MAX_KEYLEN) return PMIX_ERR_BAD_PARAM;
  return private_.store(link::nspace_of(proc), proc.rank, key, value) ? PMIX_SUCCESS
                                                                      : PMIX_ERR_UNKNOWN_DATA_TYPE;
}

pmix_status_t Server::resolve_peers(std::string_view node, std::string_view nspace,
                                    std::vector<pmix_proc_t>& out) {
  const auto found = std::make_shared<std::vector<pmix_proc_t>>();
  const auto status = await([&](const Done& done) {
    run_later([this, node = std::string(node), nspace = std::string(nspace), found, done] {
      const auto* job = rooms_->jobs.find(nspace);
      if (job == nullptr) return done(PMIX_ERR_NOT_FOUND);
      const auto id = node.empty() ? job->view().my_node() : store::node_by_name(job->view(), node);
      for (const auto rank : store::ranks_on(job->view(), id))
        found->push_back(link::make_proc(nspace, rank));
      done(found->empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS);
    });
  });
  if (status == PMIX_SUCCESS) out.insert(out.end(), found->begin(), found->end());
  return status;
}

pmix_status_t Server::resolve_nodes(std::string_view nspace, std::string& out) {
  const auto found = std::make_shared<std::string>();
  const auto status = await([&](const Done& done) {
    run_later([this, nspace = std::string(nspace), found, done] {
      const auto* job = rooms_->jobs.find(nspace);
      if (job == nullptr) return done(PMIX_ERR_NOT_FOUND);
      *found = store::node_names(job->view());
      done(found->empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS);
    });
  });
  if (status == PMIX_SUCCESS) out = std::move(*found);
  return status;
}

pmix_value_t* Server::keep(data::Value value) {
  const std::lock_guard lock(kept_mutex_);
  kept_.push_back(std::make_unique<data::Value>(std::move(value)));
  return &kept_.back()->get();
}

// ---- events, queries, other servers

void Server::notify(events::Event event, Done done) {
  auto held = std::make_shared<events::Event>(std::move(event));
  run_later(
      [this, held, done = answered_once(std::move(done))] { rooms_->events.notify(std::move(*held), done); });
}

void Server::tell_clients(events::Event event) {
  auto held = std::make_shared<events::Event>(std::move(event));
  run_later([this, held] { rooms_->events.tell_clients(*held); });
}

void Server::set_module(const pmix_server_module_t& module, Done done) {
  run_later([this, module, done = answered_once(std::move(done))] {
    rooms_->host.set_module(module);
    done(PMIX_SUCCESS);
  });
}

void Server::query(link::Query query, Queries::Replied done) {
  auto held = std::make_shared<link::Query>(std::move(query));
  run_later([this, held, done = answered_once(std::move(done))] {
    rooms_->queries.query(self_, std::move(*held), done);
  });
}

pmix_status_t Server::register_attributes(const std::string& function, std::vector<std::string> attributes) {
  return rooms_->host_attributes.add(function, std::move(attributes));
}

void Server::deliver_output(OutputBytes output, Done done) {
  auto held = std::make_shared<OutputBytes>(std::move(output));
  run_later([this, held, done = answered_once(std::move(done))] {
    rooms_->services.deliver(*held);
    done(PMIX_SUCCESS);
  });
}

void Server::collect_inventory(std::function<void(pmix_status_t, data::Infos)> done) {
  run_later([this, done = answered_once(std::move(done))] {
    data::Infos out;
    if (cluster_.is_open()) {
      out.add(ClusterSpec::contact_attribute, data::Value::of_bytes(cluster_.contact()));
      out.add(ClusterSpec::transport_attribute,
              data::Value::of(std::string_view(cluster_.fabric().transport())));
      const auto way = cluster_.transport_description();
      out.add(ClusterSpec::way_attribute, data::Value::of(std::string_view(way)));
    }
    done(PMIX_SUCCESS, std::move(out));
  });
}

void Server::deliver_inventory(data::Infos infos, Done done) {
  auto held = std::make_shared<data::Infos>(std::move(infos));
  run_later([this, held, done = answered_once(std::move(done))] {
    auto status = PMIX_SUCCESS;
    for (std::size_t i = 0; i < held->size(); ++i) {
      const auto& info = held->data()[i];
      if (info.key != std::string_view(ClusterSpec::contact_attribute)) continue;
      const auto& object = info.value.data.bo;
      if (info.value.type != PMIX_BYTE_OBJECT || (object.bytes == nullptr && object.size != 0))
        return done(PMIX_ERR_BAD_PARAM);
      if (!cluster_.is_open()) return done(PMIX_ERR_NOT_SUPPORTED);
      const Bytes contact(reinterpret_cast<const std::byte*>(object.bytes), object.size);
      const auto why_not = cluster_.add(contact);
      if (why_not.empty()) {
        inventory_.emplace(contact.begin(), contact.end());
        continue;
      }
      base::warn(base::LogPart::mesh, "{}", why_not);
      status = PMIX_ERR_BAD_PARAM;  // the others are taken all the same
    }
    done(status);
  });
}

}  // namespace weft::server
