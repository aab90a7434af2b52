// SPDX-License-Identifier: BSD-3-Clause
// What clients ask the host for. Each call keeps what the host may read until the host has answered.
#include <memory>

#include "core/data/types/array.hpp"
#include "core/server/host/host.hpp"
#include "core/server/host/lent.hpp"

namespace weft::server {
namespace {

using InfoUpcall = Upcall<LentInfos>;
using ValueUpcall = Upcall<data::Value>;
using CredentialUpcall = Upcall<data::Value, LentInfos>;

// ---- the callbacks that a host answers with

void on_infos(pmix_status_t status, pmix_info_t* infos, std::size_t ninfo, void* pointer,
              pmix_release_cbfunc_t release, void* release_data) {
  InfoUpcall::finish_from_host(pointer, status, LentInfos(infos, ninfo, release, release_data));
}

void on_validated(pmix_status_t status, pmix_info_t* infos, std::size_t ninfo, void* pointer) {
  InfoUpcall::finish_from_host(pointer, status, LentInfos(infos, ninfo, nullptr, nullptr));
}

/// Lent for the callback only, so they are copied here; a copy that fails is a failure of the call.
void finish_value(void* pointer, pmix_status_t status, Result<data::Value> value) {
  if (!value && status == PMIX_SUCCESS) status = PMIX_ERR_NOMEM;
  ValueUpcall::finish_from_host(pointer, status, value ? std::move(*value) : data::Value());
}

void on_looked_up(pmix_status_t status, pmix_pdata_t* found, std::size_t count, void* pointer) {
  finish_value(pointer, status, data::value_of_array(PMIX_PDATA, found, found != nullptr ? count : 0));
}

void on_spawned(pmix_status_t status, char* nspace, void* pointer) {
  finish_value(pointer, status, data::Value::of(std::string_view(nspace != nullptr ? nspace : "")));
}

void on_credential(pmix_status_t status, pmix_byte_object_t* credential, pmix_info_t* infos,
                   std::size_t ninfo, void* pointer) {
  auto value = credential != nullptr && credential->bytes != nullptr
                   ? data::Value::of_bytes(as_bytes({credential->bytes, credential->size}))
                   : data::Value();
  CredentialUpcall::finish_from_host(pointer, status, std::move(value),
                                     LentInfos(infos, ninfo, nullptr, nullptr));
}

// ---- how they end

/// A call, and what the host may read until it answers.
template <class Message>
struct Call {
  pmix_proc_t requester{};
  Message message;
};
template <class Message>
std::shared_ptr<Call<Message>> hold(const pmix_proc_t& requester, Message message) {
  return std::make_shared<Call<Message>>(Call<Message>{requester, std::move(message)});
}

template <class Held>
OpUpcall::Done ending(Held held, Done done) {
  return [held = std::move(held), done = std::move(done)](pmix_status_t status) { done(status); };
}
template <class Held>
InfoUpcall::Done ending(Held held, Host::Answered done) {
  return [held = std::move(held), done = std::move(done)](pmix_status_t status, LentInfos lent) {
    auto infos = lent.take();
    if (infos) return done(status, std::move(*infos));
    done(status == PMIX_SUCCESS ? PMIX_ERR_NOMEM : status, {});
  };
}
template <class Held>
ValueUpcall::Done ending(Held held, Host::GotValue done) {
  return [held = std::move(held), done = std::move(done)](pmix_status_t status, data::Value value) {
    done(status, std::move(value));
  };
}

/// A call with keys, as C has them: with a NULL at the end; NULL for none.
template <class Message>
struct KeyedCall {
  KeyedCall(const pmix_proc_t& from, Message asked) : requester(from), message(std::move(asked)) {
    for (auto& key : message.keys) pointers.push_back(key.data());
    if (!pointers.empty()) pointers.push_back(nullptr);
  }
  char** keys() { return pointers.empty() ? nullptr : pointers.data(); }

  const pmix_proc_t requester;
  Message message;
  std::vector<char*> pointers;
};

/// A call with bytes.
template <class Message>
struct BytesCall {
  BytesCall(const pmix_proc_t& from, Message asked, std::vector<std::byte> Message::*bytes)
      : requester(from), message(std::move(asked)) {
    object = {reinterpret_cast<char*>((message.*bytes).data()), (message.*bytes).size()};
  }
  const pmix_proc_t requester;
  Message message;
  pmix_byte_object_t object;
};

}  // namespace

void Host::publish(const pmix_proc_t& requester, link::Publish message, Done done) {
  if (module_.publish == nullptr) return done(PMIX_ERR_NOT_SUPPORTED);
  const auto held = hold(requester, std::move(message));
  OpUpcall::make(upcalls_, "publish", ending(held, std::move(done)), [&](void* open) {
    const auto& infos = held->message.infos;
    return module_.publish(&held->requester, infos.data(), infos.size(), on_op_done, open);
  });
}

void Host::lookup(const pmix_proc_t& requester, link::Lookup message, GotValue done) {
  if (module_.lookup == nullptr) return done(PMIX_ERR_NOT_SUPPORTED, {});
  const auto held = std::make_shared<KeyedCall<link::Lookup>>(requester, std::move(message));
  ValueUpcall::make(upcalls_, "lookup", ending(held, std::move(done)), [&](void* open) {
    const auto& infos = held->message.directives;
    return module_.lookup(&held->requester, held->keys(), infos.data(), infos.size(), on_looked_up, open);
  });
}

void Host::unpublish(const pmix_proc_t& requester, link::Unpublish message, Done done) {
  if (module_.unpublish == nullptr) return done(PMIX_ERR_NOT_SUPPORTED);
  const auto held = std::make_shared<KeyedCall<link::Unpublish>>(requester, std::move(message));
  OpUpcall::make(upcalls_, "unpublish", ending(held, std::move(done)), [&](void* open) {
    const auto& infos = held->message.directives;
    return module_.unpublish(&held->requester, held->keys(), infos.data(), infos.size(), on_op_done, open);
  });
}

void Host::spawn(const pmix_proc_t& requester, link::Spawn message, GotValue done) {
  if (module_.spawn == nullptr) return done(PMIX_ERR_NOT_SUPPORTED, {});
  const auto held = hold(requester, std::move(message));
  ValueUpcall::make(upcalls_, "spawn", ending(held, std::move(done)), [&](void* open) {
    const auto apps = data::elements_of<pmix_app_t>(held->message.apps.get(), PMIX_APP);
    const auto& job = held->message.job;
    return module_.spawn(&held->requester, job.data(), job.size(), apps.data(), apps.size(), on_spawned,
                         open);
  });
}

void Host::connect(link::Connect message, Done done) {
  if (module_.connect == nullptr) return done(PMIX_ERR_NOT_SUPPORTED);
  const auto held = hold({}, std::move(message));
  OpUpcall::make(upcalls_, "connect", ending(held, std::move(done)), [&](void* open) {
    const auto& [procs, infos] = held->message;
    return module_.connect(procs.data(), procs.size(), infos.data(), infos.size(), on_op_done, open);
  });
}

void Host::disconnect(link::Disconnect message, Done done) {
  if (module_.disconnect == nullptr) return done(PMIX_ERR_NOT_SUPPORTED);
  const auto held = hold({}, std::move(message));
  OpUpcall::make(upcalls_, "disconnect", ending(held, std::move(done)), [&](void* open) {
    const auto& [procs, infos] = held->message;
    return module_.disconnect(procs.data(), procs.size(), infos.data(), infos.size(), on_op_done, open);
  });
}

void Host::group(pmix_group_operation_t operation, link::GroupConstruct call, Answered done) {
  if (module_.group == nullptr) return done(PMIX_ERR_NOT_SUPPORTED, {});
  const auto held = hold({}, std::move(call));
  InfoUpcall::make(upcalls_, "group", ending(held, std::move(done)), [&](void* open) {
    auto& group = held->message.group;
    auto& procs = held->message.procs;
    auto& infos = held->message.directives;
    return module_.group(operation, group.data(), procs.data(), procs.size(), infos.data(), infos.size(),
                         on_infos, open);
  });
}

void Host::register_events(std::vector<pmix_status_t> codes, data::Infos infos, Done done) {
  if (module_.register_events == nullptr) return done(PMIX_ERR_NOT_SUPPORTED);
  struct Codes {
    std::vector<pmix_status_t> codes;
    data::Infos infos;
  };
  const auto held = std::make_shared<Codes>(Codes{std::move(codes), std::move(infos)});
  OpUpcall::make(upcalls_, "register_events", ending(held, std::move(done)), [&](void* open) {
    return module_.register_events(held->codes.empty() ? nullptr : held->codes.data(), held->codes.size(),
                                   held->infos.data(), held->infos.size(), on_op_done, open);
  });
}

void Host::deregister_events(std::vector<pmix_status_t> codes, Done done) {
  if (module_.deregister_events == nullptr) return done(PMIX_ERR_NOT_SUPPORTED);
  const auto held = std::make_shared<std::vector<pmix_status_t>>(std::move(codes));
  OpUpcall::make(upcalls_, "deregister_events", ending(held, std::move(done)), [&](void* open) {
    return module_.deregister_events(held->empty() ? nullptr : held->data(), held->size(), on_op_done, open);
  });
}

void Host::query(const pmix_proc_t& requester, data::Value queries, Answered done) {
  if (module_.query == nullptr) return done(PMIX_ERR_NOT_SUPPORTED, {});
  const auto held = hold(requester, std::move(queries));
  InfoUpcall::make(upcalls_, "query", ending(held, std::move(done)), [&](void* open) {
    const auto all = data::elements_of<pmix_query_t>(held->message.get(), PMIX_QUERY);
    return module_.query(&held->requester, all.data(), all.size(), on_infos, open);
  });
}

void Host::allocate(const pmix_proc_t& requester, link::Allocate message, Answered done) {
  if (module_.allocate == nullptr) return done(PMIX_ERR_NOT_SUPPORTED, {});
  const auto held = hold(requester, std::move(message));
  InfoUpcall::make(upcalls_, "allocate", ending(held, std::move(done)), [&](void* open) {
    const auto& [directive, infos] = held->message;
    return module_.allocate(&held->requester, directive, infos.data(), infos.size(), on_infos, open);
  });
}

void Host::job_control(const pmix_proc_t& requester, link::JobControl message, Answered done) {
  if (module_.job_control == nullptr) return done(PMIX_ERR_NOT_SUPPORTED, {});
  const auto held = hold(requester, std::move(message));
  InfoUpcall::make(upcalls_, "job_control", ending(held, std::move(done)), [&](void* open) {
    const auto& [targets, infos] = held->message;
    return module_.job_control(&held->requester, targets.empty() ? nullptr : targets.data(), targets.size(),
                               infos.data(), infos.size(), on_infos, open);
  });
}

void Host::monitor(const pmix_proc_t& requester, link::Monitor message, Answered done) {
  if (module_.monitor == nullptr) return done(PMIX_ERR_NOT_SUPPORTED, {});
  const auto held = hold(requester, std::move(message));
  InfoUpcall::make(upcalls_, "monitor", ending(held, std::move(done)), [&](void* open) {
    const auto& [monitor, code, infos] = held->message;
    return module_.monitor(&held->requester, monitor.data(), code, infos.data(), infos.size(), on_infos,
                           open);
  });
}

void Host::get_credential(const pmix_proc_t& requester, link::GetCredential message,
                          std::function<void(pmix_status_t, data::Value, data::Infos)> done) {
  if (module_.get_credential == nullptr) return done(PMIX_ERR_NOT_SUPPORTED, {}, {});
  const auto held = hold(requester, std::move(message));
  CredentialUpcall::make(
      upcalls_, "get_credential",
      [held, done = std::move(done)](pmix_status_t status, data::Value credential, LentInfos lent) {
        auto infos = lent.take();
        if (infos) return done(status, std::move(credential), std::move(*infos));
        done(status == PMIX_SUCCESS ? PMIX_ERR_NOMEM : status, {}, {});
      },
      [&](void* open) {
        const auto& infos = held->message.directives;
        return module_.get_credential(&held->requester, infos.data(), infos.size(), on_credential, open);
      });
}

void Host::validate_credential(const pmix_proc_t& requester, link::ValidateCredential message,
                               Answered done) {
  if (module_.validate_credential == nullptr) return done(PMIX_ERR_NOT_SUPPORTED, {});
  const auto held = std::make_shared<BytesCall<link::ValidateCredential>>(
      requester, std::move(message), &link::ValidateCredential::credential);
  InfoUpcall::make(upcalls_, "validate_credential", ending(held, std::move(done)), [&](void* open) {
    const auto& infos = held->message.directives;
    return module_.validate_credential(&held->requester, &held->object, infos.data(), infos.size(),
                                       on_validated, open);
  });
}

void Host::pull_output(link::PullOutput message, Done done) {
  if (module_.iof_pull == nullptr) return done(PMIX_ERR_NOT_SUPPORTED);
  const auto held = hold({}, std::move(message));
  OpUpcall::make(upcalls_, "iof_pull", ending(held, std::move(done)), [&](void* open) {
    const auto& procs = held->message.procs;
    const auto& infos = held->message.directives;
    return module_.iof_pull(procs.data(), procs.size(), infos.data(), infos.size(), held->message.channels,
                            on_op_done, open);
  });
}

void Host::push_input(const pmix_proc_t& requester, link::PushInput message, Done done) {
  if (module_.push_stdin == nullptr) return done(PMIX_ERR_NOT_SUPPORTED);
  const auto held =
      std::make_shared<BytesCall<link::PushInput>>(requester, std::move(message), &link::PushInput::bytes);
  OpUpcall::make(upcalls_, "push_stdin", ending(held, std::move(done)), [&](void* open) {
    const auto& targets = held->message.targets;
    const auto& infos = held->message.directives;
    return module_.push_stdin(&held->requester, targets.data(), targets.size(), infos.data(), infos.size(),
                              &held->object, on_op_done, open);
  });
}

void Host::fabric(const pmix_proc_t& requester, link::Fabric message, Answered done) {
  if (module_.fabric == nullptr) return done(PMIX_ERR_NOT_SUPPORTED, {});
  const auto held = hold(requester, std::move(message));
  InfoUpcall::make(upcalls_, "fabric", ending(held, std::move(done)), [&](void* open) {
    const auto& infos = held->message.directives;
    return module_.fabric(&held->requester, static_cast<pmix_fabric_operation_t>(held->message.operation),
                          infos.data(), infos.size(), on_infos, open);
  });
}

}  // namespace weft::server
