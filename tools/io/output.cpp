// SPDX-License-Identifier: BSD-3-Clause
#include "tools/io/output.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace weft::io {

using job::Rank;
using job::Stream;

Output::Output(asio::io_context& loop, Sinks sinks, Settings settings, Files::Failed failed)
    : sinks_(sinks), settings_(std::move(settings)), pipes_(loop, settings_.nspace, *this, {}) {
  if (!settings_.directory.empty()) files_.emplace(settings_.directory, std::move(failed));
  const auto chunk = Pipes::credit_of(1, settings_.ranks_here).chunk;
  pipes_.set_credit({chunk, chunk});
  if (settings_.has_terminals) pipes_.use_terminals();
  sinks_.pulls.add_job(settings_.nspace, {settings_.ranks, files_.has_value(), settings_.kept});
}

Files::Ends Output::connect(Rank rank) {
  if (files_) return files_->open(rank);
  auto out = connect(rank, Stream::out);
  return {std::move(out), connect(rank, Stream::error)};
}

/// The pipe first: a flow that is open without one would have no end.
process::Fd Output::connect(Rank rank, Stream stream) {
  auto end = pipes_.connect(rank, stream);
  open(rank, stream);
  return end;
}

void Output::open(Rank rank, Stream stream) {
  auto tags = settings_.tags;
  if (tags.host && settings_.host_of) tags.job = settings_.host_of(rank) + ":" + tags.job;
  sinks_.terminal.stream(stream).open(flow(rank, stream), tags);
}

void Output::prepare_far(Rank rank) const {
  if (files_) files_->open(rank);
}

void Output::connect_far(Rank rank) {
  if (files_) return;
  for (const auto stream : {Stream::out, Stream::error}) open(rank, stream);
}

void Output::write(const Flow& flow, std::string bytes, Written written) {
  if (files_) return files_->write(flow, std::move(bytes), std::move(written));
  auto& terminal = sinks_.terminal.stream(flow.stream);
  if (!sinks_.pulls.want(flow)) {
    sinks_.pulls.write(flow, bytes, [] {});  // what it keeps of it
    return terminal.write(flow, std::move(bytes), std::move(written));
  }
  // The last copy of it ends when all have the chunk.
  const auto takes_more = std::make_shared<bool>(true);
  const std::shared_ptr<void> all(
      nullptr, [takes_more, written = std::move(written)](void*) { written(*takes_more); });
  const bool is_redirected = !bytes.empty() && sinks_.pulls.redirect(flow);
  sinks_.pulls.write(flow, bytes, [all] {});
  if (is_redirected) return;
  terminal.write(flow, std::move(bytes), [all, takes_more](bool takes) { *takes_more = takes; });
}

void Output::close(Stream stream) {
  pipes_.close(stream);
  sinks_.pulls.end(settings_.nspace, stream);
}

void Output::close_far(Rank rank) {
  for (const auto stream : {Stream::out, Stream::error}) write(flow(rank, stream), {}, [](bool) {});
}

void Output::check_room(Rank rank) {
  if (files_) files_->check_room(rank);
}

void Output::drop() {
  for (const auto stream : {Stream::out, Stream::error}) close(stream);
  sinks_.terminal.drop(settings_.nspace);
}

void Output::print_after(Rank rank, std::string line, job::WrittenBytes written) {
  const auto here = pipes_.written_bytes(rank);
  sinks_.terminal.stream(Stream::error)
      .print_after({{flow(rank, Stream::out), std::max(written.out, here.out)},
                    {flow(rank, Stream::error), std::max(written.error, here.error)}},
                   std::move(line));
}

}  // namespace weft::io
