// SPDX-License-Identifier: BSD-3-Clause
// Records by themselves, and beside OpenSSL's own at the other end of a connection.
#include "transport/tcp/tls/records.hpp"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <sodium.h>

#include <string>
#include <tuple>
#include <vector>

#include "transport/tcp/tls/tls.hpp"

namespace weft::tcp {
namespace {

struct FreeCipher {
  void operator()(EVP_CIPHER* cipher) const noexcept { ::EVP_CIPHER_free(cipher); }
};
struct FreeLibrary {
  void operator()(OSSL_LIB_CTX* library) const noexcept { ::OSSL_LIB_CTX_free(library); }
};

class Records : public ::testing::Test {
 protected:
  std::unique_ptr<RecordKey> key(unsigned seed = 1) {
    const std::vector<std::byte> secret(RecordKey::most_secret_bytes, static_cast<std::byte>(seed));
    return RecordKey::make(*library_, *cipher_, secret);
  }
  static std::vector<std::byte> seal(RecordKey& key, std::string_view text, Content content = Content::data) {
    std::vector<std::byte> out(text.size() + RecordKey::around_bytes);
    EXPECT_TRUE(key.seal(content, as_bytes(text), out.data()));
    return out;
  }
  static Result<std::string> open(RecordKey& key, Bytes record) {
    std::vector<std::byte> text(record.size() - RecordKey::around_bytes);
    const auto content = key.open(record, text);
    if (!content) return fail(content.error());
    EXPECT_EQ(*content, Content::data);
    return std::string(as_text(text));
  }

  std::unique_ptr<OSSL_LIB_CTX, FreeLibrary> library_{::OSSL_LIB_CTX_new()};
  std::unique_ptr<EVP_CIPHER, FreeCipher> cipher_{::EVP_CIPHER_fetch(library_.get(), "AES-256-GCM", nullptr)};
};

/// Around the length at which the library changes, and at both ends.
const std::size_t lengths[] = {1, 2, 80, AesGcm::short_bytes, AesGcm::short_bytes + 1, RecordKey::most_bytes};

TEST_F(Records, of_all_lengths_open_in_their_order) {
  const auto sealer = key(), opener = key();
  for (const auto length : lengths) {
    const std::string text(length, 'x');
    const auto record = seal(*sealer, text);
    EXPECT_EQ(RecordKey::length(Bytes(record).first<RecordKey::header_bytes>()), record.size());
    EXPECT_EQ(as_text(record).find("xx"), std::string_view::npos);
    EXPECT_EQ(open(*opener, record), text);
  }
}

TEST_F(Records, a_changed_bit_anywhere_is_seen) {
  for (const auto length : lengths) {
    const std::string text(length, 'x');
    for (const std::size_t place :
         {std::size_t{0}, std::size_t{4}, std::size_t{5}, 5 + length, 5 + length + 1, 5 + length + 16}) {
      const auto sealer = key(), opener = key();
      auto record = seal(*sealer, text);
      record[place] ^= std::byte{1};
      const auto opened = open(*opener, record);
      ASSERT_FALSE(opened) << length << ", " << place;
      EXPECT_EQ(opened.error().code, Errc::corrupt);
    }
  }
}

TEST_F(Records, repeated_left_out_or_exchanged_do_not_open) {
  const auto sealer = key();
  const auto first = seal(*sealer, "first"), second = seal(*sealer, "second");
  EXPECT_FALSE(open(*key(), second)) << "the first was left out";
  const auto opener = key();
  EXPECT_EQ(open(*opener, first), "first");
  EXPECT_FALSE(open(*opener, first)) << "repeated";
}

TEST_F(Records, of_the_same_text_differ) {
  const auto sealer = key();
  const auto first = seal(*sealer, "text"), second = seal(*sealer, "text");
  EXPECT_NE(first, second);
  ASSERT_TRUE(sealer->renew());
  EXPECT_NE(seal(*sealer, "text"), first) << "the number began anew, under another key";
}

TEST_F(Records, of_another_secret_or_an_earlier_key_do_not_open) {
  const auto sealer = key();
  const auto record = seal(*sealer, "text");
  EXPECT_FALSE(open(*key(2), record));
  const auto opener = key();
  ASSERT_TRUE(opener->renew());
  EXPECT_FALSE(open(*opener, record));
  ASSERT_TRUE(sealer->renew());
  const auto renewed = key();
  ASSERT_TRUE(renewed->renew());
  EXPECT_EQ(open(*renewed, seal(*sealer, "text")), "text");
}

TEST_F(Records, no_other_header_announces_one) {
  const auto length = [](unsigned type, unsigned major, unsigned minor, unsigned sealed) {
    const std::array header{static_cast<std::byte>(type), static_cast<std::byte>(major),
                            static_cast<std::byte>(minor), static_cast<std::byte>(sealed >> 8),
                            static_cast<std::byte>(sealed)};
    return RecordKey::length(std::span<const std::byte, RecordKey::header_bytes>(header));
  };
  constexpr unsigned most = RecordKey::most_bytes + 1 + AesGcm::tag_bytes;
  EXPECT_EQ(length(23, 3, 3, 18), 23u);
  EXPECT_EQ(length(23, 3, 3, most), most + 5);
  EXPECT_FALSE(length(23, 3, 3, 17)) << "nothing in it";
  EXPECT_FALSE(length(23, 3, 3, most + 1));
  EXPECT_FALSE(length(23, 3, 3, 0xffff));
  EXPECT_FALSE(length(22, 3, 3, 100));
  EXPECT_FALSE(length(21, 3, 3, 100));
  EXPECT_FALSE(length(23, 3, 1, 100));
}

std::vector<std::byte> bytes_of(std::string_view digits) {
  std::vector<std::byte> out(digits.size() / 2);
  std::size_t count = 0;
  EXPECT_EQ(::sodium_hex2bin(reinterpret_cast<unsigned char*>(out.data()), out.size(), digits.data(),
                             digits.size(), " \n", &count, nullptr),
            0);
  out.resize(count);
  return out;
}

/// RFC 8448, section 3, "Simple 1-RTT Handshake": the secrets of application data, and what each side sends
/// under them. With TLS_AES_128_GCM_SHA256: the RFC has no other.
TEST_F(Records, are_those_of_rfc_8448) {
  const std::unique_ptr<EVP_CIPHER, FreeCipher> cipher(
      ::EVP_CIPHER_fetch(library_.get(), "AES-128-GCM", nullptr));
  const auto client_secret = bytes_of("9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5");
  const auto server_secret = bytes_of("a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643");
  std::vector<std::byte> text(50);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::byte>(i);
  const auto goodbye = bytes_of("0100");
  struct Sent {
    Content content;
    Bytes text;
    std::vector<std::byte> record;
  };
  const std::vector<Sent> of_client{
      {Content::data, text,
       bytes_of("1703030043 a23f7054b62c94d0affafe8228ba55cbefacea42f914aa66bcab3f2b9819a8a5"
                "b46b395bd54a9a20441e2b62974e1f5a6292a2977014bd1e3deae63aeebb21694915e4")},
      {Content::alert, goodbye, bytes_of("1703030013 c9872760655666b74d7ff1153efd6db6d0b0e3")}};
  const std::vector<Sent> of_server{
      {Content::data, text,
       bytes_of("1703030043 2e937e11ef4ac740e538ad36005fc4a46932fc3225d05f82aa1b36e30efaf97d"
                "90e6dffc602dcb501a59a8fcc49c4bf2e5f0a21c0047c2abf332540dd032e167c2955d")},
      {Content::alert, goodbye, bytes_of("1703030013 b58fd67166ebf599d24720cfbe7efa7a8864a9")}};
  for (const auto& [secret, all, before] :
       {std::tuple(client_secret, of_client, 0), {server_secret, of_server, 1}}) {
    const auto sealer = RecordKey::make(*library_, *cipher, secret),
               opener = RecordKey::make(*library_, *cipher, secret);
    ASSERT_TRUE(sealer && opener);
    for (int i = 0; i < before; ++i) {  // the server's first is a ticket
      const auto ticket = seal(*sealer, "ticket", Content::handshake);
      std::vector<std::byte> into(6);
      ASSERT_TRUE(opener->open(ticket, into));
    }
    for (const auto& sent : all) {
      EXPECT_EQ(seal(*sealer, as_text(sent.text), sent.content), sent.record);
      std::vector<std::byte> into(sent.record.size() - RecordKey::around_bytes);
      EXPECT_EQ(opener->open(sent.record, into), sent.content);
      EXPECT_EQ(as_text(into), as_text(sent.text));
    }
  }
}

/// The sender may fill a record with zeros (RFC 8446, 5.4). No endpoint does, and none takes one.
TEST_F(Records, that_are_filled_up_are_no_text) {
  const auto sealer = key(), opener = key();
  const auto record = seal(*sealer, std::string("text\x17", 5), static_cast<Content>(0));
  std::vector<std::byte> into(5);
  const auto content = opener->open(record, into);
  ASSERT_TRUE(content);
  EXPECT_NE(*content, Content::data);
}

enum class Role { connects, accepts };

/// OpenSSL alone, with the same key, where the other endpoint would be.
class BesideOpenSsl : public ::testing::TestWithParam<Role> {
 protected:
  static constexpr unsigned char number[] = {0x13, 0x02};

  void SetUp() override {
    const std::vector<std::byte> key(32, std::byte{7});
    context_ = std::move(*TlsContext::make(key));
    const bool accepts = GetParam() == Role::accepts;
    EndpointId from{}, to{};
    to.fill(std::byte{2});
    if (accepts)
      stream_ = std::make_unique<TlsStream>(*context_, to, [](const Introduction&) { return true; });
    else
      stream_ = std::make_unique<TlsStream>(*context_, Introduction{from, to});

    theirs_ = ::SSL_CTX_new(accepts ? ::TLS_client_method() : ::TLS_server_method());
    ::SSL_CTX_set_ciphersuites(theirs_, "TLS_AES_256_GCM_SHA384");
    ::SSL_CTX_set_num_tickets(theirs_, 0);
    ::SSL_CTX_set_psk_find_session_callback(
        theirs_, [](SSL* ssl, const unsigned char*, std::size_t, SSL_SESSION** session) {
          *session = session_of(ssl);
          return 1;
        });
    ::SSL_CTX_set_psk_use_session_callback(theirs_, [](SSL* ssl, const EVP_MD*, const unsigned char** id,
                                                       std::size_t* length, SSL_SESSION** session) {
      static const std::string identity = std::string(Introduction::label) +
                                          std::string(sizeof(EndpointId), '\2') +
                                          std::string(sizeof(EndpointId), '\0');
      *id = reinterpret_cast<const unsigned char*>(identity.data());
      *length = identity.size();
      *session = session_of(ssl);
      return 1;
    });
    peer_ = ::SSL_new(theirs_);
    in_ = ::BIO_new(::BIO_s_mem());
    out_ = ::BIO_new(::BIO_s_mem());
    ::SSL_set_bio(peer_, in_, out_);
    if (accepts)
      ::SSL_set_connect_state(peer_);
    else
      ::SSL_set_accept_state(peer_);
    stream_->step();
    for (int i = 0;
         i < 4 && (stream_->state() != TlsStream::State::open || ::SSL_is_init_finished(peer_) == 0); ++i) {
      to_peer();
      ::SSL_do_handshake(peer_);
      from_peer();
      stream_->step();
    }
    ASSERT_EQ(stream_->state(), TlsStream::State::open);
    ASSERT_EQ(::SSL_is_init_finished(peer_), 1);
  }
  void TearDown() override {
    ::SSL_free(peer_);
    ::SSL_CTX_free(theirs_);
  }

  /// With the key that endpoints derive.
  static SSL_SESSION* session_of(SSL* ssl) {
    unsigned char derived[32];
    const auto label = Introduction::label;
    const std::vector<unsigned char> job(32, 7);
    EXPECT_NE(::EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, job.data(), job.size(),
                          reinterpret_cast<const unsigned char*>(label.data()), label.size(), derived,
                          sizeof derived, nullptr),
              nullptr);
    SSL_SESSION* const session = ::SSL_SESSION_new();
    EXPECT_TRUE(::SSL_SESSION_set1_master_key(session, derived, sizeof derived) == 1 &&
                ::SSL_SESSION_set_cipher(session, ::SSL_CIPHER_find(ssl, number)) == 1 &&
                ::SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1);
    return session;
  }
  void to_peer() {
    const auto output = stream_->output();
    if (!output.empty()) ::BIO_write(in_, output.data(), static_cast<int>(output.size()));
    stream_->sent(output.size());
  }
  void from_peer() {
    said_.resize(1 << 20);
    const int bytes = ::BIO_read(out_, said_.data(), static_cast<int>(said_.size()));
    said_.resize(static_cast<std::size_t>(std::max(bytes, 0)));
    stream_->feed(said_);
  }
  /// Returns what the stream wrote, as OpenSSL reads it.
  std::string read_there(std::size_t bytes) {
    to_peer();
    std::string out(bytes, '?');
    std::size_t got = 0, more = 0;
    while (got < bytes && ::SSL_read_ex(peer_, out.data() + got, bytes - got, &more) == 1) got += more;
    out.resize(got);
    return out;
  }
  /// Returns what OpenSSL writes, as the stream reads it.
  std::string write_there(const std::string& text) {
    std::size_t written = 0;
    EXPECT_EQ(::SSL_write_ex(peer_, text.data(), text.size(), &written), 1);
    from_peer();
    return read_here();
  }
  std::string read_here() {
    std::string out;
    std::vector<std::byte> plain(TlsStream::record_bytes);
    for (;;) {
      const auto coming = stream_->coming();
      if (!coming || *coming == 0) return coming ? out : "an error";
      const auto bytes = stream_->read(plain);
      if (!bytes) return "an error";
      out += as_text(Bytes(plain).first(*bytes));
    }
  }

  std::unique_ptr<TlsContext> context_;
  std::unique_ptr<TlsStream> stream_;
  std::vector<std::byte> said_;
  SSL_CTX* theirs_ = nullptr;
  SSL* peer_ = nullptr;
  BIO *in_ = nullptr, *out_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(That, BesideOpenSsl, ::testing::Values(Role::connects, Role::accepts),
                         [](const auto& role) {
                           return role.param == Role::connects ? "connects" : "accepts";
                         });

TEST_P(BesideOpenSsl, each_reads_what_the_other_writes) {
  for (const std::size_t length : {1, 80, 512, 513, 2048, 16384, 16385, 100'000}) {
    const std::string text(length, 't');
    ASSERT_TRUE(stream_->write(as_bytes(text)));
    EXPECT_EQ(read_there(length), text);
    EXPECT_EQ(write_there(text), text);
  }
}

TEST_P(BesideOpenSsl, each_follows_the_others_new_key) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stream_->renew_key());
    ASSERT_TRUE(stream_->write(as_bytes("under a new key")));
    EXPECT_EQ(read_there(15), "under a new key");
    ASSERT_EQ(::SSL_key_update(peer_, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    EXPECT_EQ(write_there("and this as well"), "and this as well");
  }
}

TEST_P(BesideOpenSsl, its_goodbye_is_the_end) {
  ::SSL_shutdown(peer_);
  from_peer();
  ASSERT_GT(stream_->coming().value_or(0), 0u);
  std::vector<std::byte> plain(TlsStream::record_bytes);
  const auto read = stream_->read(plain);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::peer_lost);
}

TEST_P(BesideOpenSsl, what_no_endpoint_of_ours_says_is_refused) {
  ASSERT_EQ(::SSL_key_update(peer_, SSL_KEY_UPDATE_REQUESTED), 1);  // ours never asks for one
  EXPECT_EQ(write_there("text"), "an error");
  EXPECT_EQ(stream_->state(), TlsStream::State::broken);
}

}  // namespace
}  // namespace weft::tcp
