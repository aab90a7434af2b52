// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/jobs/unkept_card.hpp"

#include <algorithm>

namespace weft::server {

UnkeptCard::UnkeptCard(const store::Card& card) : rank(card.rank) {
  std::size_t size = 0;
  for (const auto& record : card.records) size += record.key.size() + record.value.size();
  bytes.reserve(size);  // so that no record moves
  const auto keep = [this](Bytes part) {
    const auto at = bytes.insert(bytes.end(), part.begin(), part.end());
    return Bytes(&*at, part.size());
  };
  for (const auto& record : card.records) {
    const auto key = keep(as_bytes(record.key));
    records.push_back({record.scope,
                       {reinterpret_cast<const char*>(key.data()), key.size()},
                       record.value.empty() ? Bytes() : keep(record.value)});
  }
}

Result<store::Encoded> find_in(const std::vector<UnkeptCard>& cards, std::uint32_t rank, std::string_view key,
                               const store::GetDirectives& how) {
  auto why = Errc::not_found;
  for (auto card = cards.rbegin(); card != cards.rend(); ++card) {
    if (card->rank != rank) continue;
    for (auto record = card->records.rbegin(); record != card->records.rend(); ++record) {
      if (record->key != key) continue;
      if (!store::is_for_others(record->scope, how.scope)) {
        why = Errc::outside_scope;
        continue;
      }
      if (store::is_deletion(record->value)) return fail(Errc::not_found);
      return store::Encoded(record->value.begin(), record->value.end());
    }
  }
  return fail(why);
}

}  // namespace weft::server
