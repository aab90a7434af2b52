// SPDX-License-Identifier: BSD-3-Clause
// A transport as it would be written outside of this tree: one file, built against the installed headers,
// with nothing of this tree beside it. The endpoints reach themselves only.
#include <algorithm>
#include <cstring>
#include <deque>
#include <span>

#include <weft/transport.hpp>

namespace {

using namespace weft;

struct Own final : Peer {};

struct Region final : MemoryRegion {
  explicit Region(std::span<std::byte> m) : memory(m), start(m.data()) {}
  Bytes packed_key() const noexcept override { return std::as_bytes(std::span(&start, 1)); }
  std::span<std::byte> memory;
  std::byte* start;
};

struct Key final : RemoteKey {
  std::byte* start = nullptr;
};

class Loopback final : public Endpoint {
 public:
  explicit Loopback(std::string_view options) {
    capabilities_ = {.max_inline = 4096, .max_message = 4096, .max_header = 4096, .max_get = 4096};
    const auto text = as_bytes(options);
    address_.bytes.assign(text.begin(), text.end());
  }
  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  const Address& address() const noexcept override { return address_; }
  Result<std::unique_ptr<Peer>> reach(const Address& address) override {
    if (address.bytes != address_.bytes) return fail(Errc::corrupt);
    return std::make_unique<Own>();
  }
  Result<std::unique_ptr<MemoryRegion>> expose(std::span<std::byte> memory) override {
    return std::make_unique<Region>(memory);
  }
  Result<std::unique_ptr<RemoteKey>> import_key(Peer&, Bytes packed) override {
    auto key = std::make_unique<Key>();
    if (packed.size() != sizeof key->start) return fail(Errc::corrupt);
    std::memcpy(&key->start, packed.data(), packed.size());
    return key;
  }
  void on_message(Handler handler, void* self) noexcept override {
    handler_ = handler;
    self_ = self;
  }
  Result<void> send(Peer&, std::uint16_t id, const Message& message, Completion& completion) override {
    waiting_.push_back({id,
                        {message.header.begin(), message.header.end()},
                        {message.payload.begin(), message.payload.end()},
                        &completion});
    return {};
  }
  Result<void> get(const RemoteSlice& from, const LocalSlice& into, Completion& completion) override {
    const auto* source = static_cast<Key&>(from.key).start + from.offset;
    std::memcpy(static_cast<Region&>(into.region).memory.data() + into.offset, source, into.length);
    waiting_.push_back({0, {}, {}, &completion});
    return {};
  }
  std::size_t progress() noexcept override {
    std::size_t handled = 0;
    for (; !waiting_.empty(); ++handled) {
      const Waiting one = std::move(waiting_.front());
      waiting_.pop_front();
      if (one.id != 0 && handler_ != nullptr) handler_(self_, one.id, {one.header, one.payload});
      one.completion->done(*one.completion, {});
    }
    return handled;
  }
  Result<void> arm() noexcept override { return fail(Errc::not_supported); }
  std::optional<int> wait_fd() const noexcept override { return std::nullopt; }

 private:
  struct Waiting {
    std::uint16_t id;
    std::vector<std::byte> header, payload;
    Completion* completion;
  };
  Capabilities capabilities_;
  Address address_;
  Handler handler_ = nullptr;
  void* self_ = nullptr;
  std::deque<Waiting> waiting_;
};

class LoopbackTransport final : public Transport {
 public:
  Result<std::unique_ptr<Endpoint>> open(const Opening& opening) override {
    if (opening.options == "nowhere") return fail(Errc::not_found, "no provider of that name");
    return std::make_unique<Loopback>(opening.options);
  }
};

}  // namespace

#ifndef LOOPBACK_VERSION
#define LOOPBACK_VERSION weft::TransportModule::current_version
#endif

extern "C" __attribute__((visibility("default"))) const weft::TransportModule weft_transport_module{
    LOOPBACK_VERSION, "loopback", []() noexcept -> weft::Transport* { return new LoopbackTransport; }};
