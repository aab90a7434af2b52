// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/service/service.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <csignal>
#include <utility>

#include "base/local_socket.hpp"
#include "tools/messages/service_messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/process/held_signals.hpp"

namespace weft::weftrun::service {
namespace {

namespace exit_status = messages::exit_status;

RunningJobs::Place place_of(asio::io_context& loop, Plan& plan, RunningJobsWatcher& watcher,
                            Console& console) {
  return {loop, plan, watcher, [&console](const std::string& line) { console.print_result(line); }};
}

}  // namespace

Service::Service(const process::Spawner& spawner, const Options& options, Plan& plan, std::string release,
                 std::string transport, std::function<void()> ready)
    : spawner_(spawner),
      options_(options),
      plan_(plan),
      release_(std::move(release)),
      transport_(std::move(transport)),
      ready_(std::move(ready)),
      terminal_(loop_, *this),
      console_(terminal_, options.quiet, options.verbose),
      jobs_(place_of(loop_, plan, *this, console_)),
      served_(loop_, jobs_,
              ServedJobs::Events{[this](const State& state) { tell(state.id, state); },
                                 [this](std::uint64_t id, const Refused& why) { tell(id, why); },
                                 [this] { asio::post(loop_, [this] { finish_if_over(); }); }}) {}

int Service::run() {
  process::keep_crashes_deadly();
  process::HeldSignals held;
  door_.emplace(loop_, options_.service.name, [this](base::Fd socket) { welcome(std::move(socket)); });
  GroundWatcher& watcher = *this;  // a base that emplace may not see
  ground_.emplace(
      Ground::Setup{loop_, spawner_, plan_, jobs_, watcher, release_, transport_, options_.names_of});
  ground_->start_server();
  ground_->prepare_daemons();
  held.restore_dispositions();
  signals_.emplace(loop_, SignalWatch::Events{[this](int) { close(); },
                                              [this](int signal) { on_relayed_signal(signal); }});
  held.release();
  if (auto* const cluster = ground_->cluster())
    cluster->start();
  else
    asio::post(loop_, [this] { on_all_connected(); });
  loop_.run();
  if (auto* const node = ground_->node()) node->reap_orphans();
  return exit_code_;
}

void Service::on_all_connected() {
  if (is_closing_) return;
  console_.print_result(messages::service_ready(options_.service.name, plan_.all_nodes(), plan_.universe));
  ready_();
  served_.open();
}

/// Of the signals for jobs one has a meaning for all: where their ranks are, each user is told.
void Service::on_relayed_signal(int signal) {
  if (signal != SIGQUIT) return;
  for (const auto& job : served_.list())
    if (job.state != JobState::ended) served_.signal(job.id, signal);
}

// ---- attachers

void Service::welcome(base::Fd socket) {
  const auto number = ++last_visitor_;
  if (const auto other = base::peer_credentials(socket.get()))
    visitors_[number].who = {static_cast<std::uint32_t>(other->pid), other->uid, false};
  Link::Events events;
  events.message = [this, number](Link::Message message) { take(number, std::move(message)); };
  events.closed = [this, number] { dismiss_visitor(number); };
  visitors_[number].link = std::make_unique<Link>(loop_, std::move(socket), std::move(events));
}

void Service::take(std::uint64_t visitor, Link::Message message) {
  auto& from = visitors_.at(visitor);
  bool is_right = true;
  switch (message.type) {
    case MessageType::run:
      is_right = take_run(visitor, std::move(message));
      break;
    case MessageType::signal: {
      const auto signal = message.as<Signal>();
      is_right = signal.has_value();
      if (is_right) served_.signal(from.job, signal->number);
      break;
    }
    case MessageType::list:
      from.link->send(Listed{served_.list()});
      break;
    case MessageType::stop:
      close();
      break;
    default:
      is_right = false;
  }
  if (!is_right) dismiss_visitor(visitor);
}

bool Service::take_run(std::uint64_t visitor, Link::Message message) {
  constexpr std::size_t streams = 3;
  auto request = message.as<Run>();
  auto& from = visitors_.at(visitor);
  if (!request || message.descriptors.size() != streams || from.job != 0) return false;
  from.job = ++last_job_;
  from.who.is_detached = request->is_detached;
  request->surroundings.attacher = from.who;
  if (is_closing_)
    from.link->send(Refused{exit_status::own_failure, messages::service_ends()});
  else
    served_.add(from.job, std::move(*request), std::move(message.descriptors));
  return true;
}

/// Perhaps inside a call of its link.
void Service::dismiss_visitor(std::uint64_t visitor) {
  asio::post(loop_, [this, visitor] {
    const auto at = visitors_.find(visitor);
    if (at == visitors_.end()) return;
    const auto gone = std::move(at->second);
    visitors_.erase(at);
    if (!gone.who.is_detached) served_.abandon(gone.job);
  });
}

template <class Message>
void Service::tell(std::uint64_t job, const Message& message) {
  for (const auto& [number, visitor] : visitors_)
    if (visitor.job == job) visitor.link->send(message);
}

// ---- the end

void Service::close() {
  if (!std::exchange(is_closing_, true)) console_.print_result(messages::service_ends());
  served_.close();
  if (tools_) jobs_.on_end_signal(*tools_, SIGTERM);
  asio::post(loop_, [this] { finish_if_over(); });
}

void Service::finish_if_over() {
  check_nodes();
  if (!is_closing_ || !served_.is_empty() || !jobs_.is_empty() || std::exchange(is_finishing_, true)) return;
  ground_->dismiss();
  ground_->finish();
}

void Service::on_run_over(UserRun& run, int exit_code) {
  if (&run != tools_.get()) return served_.on_over(run, exit_code);
  asio::post(loop_, [this] {
    jobs_.forget(*tools_);
    finish_if_over();
  });
}

/// What their jobs write goes to the tools that pull it, and nowhere else.
std::shared_ptr<UserRun> Service::run_of_tools() {
  if (tools_ || is_closing_) return is_closing_ ? nullptr : tools_;
  Options options;
  options.quiet = true;
  UserRun::Streams nowhere;
  nothing_ = process::Fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  nowhere.input = nowhere.output = nowhere.error = nothing_.get();
  tools_ = std::make_shared<UserRun>(loop_, std::move(options), Surroundings::own(), nowhere, jobs_);
  tools_->last();
  return tools_;
}

void Service::on_unused_node_lost(const std::string& line) {
  console_.print_result(line);
  asio::post(loop_, [this] { finish_if_over(); });
}

bool Service::has_nodes() {
  if (plan_.own) return true;
  for (std::uint32_t node = 0; node < plan_.all_nodes(); ++node)
    if (!ground_->cluster()->nodes().is_lost(node)) return true;
  return false;
}

void Service::check_nodes() {
  if (is_closing_ || has_nodes()) return;
  console_.print(messages::service_without_nodes());
  exit_code_ = exit_status::own_failure;
  close();
}

void Service::on_all_exited() {
  for (const auto& [number, visitor] : visitors_) visitor.link->send(Stopped{});
  loop_.stop();
}

}  // namespace weft::weftrun::service
