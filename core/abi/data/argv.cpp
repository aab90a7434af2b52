// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Data Structures and Types": arrays of strings and environments. Programs compiled
// against 4.2.2 have the inline functions of pmix_macros.h instead, so these are the same ones.
#include "pmix.h"

extern "C" {

pmix_status_t PMIx_Argv_append_nosize(char*** argv, const char* text) {
  return argv == nullptr || text == nullptr ? PMIX_ERR_BAD_PARAM : pmix_argv_append_nosize(argv, text);
}

pmix_status_t PMIx_Argv_prepend_nosize(char*** argv, const char* text) {
  return argv == nullptr || text == nullptr ? PMIX_ERR_BAD_PARAM : pmix_argv_prepend_nosize(argv, text);
}

pmix_status_t PMIx_Argv_append_unique_nosize(char*** argv, const char* text) {
  return argv == nullptr || text == nullptr ? PMIX_ERR_BAD_PARAM : pmix_argv_append_unique_nosize(argv, text);
}

/// NULL if nothing is left to put into the array.
char** PMIx_Argv_split_inter(const char* text, int delimiter, bool include_empty) {
  return pmix_argv_split_inter(text, delimiter, include_empty);
}
char** PMIx_Argv_split(const char* text, int delimiter) {
  return pmix_argv_split(text, delimiter);
}
char** PMIx_Argv_split_with_empty(const char* text, int delimiter) {
  return pmix_argv_split_with_empty(text, delimiter);
}

char* PMIx_Argv_join(char** argv, int delimiter) {
  return pmix_argv_join(argv, delimiter);
}
char** PMIx_Argv_copy(char** argv) {
  return pmix_argv_copy(argv);
}
int PMIx_Argv_count(char** argv) {
  return pmix_argv_count(argv);
}
void PMIx_Argv_free(char** argv) {
  pmix_argv_free(argv);
}

pmix_status_t PMIx_Setenv(const char* name, const char* value, bool overwrite, char*** env) {
  return pmix_setenv(name, value, overwrite, env);
}

}  // extern "C"
