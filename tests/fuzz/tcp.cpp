// SPDX-License-Identifier: BSD-3-Clause
// The transport tcp: addresses and keys, bytes before a peer has proved that it has the key, and frames after
// it has.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "tests/fuzz/decoders.hpp"
#include "transport/tcp/endpoint.hpp"

namespace weft::fuzz {
namespace {

using namespace tcp;

const Encoded& tls_key() {
  static const Encoded fixed(32, std::byte{7});
  return fixed;
}
EndpointId id_of(unsigned seed) {
  EndpointId out{};
  out.fill(static_cast<std::byte>(seed));
  return out;
}
const EndpointId client_id = id_of(1), server_id = id_of(2);

TlsContext& context(RecordsBy records = RecordsBy::weft) {
  static const auto wefts = std::move(*TlsContext::make(tls_key())),
                    openssls = std::move(*TlsContext::make(tls_key(), RecordsBy::openssl));
  return records == RecordsBy::weft ? *wefts : *openssls;
}
struct Streams {
  explicit Streams(RecordsBy of_client = RecordsBy::weft, RecordsBy of_server = RecordsBy::weft)
      : client(context(of_client), Introduction{client_id, server_id}),
        server(context(of_server), server_id, [](const Introduction&) { return true; }) {}
  TlsStream client, server;

  static Encoded take(TlsStream& from) {
    const auto output = from.output();
    Encoded out(output.begin(), output.end());
    from.sent(out.size());
    return out;
  }
  static void pass(TlsStream& from, TlsStream& to) {
    const auto bytes = take(from);
    to.feed(bytes);
    to.step();
  }
  void shake_hands() {
    client.step();
    for (int i = 0; i < 3; ++i) {
      pass(client, server);
      pass(server, client);
    }
  }
};

/// Nothing that lacks the key gets further, and what it may say before is bounded.
bool stays_closed(TlsStream& stream, Bytes bytes) {
  constexpr std::size_t piece = 700;
  for (Bytes rest = bytes; !rest.empty(); rest = rest.subspan(std::min(piece, rest.size()))) {
    stream.feed(rest.first(std::min(piece, rest.size())));
    stream.step();
    require(stream.state() != TlsStream::State::open);
    require(stream.output().size() < 8192);
  }
  const bool is_waiting = stream.state() == TlsStream::State::handshaking;
  require(!is_waiting || bytes.size() <= TlsStream::most_before_proof + piece);
  return is_waiting;
}
bool before_proof(Bytes bytes) {
  Streams streams;
  return stays_closed(streams.server, bytes);
}
bool before_proof_of_server(Bytes bytes) {
  Streams streams;
  streams.client.step();
  Streams::take(streams.client);
  return stays_closed(streams.client, bytes);
}
/// After the handshake: what the peer did not seal is nothing, or ends the connection.
bool records(Bytes bytes) {
  Streams streams;
  streams.shake_hands();
  require(streams.server.state() == TlsStream::State::open);
  Encoded plain(TlsStream::record_bytes);
  streams.server.feed(bytes);
  const auto read = streams.server.read(plain);
  require(!read || *read == 0);
  return read.has_value();
}
/// All that a stream reads out of this, which comes in pieces.
Result<Encoded> read_all(TlsStream& stream, Bytes wire, std::size_t piece) {
  Encoded out, plain(TlsStream::record_bytes);
  for (Bytes rest = wire; !rest.empty(); rest = rest.subspan(std::min(piece, rest.size()))) {
    stream.feed(rest.first(std::min(piece, rest.size())));
    for (;;) {
      const auto coming = stream.coming();
      if (!coming) return weft::fail(coming.error());
      if (*coming == 0) break;
      const auto bytes = stream.read(plain);
      if (!bytes) return weft::fail(bytes.error());
      out.insert(out.end(), plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(*bytes));
    }
  }
  return out;
}

/// Records of Weft's are OpenSSL's, and the other way round: what either writes the other reads, in all sizes
/// and pieces and under each next key; what was changed on its way neither does. The script: whose are
/// Weft's, then steps of four bytes, six at most.
bool records_beside_openssl(Bytes script) {
  if (script.empty()) return false;
  const bool is_client_wefts = script[0] == std::byte{0};
  Streams streams(is_client_wefts ? RecordsBy::weft : RecordsBy::openssl,
                  is_client_wefts ? RecordsBy::openssl : RecordsBy::weft);
  streams.shake_hands();
  std::uint8_t number = 0;
  int left = 6;
  for (Bytes rest = script.subspan(1); rest.size() >= 4 && left != 0; rest = rest.subspan(4), --left) {
    const auto byte = [&rest](std::size_t i) { return std::to_integer<std::size_t>(rest[i]); };
    auto &from = (byte(0) & 1) != 0 ? streams.server : streams.client,
         &to = (byte(0) & 1) != 0 ? streams.client : streams.server;
    Encoded text(1 + (byte(1) << 8 | byte(2)) % 18'000);
    for (auto& one : text) one = static_cast<std::byte>(number++);
    if ((byte(0) & 2) != 0) require(from.renew_key().has_value());
    require(from.write(text).has_value());
    Encoded wire = Streams::take(from);
    const auto piece = byte(3) == 0 ? wire.size() : 1 + 16 * byte(3);
    if ((byte(0) & 12) == 12) {
      wire[(byte(1) << 8 | byte(3)) % wire.size()] ^= static_cast<std::byte>(1 << (byte(2) & 7));
      const auto read = read_all(to, wire, piece);
      require(!read || *read != text);
      return true;
    }
    const auto read = read_all(to, wire, piece);
    require(read && *read == text);
  }
  return true;
}
Encoded a_hello() {
  Streams streams;
  streams.client.step();
  return Streams::take(streams.client);
}

bool frames(Bytes bytes) {
  while (!bytes.empty()) {
    const auto frame = first_frame(bytes);
    if (!frame || !*frame) return false;
    require((*frame)->header.kind != FrameKind::message || (*frame)->header.number <= (*frame)->body.size());
    require((*frame)->body.size() <= std::max(most_body_bytes, most_reply_bytes));
    if ((*frame)->body.size() < (*frame)->header.body_bytes) return false;  // the rest of a reply is to come
    bytes = bytes.subspan(frame_header_bytes + (*frame)->body.size());
  }
  return true;
}

Encoded frame(const FrameHeader& header, Bytes body) {
  base::Writer out;
  out.raw(base::encode_fixed(header));
  out.raw(body);
  return std::move(out).take();
}

/// A server with a region, and a get that is open with its peer; the peer has the key and sends what it
/// likes.
class Server {
 public:
  static Server& here() {
    static Server one;
    return one;
  }
  bool hears(Bytes script) {
    auto peer = connect();
    if (peer == nullptr) return true;  // no port is left for now
    const Encoded sent = with_tickets(script);
    for (Bytes rest = sent; !rest.empty(); rest = rest.subspan(std::min(piece, rest.size()))) {
      if (!peer->stream.write(rest.first(std::min(piece, rest.size())))) break;
      peer->flush();
      progress(2);
    }
    progress(6);
    require(endpoint_->strangers() == 0);
    return true;
  }

 private:
  static constexpr std::size_t piece = 5000;

  struct Attacker {
    Attacker(base::Fd fd, const EndpointId& to)
        : socket(std::move(fd)), stream(context(), Introduction{client_id, to}) {}
    ~Attacker() {
      const linger at_once{1, 0};  // no port stays in use
      ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      socket.reset();
      for (int i = 0; i < 4; ++i) here().endpoint_->progress();
    }
    void flush() {
      const auto output = stream.output();
      const auto bytes = ::send(socket.get(), output.data(), output.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (bytes > 0) stream.sent(static_cast<std::size_t>(bytes));
    }
    void receive() {
      std::byte bytes[4096];
      const auto count = ::recv(socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (count <= 0) return;
      stream.feed(Bytes(bytes).first(static_cast<std::size_t>(count)));
      stream.step();
    }
    base::Fd socket;
    TlsStream stream;
  };

  Server() {
    SocketAddress place;
    place.host = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    endpoint_ = std::move(*TcpEndpoint::open(tls_key(), {place}, {}));
    endpoint_->on_message(
        [](void*, std::uint16_t, const Message& message) noexcept {
          require(message.header.size() + message.payload.size() <= most_body_bytes);
        },
        nullptr);
    region_ = std::move(*endpoint_->expose(memory_));
    landing_region_ = std::move(*endpoint_->expose(landing_));
    address_ = *base::decode<PackedAddress>(endpoint_->address().bytes);
  }
  void progress(int times) {
    for (int i = 0; i < times; ++i) endpoint_->progress();
  }

  std::unique_ptr<Attacker> connect() {
    get_.reset();
    auto socket = connect_to(address_.places.at(0));
    if (!socket) return nullptr;
    pollfd waits{socket->get(), POLLOUT, 0};
    ::poll(&waits, 1, 1000);
    auto peer = std::make_unique<Attacker>(std::move(*socket), address_.id);
    peer->stream.step();
    for (int i = 0; i < 1000 && peer->stream.state() == TlsStream::State::handshaking; ++i) {
      peer->flush();
      endpoint_->progress();
      peer->receive();
    }
    if (peer->stream.state() != TlsStream::State::open) return nullptr;
    peer->flush();
    for (int i = 0; i < 1000 && endpoint_->strangers() != 0; ++i) endpoint_->progress();
    get_ = std::make_unique<Get>(*endpoint_, *landing_region_);
    ticket_ = get_->is_open ? std::uint64_t{gets_++} << 32 : 0;
    return peer;
  }
  /// Numbers of replies count from the ticket of the open get.
  Encoded with_tickets(Bytes script) const {
    Encoded out(script.begin(), script.end());
    for (std::size_t at = 0; out.size() - at >= frame_header_bytes;) {
      FrameHeader header;
      base::Reader in(Bytes(out).subspan(at));
      in(header);
      if (header.kind == FrameKind::reply) {
        header.number += ticket_;
        base::write_fixed(out.data() + at, header);
      }
      at +=
          frame_header_bytes + std::min<std::size_t>(header.body_bytes, out.size() - at - frame_header_bytes);
    }
    return out;
  }

  /// 100 bytes of the peer's first region.
  struct Get : Completion {
    Get(TcpEndpoint& endpoint, MemoryRegion& into) {
      done = [](Completion& self, Result<void>) noexcept { static_cast<Get&>(self).is_open = false; };
      peer = std::move(*endpoint.reach(Address{base::encode(PackedAddress{client_id, {}})}));
      remote =
          std::move(*endpoint.import_key(*peer, base::encode(PackedKey{.endpoint = client_id, .region = 1})));
      is_open = endpoint.get({*remote, 0}, {into, 10, 100}, *this).has_value();
    }
    std::unique_ptr<Peer> peer;
    std::unique_ptr<RemoteKey> remote;
    bool is_open = false;
  };

  std::unique_ptr<TcpEndpoint> endpoint_;
  PackedAddress address_;
  Encoded memory_ = Encoded(100'000, std::byte{5}), landing_ = Encoded(200);
  std::unique_ptr<MemoryRegion> region_, landing_region_;
  std::unique_ptr<Get> get_;
  std::uint32_t gets_ = 0;
  std::uint64_t ticket_ = 0;
};
bool server_hears(Bytes script) {
  return Server::here().hears(script);
}

Encoded joined(std::initializer_list<Encoded> parts) {
  Encoded out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace

void add_tcp(Decoders& to) {
  const PackedAddress address{server_id, {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3}, 4711}}};
  add<PackedAddress>(to, "tcp_address", {&address});
  const PackedKey packed{.endpoint = server_id, .region = 3};
  add<PackedKey>(to, "tcp_key", {&packed});
  to.push_back({"tls_before_proof", {a_hello(), {}}, &before_proof, true});
  to.push_back({"tls_before_proof_of_server", {{}, encoded("\x16\x03\x03")}, &before_proof_of_server, true});
  to.push_back({"tls_records", {{}, encoded("\x17\x03\x03")}, &records, true});
  to.push_back({"tls_records_beside_openssl",
                {encoded(std::string_view("\0\0\0\120\0\1\177\0\7\2\1\0\0\3\2\0\1\14\0\5\0", 21)),
                 encoded(std::string_view("\1\0\100\0\100\1\0\120\3\2\7\377\377\15\1\1\2", 17))},
                &records_beside_openssl,
                true});

  const Encoded body(50, std::byte{6});
  const auto message = frame({.body_bytes = 50, .id = 1, .number = 20}, body);
  const auto request = [](std::uint64_t region, std::uint64_t offset, std::uint32_t length) {
    const auto fixed = base::encode_fixed(GetRequest{.region = region, .offset = offset, .length = length});
    return frame(
        {.body_bytes = static_cast<std::uint32_t>(fixed.size()), .kind = FrameKind::get, .number = 9}, fixed);
  };
  const auto reply = frame({.body_bytes = 50, .kind = FrameKind::reply}, body);
  const auto failed = frame({.kind = FrameKind::reply, .failed = 1}, {});
  const std::vector<Encoded> samples{joined({message, reply, reply, message}),
                                     joined({request(1, 5, 50'000), request(1, 99'999, 2), request(7, 0, 1)}),
                                     joined({failed, reply}), joined({reply, reply, reply}),
                                     joined({message, frame({.kind = FrameKind::welcome}, {})})};
  to.push_back({"tcp_frames", samples, &frames, true});
  to.push_back({"tcp_peer", samples, &server_hears, true});
}

}  // namespace weft::fuzz
