// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/wire2/requests.hpp"

#include <gtest/gtest.h>

#include <string>

#include "pmi/job/job.hpp"

namespace weft::pmi::wire2 {
namespace {

Reading read(std::string_view text) {
  return read_request(*read_message(text));
}

Code code_of(const std::string& text) {
  return read(text).code;
}

TEST(Requests2, are_read_by_their_names) {
  for (const auto& row : command_rows) {
    std::string text = "cmd=" + std::string(row.name) + ";";
    for (const auto* field : {"key", "value", "jobid", "name", "port"}) text += std::string(field) + "=x;";
    const auto request = read(text).request;
    ASSERT_TRUE(request) << text;
    EXPECT_EQ(request->command, row.command);
  }
}

TEST(Requests2, need_the_fields_of_their_row) {
  for (const auto& row : command_rows)
    EXPECT_EQ(code_of("cmd=" + std::string(row.name) + ";"),
              row.needs == need_nothing ? Code::success : Code::invalid_argument)
        << row.name;
}

TEST(Requests2, have_what_their_fields_say) {
  const auto get = read("cmd=kvs-get;thrid=3;jobid=j;srcid=7;key=a b;").request;
  ASSERT_TRUE(get);
  EXPECT_EQ(get->job, "j");
  EXPECT_EQ(get->key, "a b");
  EXPECT_EQ(get->source, 7U);
  for (const auto* hint : {"-1", "x", "", "99999999999", "1x"})
    EXPECT_FALSE(read("cmd=kvs-get;key=a;srcid=" + std::string(hint) + ";").request->source) << hint;
  EXPECT_TRUE(read("cmd=info-getnodeattr;key=a;wait=TRUE;").request->is_waiting);
  EXPECT_TRUE(read("cmd=info-getnodeattr;key=a;wait=true;").request->is_waiting);
  EXPECT_FALSE(read("cmd=info-getnodeattr;key=a;wait=FALSE;").request->is_waiting);
  EXPECT_FALSE(read("cmd=info-getnodeattr;key=a;").request->is_waiting);
  EXPECT_TRUE(read("cmd=abort;").request->is_whole_job);
  EXPECT_FALSE(read("cmd=abort;isworld=FALSE;msg=m;").request->is_whole_job);
  EXPECT_EQ(read("cmd=abort;msg=no more;").request->text, "no more");
}

TEST(Requests2, bound_each_text) {
  const struct {
    const char *before, *after;
    std::size_t room;
    Code code;
  } rows[] = {{"cmd=kvs-get;key=", ";", key_room, Code::invalid_key_length},
              {"cmd=kvs-put;key=k;value=", ";", value_room, Code::invalid_value_length},
              {"cmd=job-connect;jobid=", ";", name_room, Code::invalid_length},
              {"cmd=name-lookup;name=", ";", service_room, Code::invalid_length},
              {"cmd=name-publish;name=s;port=", ";", port_room, Code::invalid_length},
              {"cmd=abort;msg=", ";", value_room, Code::invalid_length}};
  for (const auto& row : rows) {
    EXPECT_EQ(code_of(row.before + std::string(row.room - 1, 'x') + row.after), Code::success) << row.before;
    EXPECT_EQ(code_of(row.before + std::string(row.room, 'x') + row.after), row.code) << row.before;
  }
}

TEST(Requests2, have_keys_and_names_that_are_not_empty_and_values_and_ports_that_may_be) {
  EXPECT_EQ(code_of("cmd=kvs-put;key=;value=x;"), Code::invalid_argument);
  EXPECT_EQ(code_of("cmd=name-lookup;name=;"), Code::invalid_argument);
  EXPECT_EQ(code_of("cmd=kvs-put;key=k;value=;"), Code::success);
  EXPECT_EQ(code_of("cmd=name-publish;name=s;port=;"), Code::success);
}

TEST(Requests2, have_no_zero_in_a_text) {
  using namespace std::string_literals;
  EXPECT_EQ(code_of("cmd=kvs-put;key=k;value=a\0b;"s), Code::invalid_value);
  EXPECT_EQ(code_of("cmd=kvs-get;key=\0;"s), Code::invalid_value);
}

TEST(Requests2, that_are_not_known_or_have_a_field_that_is_none_are_refused) {
  EXPECT_EQ(code_of("cmd=kvs-getall;jobid=j;"), Code::other);
  EXPECT_EQ(code_of("cmd=kvs-fence;thrid;"), Code::invalid_argument);
}

TEST(Requests2, tell_the_thread_that_the_reply_goes_to) {
  EXPECT_EQ(thread_of(*read_message("cmd=no-such;thrid=a;;b;key;")), "a;b");
  EXPECT_EQ(thread_of(*read_message("cmd=kvs-fence;")), "");
  EXPECT_EQ(thread_of(*read_message("cmd=kvs-fence;thrid=" + std::string(value_room, 't'))), "");
  EXPECT_EQ(answered_command(*read_message("cmd=spawn-cmd;")), "spawn");
  EXPECT_EQ(answered_command(*read_message("cmd=no-such;")), "no-such");
}

}  // namespace
}  // namespace weft::pmi::wire2
