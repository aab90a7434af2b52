// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/roles/init_directives.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

namespace weft::abi {
namespace {

data::Infos texts(std::initializer_list<std::pair<const char*, const char*>> pairs) {
  data::Infos infos;
  for (const auto& [key, text] : pairs) infos.add(key, data::Value::of(text));
  return infos;
}

TEST(InitDirectives, the_same_value_is_ignored_and_another_refused) {
  InitDirectives directives;
  const auto add = [&](std::initializer_list<std::pair<const char*, const char*>> pairs) {
    const auto infos = texts(pairs);
    return directives.add(infos.data(), infos.size());
  };
  EXPECT_EQ(directives.add(nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(add({{"a", "1"}, {"b", "2"}}), PMIX_SUCCESS);
  EXPECT_EQ(add({{"b", "2"}, {"a", "1"}}), PMIX_SUCCESS);
  EXPECT_EQ(add({{"c", "3"}, {"a", "2"}}), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(add({{"c", "4"}}), PMIX_SUCCESS) << "a call that was refused left something";
  EXPECT_EQ(add({{"c", "3"}}), PMIX_ERR_BAD_PARAM);
}

TEST(InitDirectives, another_type_is_another_value) {
  InitDirectives directives;
  data::Infos number, flag;
  number.add("a", data::Value::of(std::uint32_t{1}));
  flag.add("a", data::Value::of(true));
  EXPECT_EQ(directives.add(number.data(), number.size()), PMIX_SUCCESS);
  EXPECT_EQ(directives.add(flag.data(), flag.size()), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(directives.add(number.data(), number.size()), PMIX_SUCCESS);
}

TEST(InitDirectives, a_call_with_two_values_of_a_key_is_refused) {
  InitDirectives directives;
  const auto twice = texts({{"a", "1"}, {"a", "1"}}), both = texts({{"a", "1"}, {"a", "2"}}),
             models = texts({{PMIX_PROGRAMMING_MODEL, "MPI"}, {PMIX_PROGRAMMING_MODEL, "OpenMP"}});
  EXPECT_EQ(directives.add(both.data(), both.size()), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(directives.add(models.data(), models.size()), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(directives.add(twice.data(), twice.size()), PMIX_SUCCESS);
}

TEST(InitDirectives, each_model_says_what_it_is) {
  InitDirectives directives;
  for (const char* model : {"MPI", "OpenMP", "MPI"}) {
    const auto infos = texts(
        {{PMIX_PROGRAMMING_MODEL, model}, {PMIX_MODEL_LIBRARY_NAME, model}, {PMIX_MODEL_PHASE_NAME, model}});
    EXPECT_EQ(directives.add(infos.data(), infos.size()), PMIX_SUCCESS);
  }
  EXPECT_TRUE(is_model_key(PMIX_THREADING_MODEL));
  EXPECT_FALSE(is_model_key(PMIX_EXTERNAL_PROGRESS));
}

}  // namespace
}  // namespace weft::abi
