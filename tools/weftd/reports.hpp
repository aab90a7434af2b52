// SPDX-License-Identifier: BSD-3-Clause
// The reports of a node about a job on their way to the launcher, with those of the nodes below it: those
// that the loop sees in one turn go in one message, to the server above this one in the job's tree. They stay
// here until the launcher has them (report_queue.hpp), also when the job is over here.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "tools/channel/server_channel.hpp"
#include "tools/weftd/report_queue.hpp"

namespace weft::weftd {

class Reports : public std::enable_shared_from_this<Reports> {
 public:
  struct Place {
    asio::io_context& loop;
    channel::ServerChannel& channel;  ///< outlives the loop's work
    std::uint32_t self, launcher;
  };
  Reports(const Place& place, std::string nspace)
      : place_(place), nspace_(std::move(nspace)), queue_(place.self, place.launcher) {}

  std::uint32_t above() const noexcept { return queue_.above(); }
  void report_to(std::uint32_t above) { queue_.report_to(above); }
  void report_straight();

  template <class Report>
  void add(const Report& report, Way way) {
    queue_.add(Report::type, channel::encode(report), way);
    way == Way::straight ? send() : send_soon();
  }
  /// Of nodes below. reply: is sent when the launcher has them.
  void pass_on(channel::report::Gathered below, channel::Reply reply);
  /// The job is over here: what waits goes out.
  void finish();

 private:
  void send_soon();
  void send();

  const Place place_;
  const std::string nspace_;
  ReportQueue queue_;
  bool is_to_send_ = false;
};

}  // namespace weft::weftd
