// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/records/records.hpp"

#include <fmt/format.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/data/names/call_attributes.hpp"
#include "core/link/log_style.hpp"

namespace weft::server {
namespace {

/// A call, until all its records are taken or refused.
struct LogCall {
  Requester from;
  std::size_t open = 1;  ///< records, and the call that sends them
  std::size_t taken = 0, refused = 0;

  void end_one() {
    if (--open != 0) return;
    const auto all = refused == 0 ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS;
    from.reply(taken == 0 ? PMIX_ERR_NOT_SUPPORTED : all);
  }
};

bool has_text(const pmix_value_t& value) noexcept {
  return value.type == PMIX_STRING && value.data.string != nullptr;
}

bool is_for_a_syslog(std::string_view key) noexcept {
  return key == PMIX_LOG_GLOBAL_SYSLOG || key == PMIX_LOG_SYSLOG || key == PMIX_LOG_LOCAL_SYSLOG;
}

}  // namespace

Records::Records(Loop& loop, Cluster& cluster, std::string host_name)
    : cluster_(cluster), host_name_(std::move(host_name)), syslog_(loop, "weft-syslog") {
  cluster_.on(RequestType::syslog_record, [this](NodeNumber, Bytes body, const Rpc::Reply& reply) {
    const auto record = base::decode<SyslogRecord>(body);
    if (!record) return reply(PMIX_ERR_BAD_PARAM, {});
    write(*record, [reply](bool is_taken) { reply(is_taken ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED, {}); });
  });
}

NodeNumber Records::gateway() const {
  for (NodeNumber node = 0; node < cluster_.self(); ++node)
    if (cluster_.servers().is_there(node)) return node;
  return cluster_.self();
}

bool Records::takes(const pmix_info_t& record) const {
  const auto key = data::key_of(record);
  return key == PMIX_LOG_GLOBAL_SYSLOG || (key == PMIX_LOG_SYSLOG && gateway() != cluster_.self());
}

void Records::log(const Requester& from, const link::Log& message) {
  const std::span records(message.records.data(), message.records.size());
  const auto& directives = message.directives;
  const auto style = link::LogStyle::of(directives.data(), directives.size());
  const bool is_good =
      style.is_valid() && std::all_of(records.begin(), records.end(), [](const pmix_info_t& one) {
        return !is_for_a_syslog(data::key_of(one)) || has_text(one.value);
      });
  if (!is_good) return from.reply(PMIX_ERR_BAD_PARAM);
  if (data::first_not_understood("PMIx_Log", directives.data(), directives.size()) != nullptr)
    return from.reply(PMIX_ERR_NOT_SUPPORTED);
  const auto call = std::make_shared<LogCall>(LogCall{from});
  for (const auto& record : records) {
    if (!takes(record)) {
      ++call->refused;
      continue;
    }
    auto text = fmt::format("{}:{} on {}: {}", link::nspace_of(from.proc()), from.proc().rank, host_name_,
                            style.styled("syslog", record.value.data.string));
    text.resize(std::min(text.size(), SyslogRecord::most_bytes));
    ++call->open;
    send({static_cast<std::uint8_t>(style.priority), std::move(text)}, [call](bool is_taken) {
      ++(is_taken ? call->taken : call->refused);
      call->end_one();
    });
  }
  call->end_one();
}

void Records::send(const SyslogRecord& record, Taken taken) {
  const auto to = gateway();
  if (to == cluster_.self()) return write(record, std::move(taken));
  cluster_.send(to, RequestType::syslog_record, base::encode(record),
                [taken = std::move(taken)](pmix_status_t status, Bytes) { taken(status == PMIX_SUCCESS); });
}

/// A syslog may be slow to take a record.
void Records::write(const SyslogRecord& record, Taken taken) {
  const auto number = ++last_number_;
  writing_.emplace(number, std::move(taken));
  const bool is_begun = syslog_.run(
      [record] {
        if (::access(_PATH_LOG, W_OK) != 0) return false;
        ::syslog(LOG_USER | record.priority, "%s", record.text.c_str());
        return true;
      },
      [this, number](bool is_taken) { written(number, is_taken); });
  if (!is_begun) written(number, false);
}

void Records::written(std::uint64_t number, bool is_taken) {
  if (const auto taken = writing_.extract(number)) taken.mapped()(is_taken);
}

}  // namespace weft::server
