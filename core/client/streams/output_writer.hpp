// SPDX-License-Identifier: BSD-3-Clause
// The streams of one pull on their way to a handler of the program, to this process's own descriptors, or
// into files. Any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/fd.hpp"
#include "core/client/streams/output_form.hpp"
#include "core/link/requests.hpp"

namespace weft::client {

class OutputWriter {
 public:
  /// Pieces as the program gets them: no bytes: the end of a stream.
  using Handler = std::function<void(link::Output output)>;
  /// handler: empty: the pieces are written to this process's standard output and error.
  OutputWriter(OutputForm form, Handler handler) : form_(std::move(form)), handler_(std::move(handler)) {}

  void take(link::Output output);
  /// The pull is over: what waits goes out.
  void finish();

 private:
  /// A line that is longer goes out in pieces.
  static constexpr std::size_t longest_line = 64 * 1024;
  struct Key {
    std::string nspace;
    pmix_rank_t rank;
    pmix_iof_channel_t channel;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Stream {
    link::Output head;     ///< without bytes
    std::string line;      ///< not whole yet
    std::string buffered;  ///< in its form
    base::Fd file;
    bool has_file = false;
  };
  Stream& stream_of(const link::Output& output);
  void add(Stream& stream, std::string_view bytes);
  void end_line(Stream& stream);
  void put_out(Stream& stream);
  void hand_over(const Stream& stream, std::string_view bytes);
  void open_file(Stream& stream);

  const OutputForm form_;
  const Handler handler_;
  std::recursive_mutex mutex_;  ///< a handler may end its own pull
  std::map<Key, Stream> streams_;
};

}  // namespace weft::client
