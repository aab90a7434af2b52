// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cluster/fabric.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "base/log_format.hpp"
#include "base/settings.hpp"
#include "transport/base/modules.hpp"
#include "transport/registry/registry.hpp"
#include "transport/shm/endpoint/endpoint.hpp"

namespace weft::server {
namespace {

constexpr std::chrono::microseconds poll_every{100};  // an endpoint without a descriptor

}  // namespace

Fabric::Options Fabric::options_here(unsigned clients) {
  Options out;
  out.transport = base::read(base::Variable::transport).text;
  out.folders = transport::module_folders();
  out.preferred = transport::preferred_here();
  out.wait = shm::WaitPolicy::for_other_nodes(clients + 1, shm::usable_cores());
  out.limits.lost_after = *base::read(base::Variable::lost_after).limit();
  out.limits.probe_after = std::min(out.limits.probe_after, out.limits.lost_after / 4);
  return out;
}

Fabric::Opened Fabric::open(Loop& loop, const mesh::JobKey& key, mesh::NodeIncarnation self,
                            mesh::NodeNumber nodes, mesh::Watcher& watcher, const Options& options) {
  transport::Registry registry(options.folders);
  registry.add("shm", [] { return std::make_unique<shm::ShmTransport>(); });
  auto opened = registry.open(
      options.transport, options.preferred.transports,
      {.key = key.raw(), .toward = options.toward ? &*options.toward : nullptr, .nodes = nodes});
  if (!opened.endpoint)
    return {nullptr,
            opened.why_not + (options.transport.empty()
                                  ? ""
                                  : "; it was asked for: by WEFT_TRANSPORT, or by the launcher of the job")};

  if (options.transport.empty() && !opened.endpoint->wait_fd())
    return {nullptr, "transport " + opened.name +
                         " has nothing to sleep on here: it is used only where WEFT_TRANSPORT names it"};

  auto fabric =
      over(loop, opened.options.empty() ? opened.name : opened.name + ":" + opened.options,
           std::move(opened.transport), std::move(opened.endpoint), key, self, nodes, watcher, options);
  base::info(base::LogPart::transport, "other nodes are reached by {}: {}", fabric->description(),
             options.transport.empty() ? "the first of the usual ones that opens" : "it was asked for");
  std::string note = options.transport.empty() ? options.preferred.note : std::string();
  if (!opened.passed_over.empty())
    note = fmt::format("{} is used, because {}", fabric->description(), opened.passed_over);
  const std::string_view risk = fabric->endpoint_->capabilities().risk;
  if (!risk.empty())
    note += fmt::format("{}transport {}: {}; the transport tcp does not allow that", note.empty() ? "" : "; ",
                        fabric->name_, risk);
  if (!fabric->watch_)
    note += fmt::format("{}transport {} has nothing to sleep on and is looked at {} times a second",
                        note.empty() ? "" : "; ", fabric->name_, std::chrono::seconds(1) / poll_every);
  return {std::move(fabric), std::move(note)};
}

std::unique_ptr<Fabric> Fabric::over(Loop& loop, std::string name, std::unique_ptr<Transport> transport,
                                     std::unique_ptr<Endpoint> endpoint, const mesh::JobKey& key,
                                     mesh::NodeIncarnation self, mesh::NodeNumber nodes,
                                     mesh::Watcher& watcher, const Options& options) {
  std::unique_ptr<Fabric> fabric(new Fabric(loop));
  fabric->name_ = std::move(name);
  fabric->transport_ = std::move(transport);
  fabric->endpoint_ = std::move(endpoint);
  fabric->wait_ = options.wait;
  if (const auto fd = fabric->endpoint_->wait_fd())
    fabric->watch_ = std::make_unique<asio::posix::stream_descriptor>(loop.io(), *fd);
  fabric->mesh_ = std::make_unique<mesh::Mesh>(*fabric->endpoint_, key, self, nodes, watcher, options.limits);
  return fabric;
}

std::string Fabric::description() const {
  const auto device = endpoint_->device();
  return device.empty() ? name_ : name_ + " over " + device;
}

Fabric::~Fabric() {
  if (watch_) watch_->release();  // the descriptor is the endpoint's
}

bool Fabric::turn(bool may_rest) noexcept {
  const auto now = loop_.now();
  if (mesh_->progress(now) != 0) {
    awake_since_ = now;
    return true;
  }
  if (!may_rest) return true;
  const auto idle = now - awake_since_;
  if (idle >= wait_.spin + wait_.yield) return false;
  if (idle < wait_.spin) {
    shm::cpu_relax();
    return true;
  }
  std::this_thread::yield();
  if (loop_.now() - now > wait_.longest_yield) awake_since_ = {};  // others want the core
  return true;
}

void Fabric::share_cores(unsigned clients) noexcept {
  wait_ = shm::WaitPolicy::for_other_nodes(clients + 1, shm::usable_cores());
}

bool Fabric::sleep() noexcept {
  const auto armed = mesh_->arm();
  if (!armed && armed.error().code == Errc::again) {
    std::this_thread::yield();  // the library connects, or is full: nothing would wake us
    return false;
  }
  if (!armed) {
    wait_until(loop_.now() + poll_every);
    return true;
  }
  wait_until(mesh_->deadline());
  if (is_watched_) return true;
  is_watched_ = true;
  watch_->async_wait(asio::posix::stream_descriptor::wait_read,
                     [self = weak_self_.get()](const std::error_code&) {
                       if (Fabric* const fabric = self()) fabric->is_watched_ = false;
                     });
  return true;
}

void Fabric::wait_until(mesh::TimePoint when) noexcept {
  if (when == timer_at_) return;
  timer_at_ = when;
  if (when == mesh::TimePoint::max()) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(when);
  timer_.async_wait([self = weak_self_.get(), when](const std::error_code& error) {
    Fabric* const fabric = self();
    if (fabric != nullptr && !error && fabric->timer_at_ == when) fabric->timer_at_ = mesh::TimePoint::max();
  });
}

}  // namespace weft::server
