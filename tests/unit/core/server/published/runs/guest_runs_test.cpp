// SPDX-License-Identifier: BSD-3-Clause
// Guests of a run, which are tools at its server: what is refused of them, and what ends with them.
#include "core/server/published/runs/guest_runs.hpp"

#include "tests/unit/core/server/connections/server_here.hpp"
#include "transport/mesh/version.hpp"

namespace weft::server {
namespace {

using link::MessageType;
using Call = link::GuestRequest::Call;

constexpr NodeNumber origin = 3;

PublishNames names_of(const std::string& nspace, const std::string& key, std::uint64_t number = 1) {
  Publication by;
  by.nspace = nspace;
  by.rank = 2;
  by.origin = origin;
  by.number = number;
  return {by, {{key, std::vector<std::byte>(4)}}};
}

LookUpNames lookup_of(const std::string& key, bool waits = false, const char* nspace = "guest") {
  return {0, {link::make_proc(nspace, 1), 0, ::geteuid(), ::getegid(), PMIX_RANGE_SESSION, {}}, {key}, waits};
}

/// A tool at the server, which says what a guest says.
class Guest {
 public:
  explicit Guest(const std::string& server) : socket_(std::move(*link::connect_to(server))) {
    (void)link::send_frame(socket_.get(), MessageType::hello_tool, 0, link::encode(link::HelloTool{}));
    (void)link::receive_frame(socket_.get());
  }
  void tell(Call call, std::vector<std::byte> body, std::uint64_t tag,
            std::uint16_t format = mesh::protocol_version) {
    (void)link::send_frame(socket_.get(), MessageType::guest_request, tag,
                           link::encode(link::GuestRequest{format, call, origin, std::move(body)}));
  }
  std::optional<link::Frame> read() {
    auto frame = link::receive_frame(socket_.get());
    return frame ? std::optional(std::move(*frame)) : std::nullopt;
  }
  link::GuestReply reply() {
    const auto frame = read();
    if (!frame || frame->type != MessageType::guest_reply) return {PMIX_ERR_LOST_CONNECTION, {}};
    last_tag = frame->tag;
    return link::decode<link::GuestReply>(frame->payload).value_or(link::GuestReply{PMIX_ERROR, {}});
  }
  pmix_status_t begin() {
    tell(Call::begin, {}, 1);
    return reply().status;
  }
  template <class Message>
  pmix_status_t ask(Call call, const Message& message) {
    tell(call, base::encode(message), 2);
    return reply().status;
  }
  SeenName look_up(const LookUpNames& message) {
    tell(Call::look_up, base::encode(message), 2);
    const auto found = base::decode<LookedUp>(reply().body);
    return found && found->seen.size() == 1 ? found->seen.front() : SeenName{Sight::hidden};
  }
  void hang_up() { socket_.reset(); }

  std::uint64_t last_tag = 0;

 private:
  base::Fd socket_;
};

class Guests : public ServerHere {
 protected:
  Guest begun() {
    Guest guest(name_);
    EXPECT_EQ(guest.begin(), PMIX_SUCCESS);
    return guest;
  }
};

TEST_F(Guests, say_that_they_are_and_in_this_format) {
  Guest guest(name_);
  EXPECT_EQ(guest.ask(Call::publish, names_of("guest", "k")), PMIX_ERR_BAD_PARAM);
  guest.tell(Call::begin, {}, 1, mesh::protocol_version + 1);
  EXPECT_EQ(guest.reply().status, PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(guest.begin(), PMIX_SUCCESS);
  EXPECT_EQ(guest.ask(Call::publish, names_of("guest", "k")), PMIX_SUCCESS);
}

TEST_F(Guests, publish_for_their_own_processes_and_for_all_runs) {
  auto guest = begun(), other = begun();
  EXPECT_EQ(guest.ask(Call::publish, names_of("guest", "k")), PMIX_SUCCESS);
  EXPECT_EQ(other.ask(Call::publish, names_of("guest", "l")), PMIX_ERR_EXISTS) << "another guest's namespace";
  EXPECT_EQ(guest.ask(Call::publish, names_of("", "l")), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(guest.ask(Call::publish, names_of("guest", "l", 1)), PMIX_ERR_BAD_PARAM) << "that call has been";
  for (const auto range :
       {PMIX_RANGE_LOCAL, PMIX_RANGE_PROC_LOCAL, PMIX_RANGE_NAMESPACE, PMIX_RANGE_CUSTOM, PMIX_RANGE_RM}) {
    auto narrow = names_of("guest", "l", 2);
    narrow.by.range = range;
    EXPECT_EQ(guest.ask(Call::publish, narrow), PMIX_ERR_BAD_PARAM) << int{range};
  }
  auto of_elsewhere = names_of("guest", "l", 3);
  of_elsewhere.by.origin = origin + 1;
  EXPECT_EQ(guest.ask(Call::publish, of_elsewhere), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(guest.look_up(lookup_of("l")).sight, Sight::none) << "nothing of these was published";
}

TEST_F(Guests, see_the_names_of_each_other_with_their_publisher) {
  auto guest = begun(), other = begun();
  EXPECT_EQ(guest.ask(Call::publish, names_of("guest", "k", 7)), PMIX_SUCCESS);
  EXPECT_EQ(other.ask(Call::publish, names_of("other", "k", 7)), PMIX_ERR_DUPLICATE_KEY);
  const auto seen = other.look_up(lookup_of("k", false, "other"));
  EXPECT_EQ(seen.sight, Sight::seen);
  EXPECT_EQ(seen.nspace, "guest");
  EXPECT_EQ(seen.rank, 2u);
  EXPECT_EQ(other.ask(Call::forget, ForgetNames{{{"k", 7}}}), PMIX_SUCCESS)
      << "has no effect: it is not its own";
  EXPECT_EQ(guest.look_up(lookup_of("k")).sight, Sight::seen);
  EXPECT_EQ(guest.ask(Call::forget, ForgetNames{{{"k", 7}, {"none", 7}, {"k", 8}}}), PMIX_SUCCESS);
  EXPECT_EQ(other.ask(Call::publish, names_of("other", "k", 7)), PMIX_SUCCESS) << "its number is free, too";
}

TEST_F(Guests, wait_until_there_is_a_name_or_they_wait_no_more) {
  auto guest = begun(), other = begun();
  guest.tell(Call::look_up, base::encode(lookup_of("late", true)), 10);
  guest.tell(Call::look_up, base::encode(lookup_of("never", true)), 11);
  guest.tell(Call::end_wait, {}, 99);  // of none
  guest.tell(Call::end_wait, {}, 11);
  EXPECT_EQ(guest.reply().status, PMIX_SUCCESS);
  EXPECT_EQ(guest.last_tag, 11u);
  EXPECT_EQ(other.ask(Call::publish, names_of("other", "late")), PMIX_SUCCESS);
  const auto found = base::decode<LookedUp>(guest.reply().body);
  EXPECT_EQ(guest.last_tag, 10u);
  ASSERT_TRUE(found && found->seen.size() == 1);
  EXPECT_EQ(found->seen[0].nspace, "other");
}

TEST_F(Guests, hear_that_a_name_has_gone_with_its_first_read) {
  auto guest = begun(), other = begun();
  auto once = names_of("guest", "once", 5);
  once.by.persistence = PMIX_PERSIST_FIRST_READ;
  EXPECT_EQ(guest.ask(Call::publish, once), PMIX_SUCCESS);
  EXPECT_EQ(other.look_up(lookup_of("once", false, "other")).sight, Sight::seen);
  const auto frame = guest.read();
  ASSERT_TRUE(frame && frame->type == MessageType::guest_taken);
  const auto taken = link::decode<link::GuestTaken>(frame->payload);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->origin, origin);
  EXPECT_EQ(taken->key, "once");
  EXPECT_EQ(taken->number, 5u);
  EXPECT_EQ(link::nspace_of(taken->publisher), "guest");
  EXPECT_EQ(other.look_up(lookup_of("once", false, "other")).sight, Sight::none);
}

/// A waiting lookup hears of the end: it has no other news of it.
TEST_F(Guests, that_hang_up_leave_no_name_and_no_wait) {
  auto other = begun();
  {
    auto guest = begun();
    auto lasting = names_of("guest", "k");
    lasting.by.persistence = PMIX_PERSIST_INDEF;
    EXPECT_EQ(guest.ask(Call::publish, lasting), PMIX_SUCCESS);
    guest.tell(Call::look_up, base::encode(lookup_of("never", true)), 10);
  }
  while (other.look_up(lookup_of("k", false, "other")).sight != Sight::none) ::usleep(1000);
  EXPECT_EQ(other.ask(Call::publish, names_of("other", "k")), PMIX_SUCCESS);
  EXPECT_EQ(other.ask(Call::publish, names_of("guest", "never", 2)), PMIX_SUCCESS) << "the namespace is free";
}

TEST_F(Guests, say_nothing_that_harms_the_server) {
  auto guest = begun();
  const auto whole = {base::encode(names_of("guest", "k")), base::encode(lookup_of("k")),
                      base::encode(ForgetNames{{{"k", 1}}})};
  for (const auto call : {Call::publish, Call::look_up, Call::forget})
    for (const auto& bytes : whole)
      for (std::size_t length = 0; length < bytes.size(); ++length) {
        guest.tell(call, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)}, 4);
        EXPECT_EQ(guest.reply().status, PMIX_ERR_BAD_PARAM) << int(call) << ' ' << length;
      }
  EXPECT_EQ(guest.ask(Call::look_up, lookup_of("")), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(guest.ask(Call::look_up, lookup_of(std::string(PMIX_MAX_KEYLEN + 1, 'k'))), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(guest.ask(Call::publish, names_of("guest", "k")), PMIX_SUCCESS) << "and may go on";
}

TEST_F(Guests, see_the_end_of_the_server) {
  auto guest = begun();
  guest.tell(Call::look_up, base::encode(lookup_of("never", true)), 10);
  server_.reset();
  EXPECT_FALSE(guest.read());
}

}  // namespace
}  // namespace weft::server
