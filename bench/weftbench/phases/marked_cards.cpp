// SPDX-License-Identifier: BSD-3-Clause
#include "bench/weftbench/phases/marked_cards.hpp"

namespace weft::bench {
namespace {

std::byte mark_of(unsigned rank, unsigned i) {
  return static_cast<std::byte>(rank * 31 + i * 7 + 1);
}

}  // namespace

MarkedCards::MarkedCards(const Job& job, const std::string& name, std::size_t bytes)
    : job_(job), prefix_("weftbench." + name + std::to_string(bytes) + "."), bytes_(bytes) {}

void MarkedCards::commit(unsigned i) const {
  job_.put(key(i).c_str(), std::vector<std::byte>(bytes_, mark_of(job_.rank(), i)));
  job_.commit();
}

void MarkedCards::read(unsigned rank, unsigned i) const {
  const Fetched card = job_.get(job_.proc(rank), key(i).c_str());
  const bool right = card->type == PMIX_BYTE_OBJECT && card->data.bo.size == bytes_ &&
                     static_cast<std::byte>(card->data.bo.bytes[0]) == mark_of(rank, i) &&
                     static_cast<std::byte>(card->data.bo.bytes[bytes_ - 1]) == mark_of(rank, i);
  if (!right) throw Failure("rank " + std::to_string(rank) + "'s card " + key(i) + " came back wrong");
}

}  // namespace weft::bench
