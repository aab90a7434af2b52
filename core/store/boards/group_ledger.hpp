// SPDX-License-Identifier: BSD-3-Clause
// The ledger tells the server, which is not asked, which groups the members of a set have made at their board
// of groups: the names that go with the generations, since the tags in the cells are hashes only. The ledger
// lies behind the cells of a board of groups.
//
//   | read, 1 line | records: one a generation, in turn |
//
// L1  One writer: the member with the first cell (group rank 0), which writes the record of a generation
//     before it arrives there; the generation's end publishes the record (BD.W1), and a record counts if its
//     generation has ended with success.
// L2  The server says in `read` up to which generation it has copied the records. The writer leaves `records`
//     generations before that alone, so no record is written while the server reads it.
//     Where other nodes take part the server reads the record of a full generation before it ends it: the
//     members have arrived with a tag of the same name, so the record is there.
// L3  The server trusts nothing: it keeps its own count, and checks generation, kind and length of its copy
//     of a record.
// Crash: a writer that dies before it arrives leaves a record of a generation that does not end with success.
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/store/boards/board.hpp"

namespace weft::store {

enum class GroupAct : std::uint8_t { made = 1, ended = 2, fenced = 3 };

struct GroupRecord {
  GroupAct act;
  std::string name;
};

/// The tag that the members store with their arrival; never 0. adjusts: a fence that goes on without members
/// that leave (PMIX_GROUP_FT_COLLECTIVE), by the caller's directive.
std::uint64_t tag_of(GroupAct act, std::string_view name, bool adjusts = false) noexcept;

class GroupLedger {
 public:
  static constexpr std::uint32_t records = 64;
  static constexpr std::size_t longest_name = 255;

  static GroupLedger& at(std::byte* memory) noexcept { return *reinterpret_cast<GroupLedger*>(memory); }

  /// Writer. False: the server has not read what stands in its place (L2), or a name that is too long.
  bool write(Generation generation, GroupAct act, std::string_view name) noexcept {
    const auto behind = generation - read_.load(std::memory_order_acquire);  // GL.R2 <- R1
    if (behind == 0 || behind > records || name.empty() || name.size() > longest_name) return false;
    auto& record = records_[generation % records];
    record.generation = generation;
    record.act = static_cast<std::uint8_t>(act);
    record.length = static_cast<std::uint8_t>(name.size());
    std::memcpy(record.name, name.data(), name.size());
    return true;
  }
  /// Writer: half of the records wait for the server, so it is time to tell it.
  bool is_reader_due(Generation generation) const noexcept {
    return (generation - read_.load(std::memory_order_relaxed)) % (records / 2) == 0;
  }

  /// Server: the record of a generation that has ended with success, is newer than what it has read, and not
  /// by more than `records`.
  /// Nothing: damage.
  std::optional<GroupRecord> read(Generation generation) const {
    Record copy;
    std::memcpy(&copy, &records_[generation % records], sizeof copy);
    const bool is_act = copy.act >= static_cast<std::uint8_t>(GroupAct::made) &&
                        copy.act <= static_cast<std::uint8_t>(GroupAct::fenced);
    const bool is_text = copy.length != 0 && std::memchr(copy.name, '\0', copy.length) == nullptr;
    if (copy.generation != generation || !is_act || !is_text) return std::nullopt;
    return GroupRecord{static_cast<GroupAct>(copy.act), std::string(copy.name, copy.length)};
  }
  /// Server: all up to this generation are read; on a new board the last before the first.
  void set_read(Generation generation) noexcept {
    read_.store(generation, std::memory_order_release);  // GL.R1 -> R2: the copies before it
  }

 private:
  struct Record {
    Generation generation;
    std::uint8_t act;
    std::uint8_t length;
    char name[longest_name + 3];
  };
  static_assert(sizeof(Record) == 264);
  alignas(64) std::atomic<Generation> read_;
  alignas(64) std::array<Record, records> records_;
};

}  // namespace weft::store
