// SPDX-License-Identifier: BSD-3-Clause
// Two streams whose bytes the test carries, changes or repeats.
#include "transport/tcp/tls/tls.hpp"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace weft::tcp {
namespace {

using State = TlsStream::State;

std::vector<std::byte> key_of(unsigned seed) {
  return std::vector<std::byte>(32, static_cast<std::byte>(seed));
}
EndpointId id_of(unsigned seed) {
  EndpointId out{};
  out.fill(static_cast<std::byte>(seed));
  return out;
}
const EndpointId client_id = id_of(1), server_id = id_of(2);

class TlsTest : public ::testing::Test {
 protected:
  /// Where another choice counts than Weft's records on both sides.
  void use(RecordsBy of_client, RecordsBy of_server) {
    client.reset();  // before its context, as everywhere
    server.reset();
    client_context = std::move(*TlsContext::make(key_of(7), of_client));
    server_context = std::move(*TlsContext::make(key_of(7), of_server));
    client = std::make_unique<TlsStream>(*client_context, Introduction{client_id, server_id});
    server =
        std::make_unique<TlsStream>(*server_context, server_id, [](const Introduction&) { return true; });
  }
  std::unique_ptr<TlsContext> client_context = std::move(*TlsContext::make(key_of(7))),
                              server_context = std::move(*TlsContext::make(key_of(7)));
  std::unique_ptr<TlsStream> client =
      std::make_unique<TlsStream>(*client_context, Introduction{client_id, server_id});
  std::unique_ptr<TlsStream> server =
      std::make_unique<TlsStream>(*server_context, server_id, [](const Introduction&) { return true; });

  static std::vector<std::byte> take(TlsStream& from) {
    const auto output = from.output();
    std::vector<std::byte> out(output.begin(), output.end());
    from.sent(out.size());
    return out;
  }
  /// Passes what `from` has to say to `to`, in pieces of `most` bytes.
  static State pass(TlsStream& from, TlsStream& to, std::size_t most = SIZE_MAX) {
    const auto bytes = take(from);
    for (Bytes rest = bytes; !rest.empty();) {
      const auto piece = rest.first(std::min(most, rest.size()));
      to.feed(piece);
      to.step();
      rest = rest.subspan(piece.size());
    }
    return to.step();
  }
  void shake_hands(std::size_t most = SIZE_MAX) {
    client->step();
    for (int i = 0; i < 4; ++i) {
      pass(*client, *server, most);
      pass(*server, *client, most);
    }
  }
  static Result<std::string> read(TlsStream& stream, Bytes wire) {
    std::string out;
    std::vector<std::byte> plain(100'000);
    stream.feed(wire);
    for (;;) {
      const auto coming = stream.coming();
      if (!coming) return fail(coming.error());
      if (*coming == 0) return out;
      const auto bytes = stream.read(plain);
      if (!bytes) return fail(bytes.error());
      out += as_text(Bytes(plain).first(*bytes));
    }
  }
};

TEST_F(TlsTest, what_is_written_is_read_also_byte_by_byte) {
  for (const std::size_t most : {SIZE_MAX, std::size_t{1}}) {
    client = std::make_unique<TlsStream>(*client_context, Introduction{client_id, server_id});
    server =
        std::make_unique<TlsStream>(*server_context, server_id, [](const Introduction&) { return true; });
    shake_hands(most);
    ASSERT_EQ(client->state(), State::open);
    ASSERT_EQ(server->state(), State::open);
    EXPECT_EQ(server->introduction().from, client_id);
    const std::string text(50'000, 'w');
    ASSERT_TRUE(client->write(as_bytes(text)));
    const auto wire = take(*client);
    EXPECT_EQ(as_text(wire).find("wwww"), std::string_view::npos);
    EXPECT_EQ(read(*server, wire), text);
    ASSERT_TRUE(server->write(as_bytes("back")));
    EXPECT_EQ(read(*client, take(*server)), "back");
  }
}

TEST_F(TlsTest, records_come_in_pieces) {
  shake_hands();
  std::string text;
  for (const std::size_t bytes : {5, 3000, 40'000, 1}) {
    text += std::string(bytes, static_cast<char>('a' + bytes % 26));
    ASSERT_TRUE(client->write(as_bytes(std::string_view(text).substr(text.size() - bytes))));
  }
  const auto wire = take(*client);
  for (const std::size_t most : {1, 7, 4096, 17'000, 20'000}) {
    SCOPED_TRACE(most);
    ASSERT_TRUE(server->write(as_bytes(text)));
    const auto back = take(*server);
    std::string got;
    for (Bytes rest = back; !rest.empty(); rest = rest.subspan(std::min(most, rest.size()))) {
      const auto more = read(*client, rest.first(std::min(most, rest.size())));
      ASSERT_TRUE(more);
      got += *more;
    }
    EXPECT_EQ(got, text);
  }
  EXPECT_EQ(read(*server, wire), text);
}

TEST_F(TlsTest, another_key_is_refused_on_both_sides) {
  const auto other = std::move(*TlsContext::make(key_of(8)));
  client = std::make_unique<TlsStream>(*other, Introduction{client_id, server_id});
  shake_hands();
  EXPECT_EQ(server->state(), State::refused);
  EXPECT_EQ(client->state(), State::refused);
}

TEST_F(TlsTest, another_endpoint_at_this_port_is_refused) {
  client = std::make_unique<TlsStream>(*client_context, Introduction{client_id, id_of(3)});
  shake_hands();
  EXPECT_EQ(server->state(), State::refused);
  EXPECT_EQ(client->state(), State::refused);
}

TEST_F(TlsTest, the_introduction_cannot_be_changed_on_its_way) {
  client->step();
  auto hello = take(*client);
  const auto text = as_text(hello);
  const auto at = text.find(Introduction::label);
  ASSERT_NE(at, std::string_view::npos);
  hello[at + Introduction::label.size() + sizeof(EndpointId)] ^= std::byte{1};  // of `from`
  server->feed(hello);
  EXPECT_EQ(server->step(), State::refused);
}

TEST_F(TlsTest, one_that_is_not_wanted_learns_nothing) {
  server = std::make_unique<TlsStream>(*server_context, server_id, [](const Introduction& peer) {
    EXPECT_EQ(peer.from, client_id);
    return false;
  });
  client->step();
  EXPECT_EQ(pass(*client, *server), State::unwanted);
}

TEST_F(TlsTest, a_changed_record_is_refused) {
  shake_hands();
  ASSERT_TRUE(client->write(as_bytes("a message")));
  auto wire = take(*client);
  wire[wire.size() - 3] ^= std::byte{1};
  const auto got = read(*server, wire);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Errc::corrupt);
}

TEST_F(TlsTest, a_record_does_not_come_twice) {
  shake_hands();
  ASSERT_TRUE(client->write(as_bytes("a message")));
  const auto wire = take(*client);
  EXPECT_EQ(read(*server, wire), "a message");
  EXPECT_FALSE(read(*server, wire));
}

TEST_F(TlsTest, a_recorded_handshake_proves_nothing) {
  client->step();
  const auto hello = take(*client);
  server->feed(hello);
  server->step();
  server = std::make_unique<TlsStream>(*server_context, server_id, [](const Introduction&) { return true; });
  server->feed(hello);  // its proof is right, as it was recorded
  EXPECT_EQ(server->step(), State::handshaking) << "the rest needs the key";
}

TEST_F(TlsTest, what_comes_before_the_proof_is_bounded) {
  // A handshake record that announces more than fits, as slowly as it likes.
  std::vector<std::byte> piece(1000, std::byte{0});
  std::size_t fed = 0;
  const unsigned char head[] = {0x16, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb};
  server->feed(std::as_bytes(std::span(head)));
  server->step();
  while (server->state() == State::handshaking && fed < 1'000'000) {
    server->feed(piece);
    server->step();
    fed += piece.size();
  }
  EXPECT_NE(server->state(), State::handshaking);
  EXPECT_LE(fed, TlsStream::most_before_proof + 2 * piece.size());
}

/// A server of OpenSSL's own with a certificate, and no key.
TEST_F(TlsTest, a_certificate_is_no_proof) {
  EVP_PKEY* const pair = ::EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
  X509* const certificate = ::X509_new();
  ASSERT_TRUE(pair != nullptr && certificate != nullptr);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate), 1);
  ::X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  ::X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  ::X509_set_pubkey(certificate, pair);
  ::X509_sign(certificate, pair, ::EVP_sha256());
  SSL_CTX* const context = ::SSL_CTX_new(::TLS_server_method());
  ASSERT_EQ(::SSL_CTX_use_certificate(context, certificate), 1);
  ASSERT_EQ(::SSL_CTX_use_PrivateKey(context, pair), 1);
  SSL* const stranger = ::SSL_new(context);
  BIO *const in = ::BIO_new(::BIO_s_mem()), *const out = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(stranger, in, out);
  ::SSL_set_accept_state(stranger);
  client->step();
  for (int i = 0; i < 4; ++i) {
    const auto said = take(*client);
    ::BIO_write(in, said.data(), static_cast<int>(said.size()));
    ::SSL_do_handshake(stranger);
    std::vector<std::byte> reply(1 << 16);
    const int bytes = ::BIO_read(out, reply.data(), static_cast<int>(reply.size()));
    if (bytes <= 0) break;
    client->feed(Bytes(reply).first(static_cast<std::size_t>(bytes)));
    client->step();
  }
  EXPECT_EQ(client->state(), State::refused);
  ::SSL_free(stranger);
  ::SSL_CTX_free(context);
  ::X509_free(certificate);
  ::EVP_PKEY_free(pair);
}

/// In all four pairs of Weft's records and OpenSSL's.
class TlsRecords : public TlsTest, public ::testing::WithParamInterface<std::pair<RecordsBy, RecordsBy>> {
 protected:
  void SetUp() override { use(GetParam().first, GetParam().second); }
};
INSTANTIATE_TEST_SUITE_P(By, TlsRecords,
                         ::testing::Values(std::pair{RecordsBy::weft, RecordsBy::weft},
                                           std::pair{RecordsBy::weft, RecordsBy::openssl},
                                           std::pair{RecordsBy::openssl, RecordsBy::weft},
                                           std::pair{RecordsBy::openssl, RecordsBy::openssl}));

TEST_P(TlsRecords, go_both_ways_in_pieces_of_every_length) {
  EXPECT_EQ(client_context->records_by(), GetParam().first) << "what the two seal is not the same";
  shake_hands();
  for (const std::size_t most : {SIZE_MAX, std::size_t{1}, std::size_t{4000}})
    for (const std::size_t length : {1, 80, 512, 513, 16384, 16385, 50'000})
      for (const bool back : {false, true}) {
        auto &from = back ? *server : *client, &to = back ? *client : *server;
        const std::string text(length, 't');
        ASSERT_TRUE(from.write(as_bytes(text)));
        const auto wire = take(from);
        std::string got;
        for (Bytes rest = wire; !rest.empty(); rest = rest.subspan(std::min(most, rest.size()))) {
          const auto more = read(to, rest.first(std::min(most, rest.size())));
          ASSERT_TRUE(more) << length;
          got += *more;
        }
        ASSERT_EQ(got, text) << length << " in pieces of " << most;
      }
}

TEST_P(TlsRecords, that_come_with_the_last_of_the_handshake_are_read) {
  client->step();
  pass(*client, *server);
  pass(*server, *client);
  ASSERT_EQ(client->state(), State::open);
  ASSERT_TRUE(client->write(as_bytes("at once")));
  const auto wire = take(*client);  // the proof, and a record
  server->feed(wire);
  ASSERT_EQ(server->step(), State::open);
  std::vector<std::byte> plain(100);
  ASSERT_EQ(server->coming().value_or(0), 7u);
  ASSERT_EQ(server->read(plain).value_or(0), 7u);
  EXPECT_EQ(as_text(Bytes(plain).first(7)), "at once");
}

TEST_P(TlsRecords, changed_or_repeated_are_refused) {
  for (const bool is_changed : {true, false}) {
    SetUp();
    shake_hands();
    ASSERT_TRUE(client->write(as_bytes("a message")));
    auto wire = take(*client);
    if (is_changed)
      wire[wire.size() - 3] ^= std::byte{1};
    else
      EXPECT_EQ(read(*server, wire), "a message");
    const auto got = read(*server, wire);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Errc::corrupt);
    EXPECT_EQ(server->state(), State::broken);
  }
}

/// A key is used for so many bytes or so many records, whichever comes first.
TEST_P(TlsRecords, a_key_is_used_for_so_much) {
  constexpr std::size_t of_record = 5 + 1 + 16, of_update = 5 + 5 + 1 + 16;
  const std::string text(100, 'x');
  for (const KeyUse most : {KeyUse{.bytes = 1000, .records = 3}, {.bytes = 350, .records = 1000}}) {
    SetUp();
    shake_hands();
    client_context->most_of_a_key = most;
    std::size_t sent = 0;
    for (int i = 0; i < 9; ++i) {
      ASSERT_TRUE(client->write(as_bytes(text)));
      const auto wire = take(*client);
      sent += wire.size();
      ASSERT_EQ(read(*server, wire), text) << i;
    }
    EXPECT_EQ(sent, 9 * (text.size() + of_record) + 2 * of_update);
  }
}

TEST(TlsContext, needs_a_key) {
  EXPECT_EQ(TlsContext::make({}).error().code, Errc::invalid);
  EXPECT_EQ(TlsContext::make(Bytes(key_of(1)).first(15)).error().code, Errc::invalid);
}

}  // namespace
}  // namespace weft::tcp
