// SPDX-License-Identifier: BSD-3-Clause
// What calls about groups have in common: the name they are given, and the group that the server's answer
// makes this process a member of.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "core/abi/calls/results.hpp"
#include "core/abi/roles/requests.hpp"
#include "pmix.h"

namespace weft::abi {

/// PMIX_ERR_BAD_PARAM: there is none, or it is longer than PMIX_MAX_NSLEN.
pmix_status_t copy_group_name(const char* group, std::string& out);

/// Asks, and waits. This process is a member from here on, if the answer says so: the group's members and
/// context are among the caller's results. The library's thread makes it one before it reads anything that
/// the server has sent behind the answer: such messages may already change the members.
template <class Message>
pmix_status_t ask_to_be_member(const Message& message, pmix_info_t** results, std::size_t* nresults);
template <class Message>
pmix_status_t ask_to_be_member_later(const Message& message, pmix_info_cbfunc_t cbfunc, void* cbdata);

/// Asks, and waits, as ask_to_be_member(): if the call goes well this process is a member no more.
template <class Message>
pmix_status_t ask_to_go(const Message& message);
template <class Message>
pmix_status_t ask_to_go_later(const Message& message, pmix_op_cbfunc_t cbfunc, void* cbdata);

// ---- what follows is how

/// The request that the answer belongs to. procs: of a construct, as the caller gave them, because the answer
/// may offer a board for them.
struct Membership {
  std::string group;
  std::vector<pmix_proc_t> procs{};
  bool is_construct = false;
};
inline Membership membership_of(const link::GroupConstruct& message) {
  return {message.group, message.procs, true};
}
template <class Message>
Membership membership_of(const Message& message) {
  return {message.group};
}

/// Brings this process's groups up to date with a server's answer; on the library's thread.
void take_group(const Membership& asked, link::Answer& answer);
void forget_group(const std::string& name, pmix_status_t status);
pmix_status_t hand_over_group(link::Answer answer, pmix_info_t** results, std::size_t* nresults);

/// Members as a value for the caller.
Result<data::Value> array_of(const link::RankRuns& members);

/// With `take` called on the library's thread, in the order in which the server sends.
template <class Message, class Take>
link::Answer ask_in_order(const Message& message, Take take) {
  link::Answer out;
  const auto connection = way_to_host(out.status);
  if (connection == nullptr) return out;
  const auto answered = std::make_shared<std::promise<link::Answer>>();
  auto answer = answered->get_future();
  client::request(*connection, message, [answered, take](link::Answer came) {
    take(came);
    answered->set_value(std::move(came));
  });
  if (!connection->await(answer)) return link::Answer{PMIX_ERR_LOST_CONNECTION, {}, {}};
  return answer.get();
}

template <class Message>
pmix_status_t ask_to_be_member(const Message& message, pmix_info_t** results, std::size_t* nresults) {
  auto answer = ask_in_order(
      message, [asked = membership_of(message)](link::Answer& came) { take_group(asked, came); });
  return hand_over_group(std::move(answer), results, nresults);
}

template <class Message>
pmix_status_t ask_to_be_member_later(const Message& message, pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return ask_later(message, [cbfunc, cbdata, asked = membership_of(message)](link::Answer answer) {
    take_group(asked, answer);
    lend(answer.status, std::move(answer.infos), cbfunc, cbdata);
  });
}

template <class Message>
pmix_status_t ask_to_go(const Message& message) {
  return ask_in_order(message,
                      [name = message.group](const link::Answer& came) { forget_group(name, came.status); })
      .status;
}

template <class Message>
pmix_status_t ask_to_go_later(const Message& message, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return ask_later(message, [cbfunc, cbdata, name = message.group](const link::Answer& answer) {
    forget_group(name, answer.status);
    if (cbfunc != nullptr) cbfunc(answer.status, cbdata);
  });
}

}  // namespace weft::abi
