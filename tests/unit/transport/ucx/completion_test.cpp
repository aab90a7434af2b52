// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/completion.hpp"

#include <gtest/gtest.h>

namespace weft::ucx {
namespace {

TEST(UcxRequestIds, an_id_finds_its_operation_until_it_is_released) {
  RequestIds ids;
  UcxOperation first, second;
  ASSERT_TRUE(ids.assign(first) && ids.assign(second));
  const auto one = ids.of(first), two = ids.of(second);
  EXPECT_EQ(ids.find(one), &first);
  EXPECT_EQ(ids.find(two), &second);
  ids.release(first);
  EXPECT_EQ(ids.find(one), nullptr);
  EXPECT_EQ(ids.find(two), &second);
}

TEST(UcxRequestIds, a_reused_number_is_another_id) {
  RequestIds ids;
  UcxOperation first, second;
  ASSERT_TRUE(ids.assign(first));
  const auto old = ids.of(first);
  ids.release(first);
  ASSERT_TRUE(ids.assign(second));
  EXPECT_EQ(ids.of(second).number, old.number);
  EXPECT_EQ(ids.find(old), nullptr);
  EXPECT_EQ(ids.find(ids.of(second)), &second);
}

TEST(UcxRequestIds, an_unknown_id_finds_nothing) {
  const RequestIds ids;
  EXPECT_EQ(ids.find({0, 0}), nullptr);
  EXPECT_EQ(ids.find({~0u, ~0u}), nullptr);
}

TEST(UcxRequestIds, releasing_an_operation_without_an_id_does_nothing) {
  RequestIds ids;
  UcxOperation operation;
  ids.release(operation);
  ASSERT_TRUE(ids.assign(operation));
  EXPECT_EQ(ids.find(ids.of(operation)), &operation);
}

TEST(UcxTransfers, a_connection_counts_its_transfers_until_they_are_released) {
  Connection connection;
  Transfers transfers;
  Transfer* a = transfers.make(nullptr, Transfer::Kind::message, &connection, 100);
  Transfer* b = transfers.make(nullptr, Transfer::Kind::get_reply, nullptr, 10);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(connection.transfers, 1u);
  EXPECT_EQ(transfers.count(), 2u);
  EXPECT_EQ(transfers.bytes(), 110u);
  transfers.complete(*b, UCS_OK);
  transfers.complete(*a, UCS_ERR_CANCELED);
  EXPECT_TRUE(a->is_complete && transfers.has_completed());
  Transfer* first = transfers.take_completed();
  EXPECT_EQ(first, b);
  EXPECT_EQ(first->next_complete, a);
  EXPECT_EQ(a->next_complete, nullptr);
  EXPECT_FALSE(transfers.has_completed());
  transfers.release(*a);
  EXPECT_EQ(connection.transfers, 0u);
  EXPECT_EQ(transfers.count(), 1u);
}

}  // namespace
}  // namespace weft::ucx
