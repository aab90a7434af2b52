// SPDX-License-Identifier: BSD-3-Clause
// A process that exposes memory over a card, and a well-behaved peer that reads it.
//
//   victim serve TRANSPORT OPTIONS             prints "address HEX", "key HEX" and "closed HEX" (the key of a
//                                              region that is gone), and then, for each line of its standard
//                                              input, "bytes HEX": all its memory, before and after the
//                                              region, too. It ends with its standard input
//   victim read TRANSPORT OPTIONS ADDRESS KEY  prints "bytes HEX": what the region holds, or "error N"
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "tests/rdma/hex.hpp"
#include "transport/ofi/transport.hpp"
#include "transport/ucx/endpoint.hpp"

namespace weft::rdma {
namespace {

constexpr std::size_t page = 4096, region_bytes = 256;
constexpr std::chrono::seconds longest{120};

int fail_with(const char* what, const Error& error) {
  std::fprintf(stderr, "victim: %s: %s\n", what, error.what);
  return 1;
}

std::unique_ptr<Transport> transport_of(std::string_view name) {
  if (name == "ofi") return std::make_unique<ofi::OfiTransport>();
  return std::make_unique<ucx::UcxTransport>();
}

void say(const char* what, Bytes bytes) {
  std::printf("%s %s\n", what, to_hex(bytes).c_str());
  std::fflush(stdout);
}

int serve(Endpoint& endpoint) {
  endpoint.on_message([](void*, std::uint16_t, const Message&) noexcept {}, nullptr);
  // Pages of their own, all of which are there: only a check of the bounds keeps a reader out of those around
  // the region.
  void* const mapped = ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return 1;
  const std::span memory(static_cast<std::byte*>(mapped), 4 * page);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 7 + i / 256);
  const auto region = endpoint.expose(memory.subspan(page, region_bytes));
  if (!region) return fail_with("expose", region.error());
  auto other = endpoint.expose(memory.subspan(3 * page, region_bytes));
  if (!other) return fail_with("expose", other.error());
  say("address", endpoint.address().bytes);
  say("key", (*region)->packed_key());
  say("closed", (*other)->packed_key());
  other->reset();
  for (;;) {
    while (endpoint.progress() != 0) {
    }
    pollfd command{STDIN_FILENO, POLLIN, 0};
    if (::poll(&command, 1, 1) == 0) continue;
    char line[64];
    if (::read(STDIN_FILENO, line, sizeof line) <= 0) return 0;
    say("bytes", memory.subspan(0, 2 * page));
  }
}

int read(Endpoint& endpoint, const char* address, const char* packed) {
  std::vector<std::byte> into(region_bytes);
  const auto local = endpoint.expose(into);
  if (!local) return fail_with("expose", local.error());
  const auto peer = endpoint.reach({from_hex(address)});
  if (!peer) return fail_with("reach", peer.error());
  const auto key = endpoint.import_key(**peer, from_hex(packed));
  if (!key) return fail_with("import_key", key.error());
  struct Read : Completion {
    std::optional<Result<void>> outcome;
  } got;
  got.done = [](Completion& self, Result<void> outcome) noexcept {
    static_cast<Read&>(self).outcome = outcome;
  };
  const auto end = std::chrono::steady_clock::now() + longest;
  auto begun = endpoint.get({**key, 0}, {**local, 0, into.size()}, got);
  while ((begun || begun.error().code == Errc::again) && !got.outcome &&
         std::chrono::steady_clock::now() < end) {
    endpoint.progress();
    if (!begun) begun = endpoint.get({**key, 0}, {**local, 0, into.size()}, got);
  }
  if (!begun) return fail_with("get", begun.error());
  if (got.outcome && *got.outcome)
    say("bytes", into);
  else
    std::printf("error %d\n", got.outcome ? static_cast<int>(got.outcome->error().code) : -1);
  return 0;
}

int main(int count, char** words) {
  const std::string_view mode = count > 3 ? words[1] : "";
  if (!(mode == "serve" && count == 4) && !(mode == "read" && count == 6)) {
    std::fprintf(stderr, "victim: see the top of tests/rdma/victim.cpp\n");
    return 2;
  }
  const auto transport = transport_of(words[2]);
  const auto endpoint = transport->open({.options = words[3]});
  if (!endpoint) return fail_with("open", endpoint.error());
  return mode == "serve" ? serve(**endpoint) : read(**endpoint, words[4], words[5]);
}

}  // namespace
}  // namespace weft::rdma

int main(int count, char** words) {
  return weft::rdma::main(count, words);
}
