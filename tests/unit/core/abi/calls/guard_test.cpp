// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/calls/guard.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>

namespace weft::abi {
namespace {

// Entry points, as far as guard.hpp sees one.
pmix_status_t PMIx_Sample_status(const std::function<void()>& raise, int) {
  return guarded_status([&] { return raise(), PMIX_SUCCESS; });
}

pmix_status_t PMIx_Sample_result(const char*) {
  return guarded([]() -> Result<void> { throw std::out_of_range("row 7"); });
}

char* PMIx_Sample_text() {
  return guarded_text([]() -> std::string { throw std::runtime_error("no text"); });
}

template <class Call>
std::string said_by(Call&& call) {
  testing::internal::CaptureStderr();
  call();
  return testing::internal::GetCapturedStderr();
}

TEST(Guard, exception_of_ours_is_logged_with_the_name_of_the_function) {
  const auto result = said_by([] { EXPECT_EQ(PMIx_Sample_result("x"), PMIX_ERROR); });
  EXPECT_NE(result.find("] PMIx_Sample_result failed because of a defect of Weft: row 7."), std::string::npos)
      << result;
  const auto status =
      said_by([] { EXPECT_EQ(PMIx_Sample_status([] { throw std::logic_error("twice"); }, 1), PMIX_ERROR); });
  EXPECT_NE(status.find("PMIx_Sample_status failed because of a defect of Weft: twice."), std::string::npos)
      << status;
  const auto text = said_by([] { EXPECT_EQ(PMIx_Sample_text(), nullptr); });
  EXPECT_NE(text.find("PMIx_Sample_text failed because of a defect of Weft: no text."), std::string::npos)
      << text;
}

TEST(Guard, what_is_no_exception_of_the_library_is_logged_too) {
  const auto said = said_by([] { EXPECT_EQ(PMIx_Sample_status([] { throw 7; }, 1), PMIX_ERROR); });
  EXPECT_NE(said.find("PMIx_Sample_status failed"), std::string::npos) << said;
}

TEST(Guard, no_memory_is_a_status_and_no_defect) {
  EXPECT_EQ(said_by([] { EXPECT_EQ(PMIx_Sample_status([] { throw std::bad_alloc(); }, 1), PMIX_ERR_NOMEM); }),
            "");
}

TEST(Guard, no_descriptor_is_a_status_and_no_defect) {
  for (const int error : {EMFILE, ENFILE}) {
    EXPECT_EQ(
        guarded_status([error]() -> pmix_status_t { throw std::system_error(error, std::system_category()); },
                       "PMIx_Sample"),
        PMIX_ERR_OUT_OF_RESOURCE);
  }
}

TEST(Guard, no_thread_is_a_status_and_no_defect) {
  const auto no_thread = [] {
    return PMIx_Sample_status(
        [] { throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)); }, 1);
  };
  EXPECT_EQ(said_by([&] { EXPECT_EQ(no_thread(), PMIX_ERR_OUT_OF_RESOURCE); }), "");
}

TEST(Guard, errors_and_statuses_pass) {
  EXPECT_EQ(guarded([]() -> Result<void> { return {}; }), PMIX_SUCCESS);
  EXPECT_EQ(guarded([]() -> Result<void> { return fail(Errc::denied); }), PMIX_ERR_NO_PERMISSIONS);
  EXPECT_EQ(guarded_status([]() -> pmix_status_t { return PMIX_ERR_NOT_FOUND; }), PMIX_ERR_NOT_FOUND);
  const std::unique_ptr<char, decltype(&std::free)> text(guarded_text([] { return std::string("abc"); }),
                                                         &std::free);
  EXPECT_STREQ(text.get(), "abc");
}

}  // namespace
}  // namespace weft::abi
