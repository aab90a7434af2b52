// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/service/attach.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <asio/io_context.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "tools/io/input/input.hpp"
#include "tools/messages/json.hpp"
#include "tools/messages/service_messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/weftrun/launcher/signal_watch.hpp"
#include "tools/weftrun/service/door.hpp"
#include "tools/weftrun/service/link.hpp"

namespace weft::weftrun::service {
namespace {

namespace exit_status = messages::exit_status;
using Target = job::InputTarget::Kind;

constexpr std::array<const char*, 4> state_names{"waiting", "starting", "running", "ended"};

const char* name_of(JobState state) noexcept {
  return state_names[static_cast<std::size_t>(state)];
}

void write(std::FILE* to, const std::string& text) {
  (void)std::fputs(text.c_str(), to);
  (void)std::fflush(to);
}

std::string json_of(const State& state) {
  messages::Json out;
  out.object().field("id", state.id).field("state", name_of(state.state));
  if (state.state == JobState::ended) out.field("status", state.status);
  if (!state.nspace.empty()) out.field("namespace", state.nspace);
  out.field("program", state.program).field("ranks", state.ranks);
  out.key("attacher").object().field("pid", state.attacher.pid).field("user", state.attacher.user);
  out.field("detached", state.attacher.is_detached).end().end();
  return std::move(out).take();
}

std::string text_of(const std::vector<State>& jobs) {
  auto out = fmt::format("{:>6}  {:<8}{:>7}{:>9}{:>10}  {}\n", "job", "state", "status", "ranks", "attacher",
                         "program");
  for (const auto& job : jobs)
    out += fmt::format("{:>6}  {:<8}{:>7}{:>9}{:>10}  {}{}\n", job.id, name_of(job.state),
                       job.state == JobState::ended ? std::to_string(job.status) : "",
                       job.ranks == 0 ? "" : std::to_string(job.ranks), job.attacher.pid, job.program,
                       job.attacher.is_detached ? " (detached)" : "");
  return out;
}

/// The service has another directory and reads none of this process's files.
void make_absolute(Options& options, const std::string& directory) {
  const std::filesystem::path here(directory);
  if (!options.output_directory.empty())
    options.output_directory = (here / options.output_directory).string();
  for (std::size_t a = 0; a < options.apps.size(); ++a) {
    auto& app = options.apps[a];
    app.directory = app.directory.empty() ? directory : (here / app.directory).string();
    if (options.own_hosts[a].empty()) options.own_hosts[a] = options.hosts;
  }
}

bool is_file(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/// What the service sends until it has nothing left to say; the process ends with the status.
class Visit {
 public:
  explicit Visit(Options options)
      : options_(std::move(options)),
        link_(loop_, connect_to_service(options_.service.name),
              Link::Events{[this](Link::Message message) { take(message); }, [this] { lost(); }}) {}

  int run() {
    using What = ServiceOptions::What;
    if (options_.service.what == What::list) link_.send(List());
    if (options_.service.what == What::stop) link_.send(StopAll());
    if (options_.service.what == What::attach) send_job();
    loop_.run();
    return exit_code_.value_or(exit_status::own_failure);
  }

 private:
  void send_job() {
    Run request;
    request.surroundings = Surroundings::own();
    make_absolute(options_, request.surroundings.directory);
    request.is_detached = options_.service.detach;
    request.options = JobOptions::of(options_);
    const process::Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    std::array<int, 3> streams{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    // A pipe that a job of its own keeps open would keep its reader waiting.
    for (int& fd : streams)
      if (options_.service.detach && !is_file(fd)) fd = nothing.get();
    process::Fd input;
    if (streams[0] == STDIN_FILENO && ::isatty(STDIN_FILENO) == 1 && options_.input.kind != Target::none) {
      // Only a process of the terminal's session may read it.
      input_.emplace(loop_, job::InputTarget{Target::one, job::Rank{0}}, 1, io::Input::Others());
      input = input_->connect(job::Rank{0});
      streams[0] = input.get();
    }
    signals_.emplace(loop_, SignalWatch::Events{[this](int signal) { link_.send(Signal{signal}); },
                                                [this](int signal) { relay(signal); }});
    link_.send(request, streams);
    if (input_) input_->resume();
  }

  void relay(int signal) {
    link_.send(Signal{signal});
    if (signal == SIGTSTP) ::kill(::getpid(), SIGSTOP);
    if (signal == SIGCONT && input_) input_->resume();
  }

  void take(const Link::Message& message) {
    bool is_right = false;
    if (const auto state = message.as<State>()) is_right = true, take(*state);
    if (const auto refused = message.as<Refused>()) is_right = true, take(*refused);
    if (const auto listed = message.as<Listed>()) is_right = true, take(*listed);
    if (message.as<Stopped>()) is_right = true, end(0);
    if (!is_right)
      throw messages::Stop(exit_status::own_failure, messages::no_message(options_.service.name));
  }

  void take(const State& state) {
    if (options_.service.json) say(json_of(state));
    const bool is_accepted = options_.service.detach && state.state != JobState::ended;
    if (is_accepted && !options_.service.json) say(fmt::format("{}\n", state.id));
    if (is_accepted) return end(0);
    if (state.state == JobState::ended) end(state.status);
  }

  void take(const Refused& refused) {
    if (options_.service.json) {
      messages::Json out;
      out.object()
          .field("state", "refused")
          .field("status", refused.status)
          .field("reason", refused.line)
          .end();
      say(std::move(out).take());
    }
    throw messages::Stop(refused.status, refused.line);
  }

  void take(const Listed& listed) {
    if (options_.service.json)
      for (const auto& job : listed.jobs) write(stdout, json_of(job));
    else
      write(stdout, text_of(listed.jobs));
    end(0);
  }

  /// Of the job: where its own output does not go.
  void say(const std::string& text) { write(options_.service.detach ? stdout : stderr, text); }

  /// The first counts: that the service ends may come behind it.
  void end(int exit_code) {
    if (!exit_code_) exit_code_ = exit_code;
    loop_.stop();
  }

  void lost() {
    if (options_.service.what == ServiceOptions::What::stop) return end(0);  // it has gone at once
    throw messages::Stop(exit_status::own_failure, messages::service_lost(options_.service.name));
  }

  Options options_;
  asio::io_context loop_{1};
  Link link_;
  std::optional<io::Input> input_;
  std::optional<SignalWatch> signals_;
  std::optional<int> exit_code_;
};

}  // namespace

int visit(Options options) {
  return Visit(std::move(options)).run();
}

}  // namespace weft::weftrun::service
