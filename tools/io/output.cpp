// SPDX-License-Identifier: BSD-3-Clause
#include "tools/io/output.hpp"

#include <algorithm>
#include <utility>

namespace weft::io {

using job::Rank;
using job::Stream;

Output::Output(asio::io_context& loop, Terminal& terminal, Settings settings, Files::Failed failed)
    : terminal_(terminal), settings_(std::move(settings)), pipes_(loop, settings_.nspace, *this, {}) {
  if (!settings_.directory.empty()) files_.emplace(settings_.directory, std::move(failed));
  const auto chunk = Pipes::credit_of(1, settings_.ranks_here).chunk;
  pipes_.set_credit({chunk, chunk});
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
  terminal_.stream(stream).open(flow(rank, stream), settings_.tags);
}

void Output::prepare_far(Rank rank) const {
  if (files_) files_->open(rank);
}

void Output::connect_far(Rank rank) {
  if (files_) return;
  for (const auto stream : {Stream::out, Stream::error}) open(rank, stream);
}

void Output::write(const Flow& flow, std::string bytes, Written written) {
  Sink& sink = files_ ? static_cast<Sink&>(*files_) : terminal_.stream(flow.stream);
  sink.write(flow, std::move(bytes), std::move(written));
}

void Output::close_far(Rank rank) {
  for (const auto stream : {Stream::out, Stream::error}) write(flow(rank, stream), {}, [](bool) {});
}

void Output::check_room(Rank rank) {
  if (files_) files_->check_room(rank);
}

void Output::drop() {
  pipes_.close_all();
  terminal_.drop(settings_.nspace);
}

void Output::print_after(Rank rank, std::string line, job::WrittenBytes written) {
  const auto here = pipes_.written_bytes(rank);
  terminal_.stream(Stream::error)
      .print_after({{flow(rank, Stream::out), std::max(written.out, here.out)},
                    {flow(rank, Stream::error), std::max(written.error, here.error)}},
                   std::move(line));
}

}  // namespace weft::io
