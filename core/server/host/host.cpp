// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/host.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/data/types/array.hpp"
#include "core/server/host/held_call.hpp"

namespace weft::server {
namespace {

using CardsUpcall = Upcall<LentBytes>;

/// The pmix_modex_cbfunc_t of a CardsUpcall.
void on_cards(pmix_status_t status, const char* cards, std::size_t bytes, void* pointer,
              pmix_release_cbfunc_t release, void* release_data) {
  CardsUpcall::finish_from_host(pointer, status, LentBytes(cards, bytes, release, release_data));
}

using ToolUpcall = Upcall<pmix_proc_t>;

/// The pmix_tool_connection_cbfunc_t of a ToolUpcall. The name is lent for this call.
void on_tool_decided(pmix_status_t status, pmix_proc_t* name, void* pointer) {
  const auto copy = name == nullptr ? pmix_proc_t{} : link::make_proc(link::nspace_of(*name), name->rank);
  ToolUpcall::finish_from_host(pointer, status, copy);
}

/// The answer of a CardsUpcall. call: what the host may read until then.
template <class Call>
CardsUpcall::Done take_cards(std::shared_ptr<Call> call, Host::TakeCards done) {
  return [call = std::move(call), done = std::move(done)](pmix_status_t status, LentBytes lent) {
    const auto cards = lent.take();
    done(status, *cards);
  };
}

}  // namespace

Host::Host(const pmix_server_module_t* module, asio::io_context& loop, bool hears_connects)
    : hears_connects_(hears_connects), upcalls_(std::make_shared<OpenUpcalls>(loop)) {
  if (module != nullptr) module_ = *module;
}

void Host::tool_connected(data::Infos infos, std::function<void(pmix_status_t, const pmix_proc_t&)> done) {
  auto held = std::make_shared<data::Infos>(std::move(infos));
  ask<ToolUpcall>(
      &pmix_server_module_t::tool_connected, "tool_connected",
      [held, done = std::move(done)](pmix_status_t status, const pmix_proc_t& name) {
        done(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status, name);
      },
      [&](auto function, void* open) -> pmix_status_t {
        function(held->data(), held->size(), on_tool_decided, open);
        return PMIX_SUCCESS;  // the upcall has no status: the callback is its only answer
      });
}

void Host::client_connected(const pmix_proc_t& proc, void* object, Done done) {
  if (offers(&pmix_server_module_t::client_connected2))
    return ask<OpUpcall>(
        &pmix_server_module_t::client_connected2, "client_connected2", std::move(done),
        [&](auto function, void* open) { return function(&proc, object, nullptr, 0, on_op_done, open); });
  if (module_.client_connected == nullptr) return done(PMIX_SUCCESS);
  // The older upcall has no callback of its own: its status is final.
  if (upcalls_->is_closed()) return;
  const auto status = [&] {
    const OpenUpcalls::Running running(*upcalls_, "client_connected");
    return module_.client_connected(&proc, object, nullptr, nullptr);
  }();
  done(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status);
}

void Host::client_finalized(const pmix_proc_t& proc, void* object, Done done) {
  if (!offers(&pmix_server_module_t::client_finalized)) return done(PMIX_SUCCESS);
  ask<OpUpcall>(&pmix_server_module_t::client_finalized, "client_finalized", std::move(done),
                [&](auto function, void* open) { return function(&proc, object, on_op_done, open); });
}

void Host::notify(events::Event event, Done done) {
  const auto held = std::make_shared<events::Event>(std::move(event));
  ask<OpUpcall>(&pmix_server_module_t::notify_event, "notify_event", ending(held, std::move(done)),
                [&](auto function, void* open) {
                  return function(held->code, &held->source, held->range, held->infos.data(),
                                  held->infos.size(), on_op_done, open);
                });
}

void Host::fence(std::vector<pmix_proc_t> procs, data::Infos directives, const Blob& cards, TakeCards done) {
  if (!does_fences()) return done(PMIX_ERR_NOT_SUPPORTED, {});
  // The host owns and frees what it is given.
  std::unique_ptr<char, decltype(&std::free)> data(nullptr, &std::free);
  if (!cards.empty()) {
    data.reset(static_cast<char*>(std::malloc(cards.size())));
    if (!data) return done(PMIX_ERR_NOMEM, {});
    std::memcpy(data.get(), cards.data(), cards.size());
  }
  struct Fence {
    std::vector<pmix_proc_t> procs;
    data::Infos directives;
  };
  const auto held = std::make_shared<Fence>(Fence{std::move(procs), std::move(directives)});
  ask<CardsUpcall>(&pmix_server_module_t::fence_nb, "fence_nb", take_cards(held, std::move(done)),
                   [&](auto function, void* open) {
                     return function(held->procs.data(), held->procs.size(), held->directives.data(),
                                     held->directives.size(), data.release(), cards.size(), on_cards, open);
                   });
}

void Host::direct_modex(const pmix_proc_t& proc, data::Infos directives, TakeCards done) {
  const auto held = hold(proc, std::move(directives));
  ask<CardsUpcall>(&pmix_server_module_t::direct_modex, "direct_modex", take_cards(held, std::move(done)),
                   [&](auto function, void* open) {
                     const auto& infos = held->message;
                     return function(&held->requester, infos.data(), infos.size(), on_cards, open);
                   });
}

void Host::connect(link::Connect message, Done done) {
  const auto held = hold({}, std::move(message));
  ask<OpUpcall>(&pmix_server_module_t::connect, "connect", ending(held, std::move(done)),
                [&](auto function, void* open) {
                  const auto& [procs, infos] = held->message;
                  return function(procs.data(), procs.size(), infos.data(), infos.size(), on_op_done, open);
                });
}

void Host::disconnect(link::Disconnect message, Done done) {
  const auto held = hold({}, std::move(message));
  ask<OpUpcall>(&pmix_server_module_t::disconnect, "disconnect", ending(held, std::move(done)),
                [&](auto function, void* open) {
                  const auto& [procs, infos] = held->message;
                  return function(procs.data(), procs.size(), infos.data(), infos.size(), on_op_done, open);
                });
}

void Host::group(pmix_group_operation_t operation, link::GroupConstruct call, Answered done) {
  const auto held = hold({}, std::move(call));
  ask<InfoUpcall>(&pmix_server_module_t::group, "group", ending(held, std::move(done)),
                  [&](auto function, void* open) {
                    auto& asked = held->message;
                    return function(operation, asked.group.data(), asked.procs.data(), asked.procs.size(),
                                    asked.directives.data(), asked.directives.size(), on_infos, open);
                  });
}

void Host::register_events(std::vector<pmix_status_t> codes, data::Infos infos, Done done) {
  struct Codes {
    std::vector<pmix_status_t> codes;
    data::Infos infos;
  };
  const auto held = std::make_shared<Codes>(Codes{std::move(codes), std::move(infos)});
  ask<OpUpcall>(&pmix_server_module_t::register_events, "register_events", ending(held, std::move(done)),
                [&](auto function, void* open) {
                  return function(held->codes.empty() ? nullptr : held->codes.data(), held->codes.size(),
                                  held->infos.data(), held->infos.size(), on_op_done, open);
                });
}

void Host::deregister_events(std::vector<pmix_status_t> codes, Done done) {
  const auto held = std::make_shared<std::vector<pmix_status_t>>(std::move(codes));
  ask<OpUpcall>(&pmix_server_module_t::deregister_events, "deregister_events", ending(held, std::move(done)),
                [&](auto function, void* open) {
                  return function(held->empty() ? nullptr : held->data(), held->size(), on_op_done, open);
                });
}

void Host::query(const pmix_proc_t& requester, data::Value queries, Answered done) {
  const auto held = hold(requester, std::move(queries));
  ask<InfoUpcall>(&pmix_server_module_t::query, "query", ending(held, std::move(done)),
                  [&](auto function, void* open) {
                    const auto all = data::elements_of<pmix_query_t>(held->message.get(), PMIX_QUERY);
                    return function(&held->requester, all.data(), all.size(), on_infos, open);
                  });
}

}  // namespace weft::server
