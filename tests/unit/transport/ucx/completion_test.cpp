// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/completion.hpp"

#include <gtest/gtest.h>

namespace weft::ucx {
namespace {

TEST(UcxTickets, a_ticket_finds_its_operation_until_it_is_taken_back) {
  Tickets tickets;
  Open first, second;
  ASSERT_TRUE(tickets.give(first) && tickets.give(second));
  const auto one = tickets.of(first), two = tickets.of(second);
  EXPECT_EQ(tickets.holder(one), &first);
  EXPECT_EQ(tickets.holder(two), &second);
  tickets.take_back(first);
  EXPECT_EQ(tickets.holder(one), nullptr);
  EXPECT_EQ(tickets.holder(two), &second);
}

TEST(UcxTickets, one_that_is_given_again_is_another) {
  Tickets tickets;
  Open first, second;
  ASSERT_TRUE(tickets.give(first));
  const auto old = tickets.of(first);
  tickets.take_back(first);
  ASSERT_TRUE(tickets.give(second));
  EXPECT_EQ(tickets.of(second).number, old.number);
  EXPECT_EQ(tickets.holder(old), nullptr);
  EXPECT_EQ(tickets.holder(tickets.of(second)), &second);
}

TEST(UcxTickets, one_from_nowhere_finds_nothing) {
  const Tickets tickets;
  EXPECT_EQ(tickets.holder({0, 0}), nullptr);
  EXPECT_EQ(tickets.holder({~0u, ~0u}), nullptr);
}

TEST(UcxTickets, what_has_none_is_taken_back_without_harm) {
  Tickets tickets;
  Open open;
  tickets.take_back(open);
  ASSERT_TRUE(tickets.give(open));
  EXPECT_EQ(tickets.holder(tickets.of(open)), &open);
}

TEST(UcxFlights, they_count_for_their_line_until_they_are_released) {
  Line line;
  Flights flights;
  Flight* a = flights.make(nullptr, Flight::Kind::message, &line, 100);
  Flight* b = flights.make(nullptr, Flight::Kind::get_reply, nullptr, 10);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_EQ(line.flights, 1u);
  EXPECT_EQ(flights.count(), 2u);
  EXPECT_EQ(flights.bytes(), 110u);
  flights.ended(*b, UCS_OK);
  flights.ended(*a, UCS_ERR_CANCELED);
  EXPECT_TRUE(a->is_over && flights.has_ended());
  Flight* first = flights.take_ended();
  EXPECT_EQ(first, b);
  EXPECT_EQ(first->next_ended, a);
  EXPECT_EQ(a->next_ended, nullptr);
  EXPECT_FALSE(flights.has_ended());
  flights.release(*a);
  EXPECT_EQ(line.flights, 0u);
  EXPECT_EQ(flights.count(), 1u);
}

}  // namespace
}  // namespace weft::ucx
