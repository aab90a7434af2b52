// SPDX-License-Identifier: BSD-3-Clause
// What of the API half is the server's own: any thread in, the loop's thread does it.
#include "core/server/server.hpp"

namespace weft::server {

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

// ---- events and queries

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

void Server::share_names(base::Fd socket, const pmix_proc_t& server, Done done) {
  auto held = std::make_shared<base::Fd>(std::move(socket));
  run_later([this, held, server, done = answered_once(std::move(done))] {
    rooms_->published.names_link().open(std::move(*held), server, done);
  });
}

void Server::deliver_output(OutputBytes output, Done done) {
  auto held = std::make_shared<OutputBytes>(std::move(output));
  run_later([this, held, done = answered_once(std::move(done))] {
    rooms_->outputs.deliver(std::move(*held), done);
  });
}

}  // namespace weft::server
