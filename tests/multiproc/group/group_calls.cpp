// SPDX-License-Identifier: BSD-3-Clause
#include "tests/multiproc/group/group_calls.hpp"

#include <algorithm>
#include <chrono>

#include "tests/multiproc/harness/harness.hpp"

namespace weft::test {
namespace {

Procs procs_in(const pmix_value_t& value) {
  if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr || value.data.darray->type != PMIX_PROC)
    return {};
  const auto* procs = static_cast<const pmix_proc_t*>(value.data.darray->array);
  return {procs, procs + value.data.darray->size};
}

Made take_results(pmix_status_t status, pmix_info_t* results, std::size_t count) {
  auto out = read_results(status, results, count);
  if (results != nullptr) PMIX_INFO_FREE(results, count);
  return out;
}

/// The results of an invitation: a new member is told the name, too.
Made take_named_results(const std::string& name, pmix_status_t status, pmix_info_t* results,
                        std::size_t count) {
  auto out = take_results(status, results, count);
  check_equal(out.name, out.members.empty() ? std::string() : name);
  return out;
}

GroupEvents::Event read_event(pmix_status_t code, const pmix_proc_t* source, const pmix_info_t* infos,
                              std::size_t ninfo) {
  GroupEvents::Event out;
  out.code = code;
  out.source = *source;
  for (std::size_t i = 0; i < ninfo; ++i) {
    const auto& info = infos[i];
    if (PMIx_Check_key(info.key, PMIX_GROUP_ID)) out.group = info.value.data.string;
    if (PMIx_Check_key(info.key, PMIX_EVENT_AFFECTED_PROC)) out.about = *info.value.data.proc;
    if (PMIx_Check_key(info.key, PMIX_GROUP_MEMBERSHIP)) out.members = procs_in(info.value);
    if (PMIx_Check_key(info.key, PMIX_GROUP_LEADER)) out.is_led = info.value.data.flag;
  }
  return out;
}

void on_end(pmix_status_t status, pmix_info_t*, size_t, void* waiter, pmix_release_cbfunc_t release,
            void* held) {
  if (release != nullptr) release(held);
  Waiter::on_status(status, waiter);
}

/// The infos in an array; none: it is another value.
std::pair<const pmix_info_t*, std::size_t> infos_in(const pmix_value_t& value) {
  const bool is_list =
      value.type == PMIX_DATA_ARRAY && value.data.darray != nullptr && value.data.darray->type == PMIX_INFO;
  if (!is_list) return {nullptr, 0};
  return {static_cast<const pmix_info_t*>(value.data.darray->array), value.data.darray->size};
}

const pmix_value_t* find_in(const pmix_value_t& value, const char* key) {
  const auto [infos, count] = infos_in(value);
  for (std::size_t i = 0; i < count; ++i)
    if (PMIx_Check_key(infos[i].key, key)) return &infos[i].value;
  return nullptr;
}

}  // namespace

void hear_from_server() {
  static_cast<void>(groups_known_here());
}

Construct::Construct(const std::string& name, const Procs& procs, const Infos& infos) {
  check_status(PMIx_Group_construct_nb(name.c_str(), procs.data(), procs.size(), infos.data(), infos.size(),
                                       on_end, &ended_),
               PMIX_SUCCESS);
  hear_from_server();
}

Join::Join(const std::string& name, const Infos& infos) {
  check_status(PMIx_Group_join_nb(name.c_str(), nullptr, PMIX_GROUP_ACCEPT, infos.data(), infos.size(),
                                  on_end, &ended_),
               PMIX_SUCCESS);
  hear_from_server();
}

std::vector<std::string> operations_open_here() {
  char* keys[] = {const_cast<char*>("weft.cluster"), nullptr};
  Infos here;
  here.flag(PMIX_QUERY_LOCAL_ONLY);
  pmix_query_t query{keys, here.data(), here.size()};
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  check_status(PMIx_Query_info(&query, 1, &results, &count), PMIX_SUCCESS);
  check_equal(count, 1);
  std::vector<std::string> out;
  const auto* fences = find_in(results[0].value, "weft.fences");
  check(fences != nullptr, "a report without fences");
  const auto [infos, size] = infos_in(*fences);
  for (std::size_t i = 0; i < size; ++i)
    if (const auto* operation = find_in(infos[i].value, "weft.operation"))
      out.emplace_back(operation->data.string);
  PMIX_INFO_FREE(results, count);
  return out;
}

Made read_results(pmix_status_t status, const pmix_info_t* results, std::size_t count) {
  Made out{status, {}, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    if (PMIx_Check_key(results[i].key, PMIX_GROUP_ID)) {
      check_equal(results[i].value.type, PMIX_STRING);
      out.name = results[i].value.data.string;
    } else if (PMIx_Check_key(results[i].key, PMIX_GROUP_MEMBERSHIP)) {
      out.members = procs_in(results[i].value);
    } else if (PMIx_Check_key(results[i].key, PMIX_GROUP_CONTEXT_ID)) {
      check_equal(results[i].value.type, PMIX_SIZE);
      out.context = results[i].value.data.size;
    }
  }
  return out;
}

Made construct(const std::string& name, const Procs& procs, const Infos& infos) {
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  const auto status = PMIx_Group_construct(name.c_str(), procs.data(), procs.size(), infos.data(),
                                           infos.size(), &results, &count);
  return take_results(status, results, count);
}

Made invite(const std::string& name, const Procs& procs, const Infos& infos) {
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  const auto status = PMIx_Group_invite(name.c_str(), procs.data(), procs.size(), infos.data(), infos.size(),
                                        &results, &count);
  return take_named_results(name, status, results, count);
}

Made join(const std::string& name, const pmix_proc_t* leader, pmix_group_opt_t how, const Infos& infos) {
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  const auto status =
      PMIx_Group_join(name.c_str(), leader, how, infos.data(), infos.size(), &results, &count);
  return take_named_results(name, status, results, count);
}

pmix_status_t destruct(const std::string& name, const Infos& infos) {
  return PMIx_Group_destruct(name.c_str(), infos.data(), infos.size());
}

pmix_status_t leave(const std::string& name) {
  return PMIx_Group_leave(name.c_str(), nullptr, 0);
}

Procs ranks_of(const Client& client, std::initializer_list<pmix_rank_t> ranks) {
  Procs out;
  for (const auto rank : ranks) out.push_back(client.peer(rank));
  return out;
}
Procs ranks_of(const Client& client, pmix_rank_t first, pmix_rank_t last) {
  Procs out;
  for (auto rank = first; rank <= last; ++rank) out.push_back(client.peer(rank));
  return out;
}

pmix_proc_t all_of(const std::string& group) {
  return proc_of(group, PMIX_RANK_WILDCARD);
}

bool is_same(const Procs& a, const Procs& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const pmix_proc_t& one, const pmix_proc_t& other) { return PMIx_Check_procid(&one, &other); });
}

bool contains(const Procs& procs, const pmix_proc_t& proc) {
  return std::any_of(procs.begin(), procs.end(),
                     [&](const pmix_proc_t& each) { return PMIx_Check_procid(&each, &proc); });
}

Procs members_of(const std::string& group) {
  const auto got = get(all_of(group), PMIX_GROUP_MEMBERSHIP, optional());
  return got.there() ? procs_in(got.value()) : Procs();
}

std::size_t groups_known_here() {
  char* keys[] = {const_cast<char*>(PMIX_QUERY_NUM_GROUPS), nullptr};
  pmix_query_t query{keys, nullptr, 0};
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  check_status(PMIx_Query_info(&query, 1, &results, &count), PMIX_SUCCESS);
  check_equal(count, 1);
  const auto out = results[0].value.data.size;
  PMIX_INFO_FREE(results, count);
  return out;
}

std::string ranks_in(const Procs& procs) {
  std::string out;
  for (const auto& proc : procs) out += std::to_string(proc.rank) + ' ';
  return out;
}

GroupEvents& GroupEvents::here() {
  static GroupEvents events;
  return events;
}

void GroupEvents::listen(pmix_status_t code, React react) {
  {
    const std::lock_guard lock(mutex_);
    reactions_[code] = std::move(react);
  }
  check(PMIx_Register_event_handler(&code, 1, nullptr, 0, on_event, nullptr, nullptr) >= 0, "no handler");
}

GroupEvents::Event GroupEvents::wait(pmix_status_t code, const std::string& group) {
  std::unique_lock lock(mutex_);
  auto found = heard_.end();
  const auto is_here = [&] {
    found = std::find_if(heard_.begin(), heard_.end(), [&](const Event& each) {
      return each.code == code && (group.empty() || each.group == group);
    });
    return found != heard_.end();
  };
  check(changed_.wait_for(lock, std::chrono::seconds(patience()), is_here),
        "no event " + std::string(PMIx_Error_string(code)));
  auto out = std::move(*found);
  heard_.erase(found);
  return out;
}

std::size_t GroupEvents::count(pmix_status_t code) {
  const std::lock_guard lock(mutex_);
  return counts_[code];
}

GroupEvents::Answer GroupEvents::take(const Event& event) {
  React react;
  {
    const std::lock_guard lock(mutex_);
    heard_.push_back(event);
    ++counts_[event.code];
    react = reactions_[event.code];
  }
  changed_.notify_all();
  return react ? react(event) : Answer{};
}

void GroupEvents::on_event(std::size_t, pmix_status_t code, const pmix_proc_t* source, pmix_info_t* infos,
                           std::size_t ninfo, pmix_info_t*, std::size_t,
                           pmix_event_notification_cbfunc_fn_t done, void* open) {
  auto answer = here().take(read_event(code, source, infos, ninfo));
  if (answer.is_held_back) return;
  Infos results;
  if (answer.leads) results.flag(PMIX_GROUP_LEADER);
  if (!answer.replacements.empty()) results.procs(PMIX_GROUP_ADD_MEMBERS, answer.replacements);
  done(answer.status, results.data(), results.size(), nullptr, nullptr, open);
}

}  // namespace weft::test
