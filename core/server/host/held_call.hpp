// SPDX-License-Identifier: BSD-3-Clause
// What an upcall leaves with the host, and the callbacks that several upcalls are answered with. The host may
// read the arguments of an upcall until it has answered: a call is held until then.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/server/host/host.hpp"
#include "core/server/host/lent.hpp"

namespace weft::server {

using InfoUpcall = Upcall<LentInfos>;
using ValueUpcall = Upcall<data::Value>;

/// The pmix_info_cbfunc_t of an InfoUpcall.
inline void on_infos(pmix_status_t status, pmix_info_t* infos, std::size_t ninfo, void* pointer,
                     pmix_release_cbfunc_t release, void* release_data) {
  InfoUpcall::finish_from_host(pointer, status, LentInfos(infos, ninfo, release, release_data));
}

/// value: a copy of what the host lends for its callback alone. A copy that fails is a failure of the call.
inline void finish_value(void* pointer, pmix_status_t status, Result<data::Value> value) {
  if (!value && status == PMIX_SUCCESS) status = PMIX_ERR_NOMEM;
  ValueUpcall::finish_from_host(pointer, status, value ? std::move(*value) : data::Value());
}

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

// ---- the ends of an upcall, each of which holds its call until then

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

}  // namespace weft::server
