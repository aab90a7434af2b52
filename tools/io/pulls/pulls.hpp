// SPDX-License-Identifier: BSD-3-Clause
// The pulls of all flows that come to this process: of processes of any job and of tools, wherever they are.
// A chunk goes to each of them beside the terminal.
//
// A reader that takes nothing for a time of patience while ranks wait for it loses its pull: the terminal is
// not to suffer for it.
#pragma once

#include <pmix_common.h>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/io/pulls/kept_output.hpp"
#include "tools/io/pulls/pull.hpp"

namespace weft::io {

class Pulls {
 public:
  /// node: of the reader.
  using Deliver = std::function<void(std::uint32_t node, const job::PullName& to, const Flow& flow,
                                     const std::string& bytes, std::function<void()> delivered)>;
  struct Events {
    std::function<void()> drained;  ///< nothing of some job is on its way any more; may be called again
    std::function<void(std::uint32_t node, const job::PullName& name)>
        dropped;  ///< for its reader's slowness
  };
  static constexpr std::chrono::seconds default_patience{3};
  Pulls(asio::io_context& loop, Deliver deliver, Events events,
        std::chrono::milliseconds patience = default_patience);

  // Jobs.
  struct Job {
    std::uint32_t ranks = 0;
    bool is_in_files = false;  ///< its ranks write into files themselves
    KeptOutput kept{};
  };
  void add_job(const std::string& nspace, Job job);
  /// What is kept for the process that has asked for the job stays, of so many jobs, until that process has
  /// pulled it or has ended.
  void remove_job(const std::string& nspace);
  static constexpr std::size_t most_past_jobs = 16;
  /// No rank of it runs: from here on the job waits for each reader.
  void drain(const std::string& nspace);
  bool is_drained(const std::string& nspace) const;

  /// A pull begins, or ends. reply: once, before the first bytes. Errors: PMIX_ERR_NOT_FOUND (no such job),
  /// _BAD_PARAM (no such rank, no stream), _NOT_SUPPORTED (its output is in files), _OUT_OF_RESOURCE.
  void request(std::uint32_t node, const job::PullRequest& request,
               const std::function<void(pmix_status_t)>& reply);
  static constexpr std::size_t most_pulls = 4096;
  /// What was kept for it.
  void lose_process(const job::ProcessName& process);
  /// Its readers are lost.
  void lose_node(std::uint32_t node);

  // Flows.
  bool want(const Flow& flow) const;
  /// Some pull is to have it in the terminal's place.
  bool redirect(const Flow& flow) const;
  /// No bytes: its end. taken: the next ones may come; once, perhaps at once.
  void write(const Flow& flow, const std::string& bytes, const std::function<void()>& taken);
  /// Of all ranks of the job.
  void end(const std::string& nspace, job::Stream stream);

 private:
  struct Reader {
    std::uint32_t node;
    std::shared_ptr<Pull> pull;
  };
  struct Flows : Job {
    std::set<Flow> ended{};
    bool is_draining = false, is_past = false;
  };
  pmix_status_t check(const job::PullRequest& request) const;
  void begin(std::uint32_t node, const job::PullRequest& request);
  void tell_past(Pull& pull, const std::string& nspace, Flows& flows);
  void forget(const std::string& nspace);
  template <class Which>
  void remove_readers(Which&& which);
  bool is_awaited(const Reader& reader) const;
  void watch();
  void drop_idle();

  const Deliver deliver_;
  const Events events_;
  const std::chrono::milliseconds patience_;
  std::map<std::string, Flows> jobs_;
  std::deque<std::string> past_;  // the jobs that are over, oldest first
  std::vector<Reader> readers_;
  asio::steady_timer timer_;
  bool is_watching_ = false;
};

}  // namespace weft::io
