// SPDX-License-Identifier: BSD-3-Clause
// A resource manager's daemon in miniature: a PMIx server in this process, with a module whose upcalls a test
// sets.
#pragma once

#include <pmix_server.h>
#include <algorithm>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "tests/multiproc/harness/harness.hpp"
#include "tests/multiproc/harness/values.hpp"

namespace weft::test {

/// The upcalls that a test wants to hear of; an upcall that is not set is NULL in the module.
struct Upcalls {
  std::function<pmix_status_t(const pmix_proc_t&, void* object, pmix_op_cbfunc_t, void*)> connected;
  std::function<pmix_status_t(const pmix_proc_t&, void* object, pmix_op_cbfunc_t, void*)> finalized;
  std::function<pmix_status_t(const pmix_proc_t&, int status, std::string message, std::vector<pmix_proc_t>,
                              pmix_op_cbfunc_t, void*)>
      abort;
  /// collect: what PMIX_COLLECT_DATA said.
  std::function<pmix_status_t(std::vector<pmix_proc_t>, bool collect, std::string card, pmix_modex_cbfunc_t,
                              void*)>
      fence;
  std::function<void(const Infos&)> fence_directives;  ///< of the call of fence that follows
  std::function<pmix_status_t(const pmix_proc_t&, pmix_modex_cbfunc_t, void*)> modex;
  std::function<void(const Infos&)> modex_directives;  ///< of the call of modex that follows
  std::function<void(pmix_status_t code)> notified;
  /// Sets slots of the module that are not above.
  std::function<void(pmix_server_module_t&)> others;
};

/// Runs tasks one after the other on a thread that is not the library's: the host's own event loop.
class Later {
 public:
  Later();
  ~Later();
  void run(std::function<void()> task);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool over_ = false;
  std::thread thread_;
};

class Host {
 public:
  /// server: attributes of PMIx_server_init.
  explicit Host(Upcalls upcalls = {}, const Variables& variables = {}, Infos server = {});
  ~Host();
  Host(const Host&) = delete;
  /// The one there is: the module's functions carry no context of a test's.
  static Host* now();

  /// Registers `ranks` local ranks of a job of one node the usual way, namespace first.
  void add_job(const std::string& nspace, std::uint32_t ranks);
  void add_job(const std::string& nspace, int local, Infos& infos);
  void remove_job(const std::string& nspace);
  void add_client(const pmix_proc_t& proc, void* object = nullptr, std::optional<uid_t> user = {});
  void remove_client(const pmix_proc_t& proc);

  /// setup_fork, and our program as that rank.
  Child start(const std::string& nspace, pmix_rank_t rank, const std::string& program,
              const Words& words = {}, Child::Options options = {});
  /// start() for ranks [0, size).
  std::vector<Child> start_all(const std::string& nspace, std::uint32_t size, const std::string& program,
                               const Words& words = {}, const Child::Options& options = {});
  Variables fork_variables(const pmix_proc_t& proc);

  Upcalls upcalls;
  Later later;

 private:
  std::vector<std::pair<std::string, std::string>> saved_;
  bool running_ = false;
};

/// A host that is a process of its own tells its parent the environments of ranks [0, size), one line each.
void say_variables(Host& host, const std::string& nspace, std::uint32_t size);
/// The next rank's.
Variables hear_variables(Child& host);

/// Every child must end with 0.
void expect_success(std::vector<Child>& children);

/// How the clients of a test reach the node segment.
enum class Segment { mapped, refused, mixed, no_room };
std::string name_of(Segment segment);
inline void PrintTo(Segment segment, std::ostream* out) {  // in the names of tests
  *out << name_of(segment);
}
/// The segments that a suite runs in. Under AddressSanitizer each process takes long to start, and has no
/// address space to spare: there `mixed` stands for all, or else the first.
inline std::vector<Segment> ways(std::vector<Segment> all = {Segment::mapped, Segment::refused,
                                                             Segment::mixed, Segment::no_room}) {
#if defined(__SANITIZE_ADDRESS__)
  const bool has_mixed = std::find(all.begin(), all.end(), Segment::mixed) != all.end();
  return {has_mixed ? Segment::mixed : all.front()};
#else
  return all;
#endif
}
/// refused and mixed: WEFT_NO_SEGMENT for all or for odd ranks; no_room: an address space too small to map
/// it.
Child::Options reach(Segment segment, pmix_rank_t rank);
std::vector<Child> start_all(Host& host, Segment segment, const std::string& nspace, std::uint32_t size,
                             const std::string& program, const Words& words = {});
/// Two hosts, each a process with a server and two ranks of a job of four that run `program`; the hosts do
/// fences and direct modex over a socket. manner: see Manner in nodes_test.cpp.
void run_two_nodes(Segment segment, const std::string& program, const Words& manner = {});
/// A job in which all ranks run one program and end well. variables: of the host.
void all_run(Segment segment, std::uint32_t size, const std::string& program, const Words& words = {},
             const Variables& variables = {});

}  // namespace weft::test
