// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/host.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/server/host/lent.hpp"

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

Host::Host(const pmix_server_module_t* module, asio::io_context& loop)
    : upcalls_(std::make_shared<OpenUpcalls>(loop)) {
  if (module != nullptr) module_ = *module;
}

void Host::tool_connected(data::Infos infos, std::function<void(pmix_status_t, const pmix_proc_t&)> done) {
  if (!decides_on_tools()) return done(PMIX_ERR_NOT_SUPPORTED, {});
  auto held = std::make_shared<data::Infos>(std::move(infos));
  ToolUpcall::make(
      upcalls_, "tool_connected",
      [held, done = std::move(done)](pmix_status_t status, const pmix_proc_t& name) {
        done(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status, name);
      },
      [&](void* open) -> pmix_status_t {
        module_.tool_connected(held->data(), held->size(), on_tool_decided, open);
        return PMIX_SUCCESS;  // it has no status: the callback is its only answer
      });
}

void Host::client_connected(const pmix_proc_t& proc, void* object, Done done) {
  if (module_.client_connected2 != nullptr)
    return OpUpcall::make(upcalls_, "client_connected2", std::move(done), [&](void* open) {
      return module_.client_connected2(&proc, object, nullptr, 0, on_op_done, open);
    });
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
  if (module_.client_finalized == nullptr) return done(PMIX_SUCCESS);
  OpUpcall::make(upcalls_, "client_finalized", std::move(done),
                 [&](void* open) { return module_.client_finalized(&proc, object, on_op_done, open); });
}

void Host::abort(const pmix_proc_t& proc, void* object, int status, std::string message,
                 std::vector<pmix_proc_t> procs, Done done) {
  if (module_.abort == nullptr) return done(PMIX_ERR_NOT_SUPPORTED);
  struct Call {
    pmix_proc_t proc;
    std::string message;
    std::vector<pmix_proc_t> procs;
  };
  // It lives until the host has answered: the host may read it until then.
  auto held = std::make_shared<Call>(Call{proc, std::move(message), std::move(procs)});
  OpUpcall::make(
      upcalls_, "abort", [held, done = std::move(done)](pmix_status_t answer) { done(answer); },
      [&](void* open) {
        return module_.abort(&held->proc, object, status, held->message.c_str(),
                             held->procs.empty() ? nullptr : held->procs.data(), held->procs.size(),
                             on_op_done, open);
      });
}

void Host::log(const pmix_proc_t& proc, data::Infos records, data::Infos directives, Done done) {
  if (module_.log == nullptr) return done(PMIX_ERR_NOT_SUPPORTED);
  struct Call {
    pmix_proc_t proc;
    data::Infos records, directives;
  };
  auto held = std::make_shared<Call>(Call{proc, std::move(records), std::move(directives)});
  OpUpcall::make(
      upcalls_, "log", [held, done = std::move(done)](pmix_status_t answer) { done(answer); },
      [&](void* open) {
        module_.log(&held->proc, held->records.data(), held->records.size(), held->directives.data(),
                    held->directives.size(), on_op_done, open);
        return PMIX_SUCCESS;
      });
}

void Host::notify(events::Event event, Done done) {
  if (!takes_events()) return done(PMIX_ERR_NOT_SUPPORTED);
  auto held = std::make_shared<events::Event>(std::move(event));
  OpUpcall::make(
      upcalls_, "notify_event", [held, done = std::move(done)](pmix_status_t answer) { done(answer); },
      [&](void* open) {
        return module_.notify_event(held->code, &held->source, held->range, held->infos.data(),
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
  struct Call {
    std::vector<pmix_proc_t> procs;
    data::Infos directives;
  };
  auto held = std::make_shared<Call>(Call{std::move(procs), std::move(directives)});
  CardsUpcall::make(upcalls_, "fence_nb", take_cards(held, std::move(done)), [&](void* open) {
    return module_.fence_nb(held->procs.data(), held->procs.size(), held->directives.data(),
                            held->directives.size(), data.release(), cards.size(), on_cards, open);
  });
}

void Host::direct_modex(const pmix_proc_t& proc, data::Infos directives, TakeCards done) {
  if (!does_direct_modex()) return done(PMIX_ERR_NOT_SUPPORTED, {});
  struct Call {
    pmix_proc_t proc;
    data::Infos directives;
  };
  auto held = std::make_shared<Call>(Call{proc, std::move(directives)});
  CardsUpcall::make(upcalls_, "direct_modex", take_cards(held, std::move(done)), [&](void* open) {
    return module_.direct_modex(&held->proc, held->directives.data(), held->directives.size(), on_cards,
                                open);
  });
}

}  // namespace weft::server
