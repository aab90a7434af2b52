// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/connections/tokens.hpp"

#include <sodium.h>

#include <algorithm>
#include <stdexcept>

#include "core/link/messages.hpp"

namespace weft::server {
namespace {

auto named(std::string_view nspace) {
  return [nspace](const auto& entry) { return entry.first == nspace; };
}

}  // namespace

Tokens::Tokens() {
  if (::sodium_init() < 0) throw std::runtime_error("libsodium has no random numbers");
  ::randombytes_buf(key_.data(), key_.size());
}

Tokens::~Tokens() {
  ::sodium_memzero(key_.data(), key_.size());
}

link::Token Tokens::token_of(const pmix_proc_t& proc) const {
  const auto nspace = link::nspace_of(proc);
  const auto times = ended_.read([&](const Ended& ended) {
    const auto found = std::find_if(ended.begin(), ended.end(), named(nspace));
    return found == ended.end() ? std::uint32_t{0} : found->second;
  });
  base::Writer name;  // each part is of a known length, so that no two processes have the same bytes
  name.text(nspace);
  name.u32(proc.rank);
  name.u32(times);
  const auto bytes = std::move(name).take();
  link::Token token;
  (void)::crypto_generichash(token.bytes.data(), token.bytes.size(),
                             reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), key_.data(),
                             key_.size());
  return token;
}

bool Tokens::accepts(std::string_view nspace, std::uint32_t rank, const link::Token& token) const {
  return nspace.size() <= PMIX_MAX_NSLEN && token_of(link::make_proc(nspace, rank)).equals(token);
}

void Tokens::forget(std::string_view nspace) {
  ended_.change([&](Ended& ended) {
    std::pair<std::string, std::uint32_t> entry(nspace, 1);
    if (const auto found = std::find_if(ended.begin(), ended.end(), named(nspace)); found != ended.end()) {
      entry.second += found->second;
      ended.erase(found);
    } else if (ended.size() == most_ended) {
      ended.erase(ended.begin());
    }
    ended.push_back(std::move(entry));
  });
}

}  // namespace weft::server
