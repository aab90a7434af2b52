// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/node.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <utility>

#include "tools/node/marks.hpp"

namespace weft::node {

Node::Node(asio::io_context& loop, const process::Spawner& spawner, std::string launch, std::uint32_t number,
           bool has_other_children, OtherChild other_child)
    : loop_(loop),
      spawner_(spawner),
      launch_(std::move(launch)),
      number_(number),
      other_child_(std::move(other_child)),
      folders_(launch_, number),
      guard_(Mark::of_node(launch_, number), folders_.all()),
      orphan_reaper_(guard_.pid(), has_other_children),
      child_signals_(loop) {}

Node::~Node() {
  for (const auto& [job, search] : searches_) search->close();
  jobs_.clear();
  folders_.remove();
}

LocalRanks& Node::add(LocalRanks::Events events) {
  const LocalRanks::Home home{spawner_, number_, Mark::variable(launch_, last_job_++, number_), folders_,
                              descriptor_limit_};
  return *jobs_.emplace_back(std::make_unique<LocalRanks>(loop_, home, std::move(events)));
}

void Node::remove(LocalRanks& job) {
  for (auto [at, end] = searches_.equal_range(&job); at != end; ++at) at->second->close();
  searches_.erase(&job);
  reap_orphans(job);
  std::erase_if(jobs_, [&](const auto& each) { return each.get() == &job; });
}

// ---- ends of children

void Node::watch(LocalRanks& job) {
  job.is_watched = true;
  if (!std::exchange(is_watching_, true)) {
    sigset_t children;  // a parent may have left SIGCHLD blocked, and then no end would be seen
    ::sigemptyset(&children);
    ::sigaddset(&children, SIGCHLD);
    ::pthread_sigmask(SIG_UNBLOCK, &children, nullptr);
    child_signals_.add(SIGCHLD);
    await_child();
  }
  asio::post(loop_, [this] { reap(); });  // a rank may have ended before
}

void Node::await_child() {
  child_signals_.async_wait([this](const asio::error_code& error, int) {
    if (error) return;
    await_child();  // first: an exit during reap() is signalled again
    reap();
  });
}

/// All children that have ended, in the kernel's order.
void Node::reap() {
  std::vector<std::pair<LocalRanks*, Processes::Ended>> ended;
  for (;;) {
    int wait_status = 0;
    const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) break;
    const auto count = ended.size();
    for (const auto& job : jobs_)
      if (const auto rank = job->take_end(pid)) ended.push_back({job.get(), {*rank, wait_status}});
    if (ended.size() == count && other_child_) other_child_(pid, wait_status);
  }
  for (const auto& [job, end] : ended) job->tell_end(end);
  for (const auto& job : jobs_)
    if (job->is_watched) job->settle_if_over();
}

// ---- where ranks are

void Node::find_places(const LocalRanks& job, bool wants_stacks, PlaceSearch::Done done) {
  std::erase_if(searches_, [](const auto& each) { return each.second->is_over(); });
  auto search = std::make_shared<PlaceSearch>(
      loop_, spawner_, PlaceSearch::Subject{job.map().nspace, job.running_processes(), wants_stacks},
      std::move(done));
  searches_.emplace(&job, search);
  search->begin();
}

// ---- what ranks leave behind

void Node::reap_orphans(const LocalRanks& job) {
  OrphanReaper::Whose whose{job.mark(), {}, jobs_.size() == 1};
  for (const auto& each : jobs_) {
    for (const auto& process : each->running_processes()) whose.ranks.push_back(process.pid);
  }
  orphan_reaper_.reap(whose);
}

void Node::reap_orphans() {
  for (const auto& job : jobs_) reap_orphans(*job);
}

}  // namespace weft::node
