// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/tls/aes_gcm.hpp"

#include <openssl/evp.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace weft::tcp {
namespace {

unsigned char* raw(std::byte* at) noexcept {
  return reinterpret_cast<unsigned char*>(at);
}
const unsigned char* raw(const std::byte* at) noexcept {
  return reinterpret_cast<const unsigned char*>(at);
}
int count(Bytes bytes) noexcept {
  return static_cast<int>(bytes.size());
}

}  // namespace

struct AesGcm::Short {
  ~Short() { ::sodium_memzero(&state, sizeof state); }
  crypto_aead_aes256gcm_state state;
};

void AesGcm::Free::operator()(EVP_CIPHER_CTX* context) const noexcept {
  ::EVP_CIPHER_CTX_free(context);
}

AesGcm::AesGcm(const EVP_CIPHER& cipher, Bytes key) : cipher_(cipher) {
  if (::sodium_init() < 0) std::abort();  // no source of random numbers: there is nothing to be secret with
  std::copy(key.begin(), key.end(), key_);
  if (key.size() != most_key_bytes || ::crypto_aead_aes256gcm_is_available() == 0) return;
  short_ = std::make_unique<Short>();
  ::crypto_aead_aes256gcm_beforenm(&short_->state, raw(key_));
}

AesGcm::~AesGcm() {
  ::sodium_memzero(key_, sizeof key_);
}

EVP_CIPHER_CTX* AesGcm::context(bool for_sealing) noexcept {
  if (context_) return context_.get();
  std::unique_ptr<EVP_CIPHER_CTX, Free> made(::EVP_CIPHER_CTX_new());
  if (!made ||
      ::EVP_CipherInit_ex2(made.get(), &cipher_, raw(key_), nullptr, for_sealing ? 1 : 0, nullptr) != 1)
    return nullptr;
  context_ = std::move(made);
  return context_.get();
}

bool AesGcm::seal(Nonce nonce, Bytes covered, Bytes plain, std::byte last, std::byte* out) noexcept {
  if (short_ && plain.size() <= short_bytes) {
    std::array<std::byte, short_bytes + 1> text;
    *std::copy(plain.begin(), plain.end(), text.begin()) = last;
    return ::crypto_aead_aes256gcm_encrypt_afternm(raw(out), nullptr, raw(text.data()), plain.size() + 1,
                                                   raw(covered.data()), covered.size(), nullptr,
                                                   raw(nonce.data()), &short_->state) == 0;
  }
  EVP_CIPHER_CTX* const at = context(true);
  int bytes = 0;
  std::byte* const end = out + plain.size() + 1;
  return at != nullptr && ::EVP_CipherInit_ex2(at, nullptr, nullptr, raw(nonce.data()), 1, nullptr) == 1 &&
         ::EVP_CipherUpdate(at, nullptr, &bytes, raw(covered.data()), count(covered)) == 1 &&
         ::EVP_CipherUpdate(at, raw(out), &bytes, raw(plain.data()), count(plain)) == 1 &&
         ::EVP_CipherUpdate(at, raw(end - 1), &bytes, raw(&last), 1) == 1 &&
         ::EVP_CipherFinal_ex(at, raw(end), &bytes) == 1 &&
         ::EVP_CIPHER_CTX_ctrl(at, EVP_CTRL_AEAD_GET_TAG, tag_bytes, end) == 1;
}

bool AesGcm::open(Nonce nonce, Bytes covered, Bytes sealed, MutableBytes plain, std::byte& last) noexcept {
  const Bytes text = sealed.first(plain.size()), tag = sealed.last(tag_bytes);
  if (short_ && plain.size() <= short_bytes) {
    std::array<std::byte, short_bytes + 1> opened;
    if (::crypto_aead_aes256gcm_decrypt_afternm(raw(opened.data()), nullptr, nullptr, raw(sealed.data()),
                                                sealed.size(), raw(covered.data()), covered.size(),
                                                raw(nonce.data()), &short_->state) != 0)
      return false;
    std::copy_n(opened.begin(), plain.size(), plain.begin());
    last = opened[plain.size()];
    return true;
  }
  EVP_CIPHER_CTX* const at = context(false);
  int bytes = 0;
  std::array<unsigned char, tag_bytes> expected;  // OpenSSL asks for one that it could write to
  std::copy(tag.begin(), tag.end(), reinterpret_cast<std::byte*>(expected.data()));
  return at != nullptr && ::EVP_CipherInit_ex2(at, nullptr, nullptr, raw(nonce.data()), 0, nullptr) == 1 &&
         ::EVP_CipherUpdate(at, nullptr, &bytes, raw(covered.data()), count(covered)) == 1 &&
         ::EVP_CipherUpdate(at, raw(plain.data()), &bytes, raw(text.data()), count(text)) == 1 &&
         ::EVP_CipherUpdate(at, raw(&last), &bytes, raw(sealed.data() + plain.size()), 1) == 1 &&
         ::EVP_CIPHER_CTX_ctrl(at, EVP_CTRL_AEAD_SET_TAG, tag_bytes, expected.data()) == 1 &&
         ::EVP_CipherFinal_ex(at, raw(&last), &bytes) == 1;
}

}  // namespace weft::tcp
