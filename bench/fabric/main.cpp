// SPDX-License-Identifier: BSD-3-Clause
// Two processes over the transport contract: the cost of a message there and back, of a read and of a first
// contact.
#include <poll.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "bench/pair/die.hpp"
#include "bench/pair/phases.hpp"
#include "transport/base/modules.hpp"
#include "transport/registry/registry.hpp"

namespace weft::bench {
namespace {

constexpr std::uint16_t id_hello = 0, id_echo = 1;
constexpr std::string_view shared_key = "a key that is none, of both sides";
constexpr std::size_t gets_at_once = 16;  // reads in flight where a read is larger than max_get

template <class T>
T must(Result<T> result, const char* what) {
  if (!result) die(what, result.error().what);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// An open endpoint, and how its owner waits.
class Side {
 public:
  explicit Side(const PairOptions& options) : sleeps_(options.wait == PairOptions::Wait::sleep) {
    auto folders = transport::module_folders();
    std::error_code failed;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    folders.push_back(self.parent_path().parent_path() / "lib" /
                      "weft");  // in the build folder and when installed
    opened_ =
        transport::Registry(std::move(folders)).open(options.transport, {}, {.key = as_bytes(shared_key)});
    if (!opened_.endpoint) die(options.transport.c_str(), opened_.why_not.c_str());
    if (sleeps_ && !endpoint().capabilities().wait_fd)
      die(options.transport.c_str(), "has nothing to sleep on");
  }
  Endpoint& endpoint() { return *opened_.endpoint; }

  /// Makes progress; if nothing was ready, waits as the options say. beside: a second descriptor that ends
  /// the wait.
  void turn(int beside = -1) {
    if (endpoint().progress() != 0 || !sleeps_) return;
    if (const auto armed = endpoint().arm(); !armed) {
      if (armed.error().code == Errc::again) return;
      die("arm", armed.error().what);
    }
    pollfd waits[]{{*endpoint().wait_fd(), POLLIN, 0}, {beside, POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) die_of_errno("poll");
  }

  /// Repeats start() until it does not fail with `again`.
  template <class Start>
  void started(const char* what, Start&& start) {
    for (;;) {
      const Result<void> done = start();
      if (done) return;
      if (done.error().code != Errc::again) die(what, done.error().what);
      endpoint().progress();
    }
  }

 private:
  bool sleeps_;
  transport::Registry::OpenResult opened_;
};

struct One : Completion {
  bool open = false;
  One() {
    done = [](Completion& self, Result<void> outcome) noexcept {
      if (!outcome) die("an operation", outcome.error().what);
      static_cast<One&>(self).open = false;
    };
  }
};

class FabricClient final : public PairClient {
 public:
  explicit FabricClient(const PairOptions& options) : side_(options), memory_(options.memory_bytes) {
    side_.endpoint().on_message([](void* self, std::uint16_t,
                                   const Message&) noexcept { ++static_cast<FabricClient*>(self)->heard_; },
                                this);
    region_ = must(side_.endpoint().expose(memory_), "expose");
  }
  /// card: length of the key in 2 bytes, key of the server's memory, the server's address.
  void contact(std::span<const std::byte> card) override {
    std::uint16_t key_bytes;
    std::memcpy(&key_bytes, card.data(), sizeof key_bytes);
    const auto key = card.subspan(sizeof key_bytes, key_bytes),
               address = card.subspan(sizeof key_bytes + key_bytes);
    peer_ = must(side_.endpoint().reach({{address.begin(), address.end()}}), "reach");
    key_ = must(side_.endpoint().import_key(*peer_, key), "import_key");
    ask(id_hello, side_.endpoint().address().bytes);
  }
  void there_and_back(std::size_t bytes) override { ask(id_echo, Bytes(memory_).first(bytes)); }
  void get(std::size_t bytes) override {
    const auto piece = std::min(bytes, side_.endpoint().capabilities().max_get);
    for (std::size_t at = 0, next = 0; at < bytes; at += piece, ++next) {
      One& one = reads_[next % reads_.size()];
      while (one.open) side_.turn();
      start_read(one, at, std::min(piece, bytes - at));
    }
    for (const One& one : reads_)
      while (one.open) side_.turn();
  }

 private:
  void ask(std::uint16_t id, Bytes payload) {
    const auto before = heard_;
    while (sent_.open) side_.turn();
    sent_.open = true;
    side_.started("send", [&] { return side_.endpoint().send(*peer_, id, {{}, payload}, sent_); });
    while (heard_ == before) side_.turn();
  }
  void start_read(One& one, std::size_t at, std::size_t bytes) {
    one.open = true;
    side_.started("get", [&] { return side_.endpoint().get({*key_, at}, {*region_, at, bytes}, one); });
  }

  Side side_;
  std::vector<std::byte> memory_;
  One sent_;
  std::array<One, gets_at_once> reads_;
  std::size_t heard_ = 0;
  std::unique_ptr<MemoryRegion> region_;
  std::unique_ptr<Peer> peer_;
  std::unique_ptr<RemoteKey> key_;
};

/// Replies to a hello at the address in it, and to all other messages at the address of the last hello.
class FabricServer {
 public:
  explicit FabricServer(const PairOptions& options) : side_(options), memory_(options.memory_bytes) {
    side_.endpoint().on_message(
        [](void* self, std::uint16_t id, const Message& message) noexcept {
          static_cast<FabricServer*>(self)->heard(id, message.payload);
        },
        this);
    region_ = must(side_.endpoint().expose(memory_), "expose");
  }
  std::vector<std::byte> card() {
    const auto& address = side_.endpoint().address().bytes;
    const auto key = region_->packed_key();
    const auto key_bytes = static_cast<std::uint16_t>(key.size());
    std::vector<std::byte> out(sizeof key_bytes);
    std::memcpy(out.data(), &key_bytes, sizeof key_bytes);
    out.insert(out.end(), key.begin(), key.end());
    out.insert(out.end(), address.begin(), address.end());
    return out;
  }
  void serve(const SideChannel& side_channel) {
    constexpr unsigned often = 1024;
    for (unsigned round = 0; round % often != 0 || !side_channel.is_closed(); ++round) {
      side_.turn(side_channel.fd());
      // Also the answer that found no room in heard().
      if (owes_) answer(owed_bytes_);
    }
  }

 private:
  void heard(std::uint16_t id, Bytes payload) {
    if (id == id_hello)
      peers_.push_back(must(side_.endpoint().reach({{payload.begin(), payload.end()}}), "reach"));
    answer(id == id_hello ? 0 : payload.size());
  }
  void answer(std::size_t bytes) {
    owes_ = true;
    owed_bytes_ = bytes;
    One& one = answers_[next_ % answers_.size()];
    if (one.open) return;
    const auto sent = side_.endpoint().send(*peers_.back(), id_echo, {{}, Bytes(memory_).first(bytes)}, one);
    if (!sent && sent.error().code == Errc::again) return;
    must(sent, "send");
    one.open = true;
    owes_ = false;
    ++next_;
  }

  Side side_;
  std::vector<std::byte> memory_;
  std::array<One, 16> answers_;
  std::size_t next_ = 0, owed_bytes_ = 0;
  bool owes_ = false;
  std::unique_ptr<MemoryRegion> region_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  int status = 0;
  const auto options = parse_pair_options(
      argc, argv, "weft_fabric_bench: times the transport contract between two processes", status);
  if (!options) return status;
  settle(*options);
  if (options->serve) {
    FabricServer server(*options);
    auto side_channel = SideChannel::accept(options->at);
    side_channel.send(server.card());
    server.serve(side_channel);
  } else {
    auto side_channel = SideChannel::connect(options->at);
    run_client(
        *options, "fabric", [&] { return std::make_unique<FabricClient>(*options); }, side_channel);
  }
}
