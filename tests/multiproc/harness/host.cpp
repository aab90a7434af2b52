// SPDX-License-Identifier: BSD-3-Clause
#include "tests/multiproc/harness/host.hpp"

#include <unistd.h>

#include <cstdlib>

namespace weft::test {
namespace {

Host* current = nullptr;  // the module's functions carry no context of ours

pmix_status_t on_connected(const pmix_proc_t* proc, void* object, pmix_info_t*, size_t, pmix_op_cbfunc_t done,
                           void* open) {
  return current->upcalls.connected(*proc, object, done, open);
}

pmix_status_t on_finalized(const pmix_proc_t* proc, void* object, pmix_op_cbfunc_t done, void* open) {
  return current->upcalls.finalized(*proc, object, done, open);
}

pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char* message, pmix_proc_t* procs,
                       size_t nprocs, pmix_op_cbfunc_t done, void* open) {
  std::vector<pmix_proc_t> named;
  if (procs != nullptr) named.assign(procs, procs + nprocs);
  return current->upcalls.abort(*proc, status, message == nullptr ? "" : message, std::move(named), done,
                                open);
}

Infos copies_of(const pmix_info_t* infos, size_t ninfo) {
  Infos out;
  for (size_t i = 0; i < ninfo; ++i) out.copy(infos[i]);
  return out;
}

pmix_status_t on_fence(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* infos, size_t ninfo,
                       char* data, size_t ndata, pmix_modex_cbfunc_t done, void* open) {
  std::string card(data == nullptr ? "" : data, data == nullptr ? 0 : ndata);
  std::free(data);  // the host's from here on
  bool collect = false;
  for (size_t i = 0; i < ninfo; ++i)
    if (PMIX_CHECK_KEY(&infos[i], PMIX_COLLECT_DATA)) collect = infos[i].value.data.flag;
  if (current->upcalls.fence_directives) current->upcalls.fence_directives(copies_of(infos, ninfo));
  return current->upcalls.fence({procs, procs + nprocs}, collect, std::move(card), done, open);
}

pmix_status_t on_modex(const pmix_proc_t* proc, const pmix_info_t* infos, size_t ninfo,
                       pmix_modex_cbfunc_t done, void* open) {
  if (current->upcalls.modex_directives) current->upcalls.modex_directives(copies_of(infos, ninfo));
  return current->upcalls.modex(*proc, done, open);
}

pmix_status_t on_notified(pmix_status_t code, const pmix_proc_t*, pmix_data_range_t, pmix_info_t*, size_t,
                          pmix_op_cbfunc_t, void*) {
  current->upcalls.notified(code);
  return PMIX_OPERATION_SUCCEEDED;
}

/// In the style that waits: anything but "done" is a failure of the test.
void expect_done(pmix_status_t status, const char* what) {
  EXPECT_EQ(status, PMIX_OPERATION_SUCCEEDED) << what << ": " << PMIx_Error_string(status);
}

}  // namespace

Later::Later()
    : thread_([this] {
        std::unique_lock lock(mutex_);
        for (;;) {
          changed_.wait(lock, [this] { return over_ || !tasks_.empty(); });
          if (tasks_.empty()) return;
          auto task = std::move(tasks_.front());
          tasks_.pop_front();
          lock.unlock();
          task();
          lock.lock();
        }
      }) {}

Later::~Later() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Later::run(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

Host::Host(Upcalls wanted, const Variables& variables, Infos server) : upcalls(std::move(wanted)) {
  current = this;
  pmix_server_module_t module{};
  if (upcalls.connected) module.client_connected2 = on_connected;
  if (upcalls.finalized) module.client_finalized = on_finalized;
  if (upcalls.abort) module.abort = on_abort;
  if (upcalls.fence) module.fence_nb = on_fence;
  if (upcalls.modex) module.direct_modex = on_modex;
  if (upcalls.notified) module.notify_event = on_notified;
  if (upcalls.others) upcalls.others(module);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  const auto status = PMIx_server_init(&module, server.data(), server.size());
  for (const auto& [name, value] : variables) ::unsetenv(name.c_str());
  running_ = status == PMIX_SUCCESS;
  EXPECT_EQ(status, PMIX_SUCCESS) << PMIx_Error_string(status);
}

Host* Host::now() {
  return current;
}

Host::~Host() {
  if (!running_) return;
  EXPECT_EQ(PMIx_server_finalize(), PMIX_SUCCESS);
}

void Host::add_job(const std::string& nspace, std::uint32_t ranks) {
  Infos infos;
  infos.number(PMIX_JOB_SIZE, ranks);
  add_job(nspace, static_cast<int>(ranks), infos);
  for (pmix_rank_t rank = 0; rank < ranks; ++rank) add_client(proc_of(nspace, rank));
}

void Host::add_job(const std::string& nspace, int local, Infos& infos) {
  expect_done(
      PMIx_server_register_nspace(nspace.c_str(), local, infos.data(), infos.size(), nullptr, nullptr),
      "register_nspace");
}

void Host::remove_job(const std::string& nspace) {
  PMIx_server_deregister_nspace(nspace.c_str(), nullptr, nullptr);
}

void Host::add_client(const pmix_proc_t& proc, void* object, std::optional<uid_t> user) {
  expect_done(
      PMIx_server_register_client(&proc, user.value_or(::getuid()), ::getgid(), object, nullptr, nullptr),
      "register_client");
}

void Host::remove_client(const pmix_proc_t& proc) {
  PMIx_server_deregister_client(&proc, nullptr, nullptr);
}

Variables Host::fork_variables(const pmix_proc_t& proc) {
  char** env = nullptr;
  EXPECT_EQ(PMIx_server_setup_fork(&proc, &env), PMIX_SUCCESS);
  Variables out;
  for (char** entry = env; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    std::free(*entry);
  }
  std::free(env);
  return out;
}

Child Host::start(const std::string& nspace, pmix_rank_t rank, const std::string& program, const Words& words,
                  Child::Options options) {
  const auto variables = fork_variables(proc_of(nspace, rank));
  options.variables.insert(options.variables.end(), variables.begin(), variables.end());
  return Child(program, words, options);
}

std::vector<Child> Host::start_all(const std::string& nspace, std::uint32_t size, const std::string& program,
                                   const Words& words, const Child::Options& options) {
  std::vector<Child> out;
  for (pmix_rank_t rank = 0; rank < size; ++rank) out.push_back(start(nspace, rank, program, words, options));
  return out;
}

void say_variables(Host& host, const std::string& nspace, std::uint32_t size) {
  for (pmix_rank_t rank = 0; rank < size; ++rank) {
    std::string line;
    for (const auto& [name, value] : host.fork_variables(proc_of(nspace, rank)))
      line += name + "=" + value + " ";
    say(line);
  }
}

Variables hear_variables(Child& host) {
  const auto line = host.hear();
  Variables out;
  for (std::size_t at = 0, end; (end = line.find(' ', at)) != std::string::npos; at = end + 1) {
    const auto one = line.substr(at, end - at);
    out.emplace_back(one.substr(0, one.find('=')), one.substr(one.find('=') + 1));
  }
  return out;
}

void expect_success(std::vector<Child>& children) {
  for (auto& child : children) child.expect_success();
}

std::string name_of(Segment segment) {
  switch (segment) {
    case Segment::mapped:
      return "mapped";
    case Segment::refused:
      return "refused";
    case Segment::mixed:
      return "mixed";
    case Segment::no_room:
      return "no_room";
  }
  return "?";
}

Child::Options reach(Segment segment, pmix_rank_t rank) {
  Child::Options options;
  if (segment == Segment::refused || (segment == Segment::mixed && rank % 2 == 1))
    options.variables.emplace_back("WEFT_NO_SEGMENT", "1");
  if (segment == Segment::no_room) options.before = {"/usr/bin/prlimit", "--as=2000000000"};
  return options;
}

std::vector<Child> start_all(Host& host, Segment segment, const std::string& nspace, std::uint32_t size,
                             const std::string& program, const Words& words) {
  std::vector<Child> out;
  for (pmix_rank_t rank = 0; rank < size; ++rank)
    out.push_back(host.start(nspace, rank, program, words, reach(segment, rank)));
  return out;
}

void all_run(Segment segment, std::uint32_t size, const std::string& program, const Words& words,
             const Variables& variables) {
  Host host({}, variables);
  host.add_job("job", size);
  auto children = start_all(host, segment, "job", size, program, words);
  expect_success(children);
}

}  // namespace weft::test
