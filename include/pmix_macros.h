// SPDX-License-Identifier: BSD-3-Clause
//
// The macros and inline functions that PMIx 4.2.2 gives to C and C++ programs. Included by pmix_common.h.
//
// A program compiled with these headers must also run on a libpmix 4.2.2, so nothing here calls a function
// that appeared later: only libc, the functions declared just below, and the inlines of this file. Newer
// programs call the functions of pmix_utilities.h instead, which do the same inside the library.
//
// Memory: all of it comes from malloc, on both sides; what a *_CREATE macro made, free() may release.
// Names that start with weft_ are private to this file.
//
// Chapter of the PMIx Standard: Data Structures and Types.
#ifndef PMIX_MACROS_H
#define PMIX_MACROS_H

#include "pmix_common.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* ---- What the macros need from the library; 4.2.2 exports all of these ---- */

/// Frees what a value holds and makes it empty; the value itself stays the caller's.
PMIX_EXPORT void PMIx_Value_destruct(pmix_value_t* val);

/// Copies `data` of the given type into the value. Errors: PMIX_ERR_NOMEM, PMIX_ERR_UNKNOWN_DATA_TYPE.
PMIX_EXPORT pmix_status_t PMIx_Value_load(pmix_value_t* val, const void* data, pmix_data_type_t type);

/// Copies the content out, into `*data` if the type has a fixed size, else into new memory that it sets.
PMIX_EXPORT pmix_status_t PMIx_Value_unload(pmix_value_t* val, void** data, size_t* size);

/// Deep copy of `src` into `dest`.
PMIX_EXPORT pmix_status_t PMIx_Value_xfer(pmix_value_t* dest, const pmix_value_t* src);

/// Sets key and value (copied) and clears the directives.
PMIX_EXPORT pmix_status_t PMIx_Info_load(pmix_info_t* info, const char* key, const void* data,
                                         pmix_data_type_t type);

/// Deep copy of key, directives and value.
PMIX_EXPORT pmix_status_t PMIx_Info_xfer(pmix_info_t* dest, const pmix_info_t* src);

/// A growing list of infos: start, add any number, convert to an array (PMIX_INFO), release the list.
PMIX_EXPORT void* PMIx_Info_list_start(void);
PMIX_EXPORT pmix_status_t PMIx_Info_list_add(void* list, const char* key, const void* value,
                                             pmix_data_type_t type);
PMIX_EXPORT pmix_status_t PMIx_Info_list_insert(void* list, pmix_info_t* info);
PMIX_EXPORT pmix_status_t PMIx_Info_list_xfer(void* list, const pmix_info_t* info);
PMIX_EXPORT pmix_status_t PMIx_Info_list_convert(void* list, pmix_data_array_t* array);
PMIX_EXPORT void PMIx_Info_list_release(void* list);

/// Free what the object holds; the object itself stays the caller's.
PMIX_EXPORT void PMIx_Data_array_destruct(pmix_data_array_t* array);
PMIX_EXPORT void PMIx_Topology_destruct(pmix_topology_t* topo);
PMIX_EXPORT void PMIx_Cpuset_destruct(pmix_cpuset_t* cpuset);

/// Hand a payload to a buffer, or take it out again: ownership moves, nothing is copied.
PMIX_EXPORT pmix_status_t PMIx_Data_load(pmix_data_buffer_t* buffer, pmix_byte_object_t* payload);
PMIX_EXPORT pmix_status_t PMIx_Data_unload(pmix_data_buffer_t* buffer, pmix_byte_object_t* payload);

/* ---- Memory and strings ---- */

static inline void* pmix_malloc(size_t n) { return malloc(n); }
static inline void* pmix_calloc(size_t n, size_t m) { return calloc(n, m); }
static inline void pmix_free(void* m) { free(m); }

/// Copies at most `len` bytes and always ends `dest`, which must hold len + 1, with a NUL.
static inline void pmix_strncpy(char* dest, const char* src, size_t len) {
  size_t n = 0;
  while (n < len && '\0' != src[n]) {
    dest[n] = src[n];
    ++n;
  }
  dest[n] = '\0';
}

static inline size_t weft_length(const char* src, size_t most) {
  size_t n = 0;
  if (NULL != src) {
    while (n < most && '\0' != src[n]) {
      ++n;
    }
  }
  return n;
}

/// Lengths, at most one more than the limit, so that a caller sees what is too long. NULL counts as empty.
static inline size_t pmix_keylen(const char* src) { return weft_length(src, PMIX_MAX_KEYLEN + 1); }
static inline size_t pmix_nslen(const char* src) { return weft_length(src, PMIX_MAX_NSLEN + 1); }

/// Fills a fixed array of `most` + 1 characters: cut at the limit, zero to the end.
static inline void weft_load_name(char* dest, const char* src, size_t most) {
  memset(dest, 0, most + 1);
  if (NULL != src) {
    pmix_strncpy(dest, src, most);
  }
}

// strdup() is missing from a strict C11 <string.h>.
static inline char* weft_copy_text(const char* src, size_t length) {
  char* copy = (char*)malloc(length + 1);
  if (NULL != copy) {
    memcpy(copy, src, length);
    copy[length] = '\0';
  }
  return copy;
}

static inline char* weft_strdup(const char* src) {
  return NULL == src ? NULL : weft_copy_text(src, strlen(src));
}

static inline bool weft_same_text_ignoring_case(const char* text, const char* word) {
  for (; '\0' != *word; ++text, ++word) {
    if (tolower((unsigned char)*text) != *word) {
      return false;
    }
  }
  return true;
}

/* ---- NULL-terminated arrays of strings ---- */

static inline int pmix_argv_count(char** argv) {
  int n = 0;
  while (NULL != argv && NULL != argv[n]) {
    ++n;
  }
  return n;
}

static inline void pmix_argv_free(char** argv) {
  if (NULL != argv) {
    for (char** p = argv; NULL != *p; ++p) {
      free(*p);
    }
    free(argv);
  }
}

// Puts `text` (owned from here on, NULL = out of memory) at index `at`, moving the rest up.
static inline pmix_status_t weft_argv_place(char*** argv, int at, char* text) {
  const int n = pmix_argv_count(*argv);
  char** grown = NULL == text ? NULL : (char**)realloc(*argv, ((size_t)n + 2) * sizeof(char*));
  if (NULL == grown) {
    free(text);
    return PMIX_ERR_OUT_OF_RESOURCE;
  }
  memmove(grown + at + 1, grown + at, (size_t)(n - at) * sizeof(char*));
  grown[at] = text;
  grown[n + 1] = NULL;
  *argv = grown;
  return PMIX_SUCCESS;
}

static inline pmix_status_t pmix_argv_append_nosize(char*** argv, const char* arg) {
  return weft_argv_place(argv, pmix_argv_count(*argv), weft_strdup(arg));
}

static inline pmix_status_t pmix_argv_prepend_nosize(char*** argv, const char* arg) {
  return weft_argv_place(argv, 0, weft_strdup(arg));
}

static inline pmix_status_t pmix_argv_append_unique_nosize(char*** argv, const char* arg) {
  for (char** p = *argv; NULL != p && NULL != *p; ++p) {
    if (0 == strcmp(*p, arg)) {
      return PMIX_SUCCESS;
    }
  }
  return pmix_argv_append_nosize(argv, arg);
}

/// NULL if there is nothing to split, or no memory. A delimiter at the very end adds no empty string.
static inline char** pmix_argv_split_inter(const char* src_string, int delimiter, bool include_empty) {
  char** argv = NULL;
  while (NULL != src_string && '\0' != *src_string) {
    const char* end = strchr(src_string, delimiter);
    const size_t length = NULL == end ? strlen(src_string) : (size_t)(end - src_string);
    if ((0 < length || include_empty) &&
        PMIX_SUCCESS != weft_argv_place(&argv, pmix_argv_count(argv), weft_copy_text(src_string, length))) {
      pmix_argv_free(argv);
      return NULL;
    }
    src_string += length + (NULL == end ? 0 : 1);
  }
  return argv;
}

static inline char** pmix_argv_split(const char* src_string, int delimiter) {
  return pmix_argv_split_inter(src_string, delimiter, false);
}

static inline char** pmix_argv_split_with_empty(const char* src_string, int delimiter) {
  return pmix_argv_split_inter(src_string, delimiter, true);
}

/// A new string, empty for an empty array.
static inline char* pmix_argv_join(char** argv, int delimiter) {
  size_t length = 0;
  for (char** p = argv; NULL != p && NULL != *p; ++p) {
    length += strlen(*p) + 1;
  }
  char* joined = (char*)malloc(length + 1);
  if (NULL != joined) {
    char* at = joined;
    for (char** p = argv; NULL != p && NULL != *p; ++p) {
      const size_t n = strlen(*p);
      memcpy(at, *p, n);
      at += n;
      *at++ = (char)delimiter;
    }
    *(0 == length ? at : at - 1) = '\0';
  }
  return joined;
}

/// NULL for NULL, else a new array, which may be empty.
static inline char** pmix_argv_copy(char** argv) {
  char** copy = NULL == argv ? NULL : (char**)calloc((size_t)pmix_argv_count(argv) + 1, sizeof(char*));
  for (int n = 0; NULL != copy && NULL != argv[n]; ++n) {
    copy[n] = weft_strdup(argv[n]);
    if (NULL == copy[n]) {
      pmix_argv_free(copy);
      return NULL;
    }
  }
  return copy;
}

/* ---- Environments ---- */

#if !defined(__cplusplus) && !defined(__USE_XOPEN2K)
// A strict C11 <stdlib.h> hides these two.
int setenv(const char* name, const char* value, int overwrite);
int unsetenv(const char* name);
#endif

/// Sets NAME=value in `*env`; NULL stands for the empty value. The process's own `environ` goes through
/// setenv(3), where NULL removes the variable. PMIX_ERR_EXISTS: it is there and must not be overwritten.
static inline pmix_status_t pmix_setenv(const char* name, const char* value, bool overwrite, char*** env) {
  extern char** environ;
  if (NULL == env || NULL == name) {
    return PMIX_ERR_BAD_PARAM;
  }
  if (*env == environ && NULL != environ) {
    if (NULL == value) {
      return 0 == unsetenv(name) ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    }
    return 0 == setenv(name, value, overwrite ? 1 : 0) ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
  }

  const size_t name_length = strlen(name);
  const size_t value_length = NULL == value ? 0 : strlen(value);
  char* entry = (char*)malloc(name_length + value_length + 2);
  if (NULL == entry) {
    return PMIX_ERR_OUT_OF_RESOURCE;
  }
  memcpy(entry, name, name_length);
  entry[name_length] = '=';
  if (0 < value_length) {
    memcpy(entry + name_length + 1, value, value_length);
  }
  entry[name_length + 1 + value_length] = '\0';

  for (char** p = *env; NULL != p && NULL != *p; ++p) {
    if (0 == strncmp(*p, entry, name_length + 1)) {
      if (!overwrite) {
        free(entry);
        return PMIX_ERR_EXISTS;
      }
      free(*p);
      *p = entry;
      return PMIX_SUCCESS;
    }
  }
  return weft_argv_place(env, pmix_argv_count(*env), entry);
}

// r, the status, is assigned; a is the array itself, except in APPEND_UNIQUE, which takes its address.
#define PMIX_ARGV_APPEND(r, a, b)        (r) = pmix_argv_append_nosize(&(a), (b))
#define PMIX_ARGV_PREPEND(r, a, b)       (r) = pmix_argv_prepend_nosize(&(a), (b))
#define PMIX_ARGV_APPEND_UNIQUE(r, a, b) (r) = pmix_argv_append_unique_nosize((a), (b))
#define PMIX_ARGV_FREE(a)                pmix_argv_free(a)
#define PMIX_ARGV_SPLIT(a, b, c)         (a) = pmix_argv_split((b), (c))
#define PMIX_ARGV_JOIN(a, b, c)          (a) = pmix_argv_join((b), (c))
#define PMIX_ARGV_COUNT(r, a)            (r) = pmix_argv_count(a)
#define PMIX_ARGV_COPY(a, b)             (a) = pmix_argv_copy(b)
#define PMIX_SETENV(a, b, c, d)          (a) = pmix_setenv((b), (c), true, (d))

/* ---- Names and process identities ---- */

static inline bool weft_same_nspace(const char* a, const char* b) {
  return 0 == pmix_nslen(a) || 0 == pmix_nslen(b) || 0 == strncmp(a, b, PMIX_MAX_NSLEN);
}

#define PMIX_LOAD_KEY(a, b)        weft_load_name((char*)(a), (b), PMIX_MAX_KEYLEN)
#define PMIX_CHECK_KEY(a, b)       (0 == strncmp((a)->key, (b), PMIX_MAX_KEYLEN))
#define PMIX_CHECK_RESERVED_KEY(a) (0 == strncmp((a), "pmix", 4))

#define PMIX_LOAD_NSPACE(a, b) weft_load_name((char*)(a), (b), PMIX_MAX_NSLEN)
// An empty name matches any, and so does the wildcard rank.
#define PMIX_CHECK_NSPACE(a, b) weft_same_nspace((a), (b))
#define PMIX_NSPACE_INVALID(a)  (0 == pmix_nslen(a))
#define PMIX_CHECK_RANK(a, b)   ((a) == (b) || PMIX_RANK_WILDCARD == (a) || PMIX_RANK_WILDCARD == (b))
#define PMIX_RANK_IS_VALID(r)   ((r) < PMIX_RANK_VALID)

#define PMIX_LOAD_PROCID(m, n, r)       \
  do {                                  \
    PMIX_LOAD_NSPACE((m)->nspace, (n)); \
    (m)->rank = (r);                    \
  } while (0)
#define PMIX_XFER_PROCID(a, b) memcpy((a), (b), sizeof(pmix_proc_t))
#define PMIX_PROCID_XFER(a, b) PMIX_XFER_PROCID((a), (b))
#define PMIX_CHECK_PROCID(a, b) \
  (PMIX_CHECK_NSPACE((a)->nspace, (b)->nspace) && PMIX_CHECK_RANK((a)->rank, (b)->rank))
#define PMIX_PROCID_INVALID(a) (PMIX_NSPACE_INVALID((a)->nspace) || PMIX_RANK_INVALID == (a)->rank)

static inline void weft_multicluster_construct(char* target, const char* cluster, const char* nspace) {
  weft_load_name(target, cluster, PMIX_MAX_NSLEN);
  const size_t n = pmix_nslen(target);
  if (n < PMIX_MAX_NSLEN) {
    target[n] = ':';
    pmix_strncpy(target + n + 1, nspace, PMIX_MAX_NSLEN - n - 1);
  }
}

static inline void weft_multicluster_parse(const char* target, char* cluster, char* nspace) {
  const size_t length = pmix_nslen(target);
  size_t n = 0;
  while (n < length && ':' != target[n]) {
    ++n;
  }
  weft_load_name(cluster, target, n);
  pmix_strncpy(nspace, n < length ? target + n + 1 : "", PMIX_MAX_NSLEN);
}

// "cluster:nspace", cut at PMIX_MAX_NSLEN characters.
#define PMIX_MULTICLUSTER_NSPACE_CONSTRUCT(t, c, n) weft_multicluster_construct((t), (c), (n))
#define PMIX_MULTICLUSTER_NSPACE_PARSE(t, c, n)     weft_multicluster_parse((t), (c), (n))

#define PMIX_SYSTEM_EVENT(a) ((a) <= PMIX_EVENT_SYS_BASE && PMIX_EVENT_SYS_OTHER <= (a))

#define PMIX_PROC_CONSTRUCT(m)  memset((m), 0, sizeof(pmix_proc_t))
#define PMIX_PROC_DESTRUCT(m)   (void)(m)
#define PMIX_PROC_CREATE(m, n)  (m) = (pmix_proc_t*)pmix_calloc((n), sizeof(pmix_proc_t))
#define PMIX_PROC_FREE(m, n)    WEFT_FREE_PLAIN(m, n)
#define PMIX_PROC_RELEASE(m)    WEFT_FREE_PLAIN(m, 1)
#define PMIX_PROC_LOAD(m, n, r) PMIX_LOAD_PROCID((m), (n), (r))

/* ---- How objects are made and released ----
 * X_CONSTRUCT(m) empties *m; X_DESTRUCT(m) frees what *m holds; X_CREATE(m, n) sets m to a new array of n
 * empty objects; X_FREE(m, n) releases such an array and sets m to NULL; X_RELEASE(m) is X_FREE(m, 1).
 */
#define WEFT_FREE_PLAIN(m, n) \
  do {                        \
    (void)(n);                \
    pmix_free(m);             \
    (m) = NULL;               \
  } while (0)

// `release` frees the n elements and the array.
#define WEFT_FREE_WITH(release, m, n) \
  do {                                \
    release((m), (n));                \
    (m) = NULL;                       \
  } while (0)

// Defines weft_<name>_array_destruct(array, n), which empties n objects, and weft_<name>_array_free(array,
// n), which then frees the array too; both on top of weft_<name>_destruct(object).
#define WEFT_DEFINE_ARRAY(name, type)                                      \
  static inline void weft_##name##_array_destruct(type* array, size_t n) { \
    for (size_t i = 0; NULL != array && i < n; ++i) {                      \
      weft_##name##_destruct(&array[i]);                                   \
    }                                                                      \
  }                                                                        \
  static inline void weft_##name##_array_free(type* array, size_t n) {     \
    weft_##name##_array_destruct(array, n);                                \
    free(array);                                                           \
  }

/* ---- Byte objects, environment variables, buffers ---- */

static inline void weft_byte_object_destruct(pmix_byte_object_t* bo) {
  free(bo->bytes);
  bo->bytes = NULL;
  bo->size = 0;
}
WEFT_DEFINE_ARRAY(byte_object, pmix_byte_object_t)

#define PMIX_BYTE_OBJECT_CONSTRUCT(m) memset((m), 0, sizeof(pmix_byte_object_t))
#define PMIX_BYTE_OBJECT_DESTRUCT(m)  weft_byte_object_destruct(m)
#define PMIX_BYTE_OBJECT_CREATE(m, n) (m) = (pmix_byte_object_t*)pmix_calloc((n), sizeof(pmix_byte_object_t))
#define PMIX_BYTE_OBJECT_FREE(m, n)   WEFT_FREE_WITH(weft_byte_object_array_free, m, n)
// Ownership moves: d and s, both lvalues, end as NULL and 0.
#define PMIX_BYTE_OBJECT_LOAD(b, d, s) \
  do {                                 \
    (b)->bytes = (char*)(d);           \
    (d) = NULL;                        \
    (b)->size = (s);                   \
    (s) = 0;                           \
  } while (0)

static inline void weft_envar_destruct(pmix_envar_t* e) {
  free(e->envar);
  free(e->value);
  e->envar = NULL;
  e->value = NULL;
}
WEFT_DEFINE_ARRAY(envar, pmix_envar_t)

#define PMIX_ENVAR_CONSTRUCT(m) memset((m), 0, sizeof(pmix_envar_t))
#define PMIX_ENVAR_DESTRUCT(m)  weft_envar_destruct(m)
#define PMIX_ENVAR_CREATE(m, n) (m) = (pmix_envar_t*)pmix_calloc((n), sizeof(pmix_envar_t))
#define PMIX_ENVAR_FREE(m, n)   WEFT_FREE_WITH(weft_envar_array_free, m, n)
#define PMIX_ENVAR_LOAD(m, e, v, s) \
  do {                              \
    (m)->envar = weft_strdup(e);    \
    (m)->value = weft_strdup(v);    \
    (m)->separator = (char)(s);     \
  } while (0)

static inline void weft_data_buffer_destruct(pmix_data_buffer_t* b) {
  free(b->base_ptr);
  memset(b, 0, sizeof(*b));
}
WEFT_DEFINE_ARRAY(data_buffer, pmix_data_buffer_t)

static inline void weft_data_buffer_load(pmix_data_buffer_t* b, char* bytes, size_t size) {
  pmix_byte_object_t payload = {bytes, size};
  PMIx_Data_load(b, &payload);
}

static inline char* weft_data_buffer_unload(pmix_data_buffer_t* b, size_t* size) {
  pmix_byte_object_t payload = {NULL, 0};
  PMIx_Data_unload(b, &payload);
  *size = payload.size;
  return payload.bytes;
}

#define PMIX_DATA_BUFFER_CONSTRUCT(m) memset((m), 0, sizeof(pmix_data_buffer_t))
#define PMIX_DATA_BUFFER_DESTRUCT(m)  weft_data_buffer_destruct(m)
#define PMIX_DATA_BUFFER_CREATE(m)    (m) = (pmix_data_buffer_t*)pmix_calloc(1, sizeof(pmix_data_buffer_t))
#define PMIX_DATA_BUFFER_RELEASE(m)   WEFT_FREE_WITH(weft_data_buffer_array_free, m, 1)
// Ownership of the bytes moves into and out of the buffer.
#define PMIX_DATA_BUFFER_LOAD(b, d, s) weft_data_buffer_load((b), (char*)(d), (s))
#define PMIX_DATA_BUFFER_UNLOAD(b, d, s)             \
  do {                                               \
    size_t weft_size_;                               \
    (d) = weft_data_buffer_unload((b), &weft_size_); \
    (s) = weft_size_;                                \
  } while (0)

/* ---- Places: coordinates, geometry, devices, endpoints, topologies ---- */

static inline void weft_coord_destruct(pmix_coord_t* c) {
  free(c->coord);
  c->view = PMIX_COORD_VIEW_UNDEF;
  c->coord = NULL;
  c->dims = 0;
}
WEFT_DEFINE_ARRAY(coord, pmix_coord_t)

static inline pmix_coord_t* weft_coords_create(size_t n, size_t dims) {
  pmix_coord_t* array = (pmix_coord_t*)calloc(n, sizeof(pmix_coord_t));
  for (size_t i = 0; NULL != array && i < n; ++i) {
    array[i].coord = (uint32_t*)calloc(dims, sizeof(uint32_t));
    array[i].dims = NULL == array[i].coord ? 0 : dims;
  }
  return array;
}

#define PMIX_COORD_CONSTRUCT(m) memset((m), 0, sizeof(pmix_coord_t))
#define PMIX_COORD_DESTRUCT(m)  weft_coord_destruct(m)
// n coordinates of d dimensions each.
#define PMIX_COORD_CREATE(m, n, d) (m) = weft_coords_create((n), (d))
#define PMIX_COORD_FREE(m, n)      WEFT_FREE_WITH(weft_coord_array_free, m, n)

static inline void weft_geometry_destruct(pmix_geometry_t* g) {
  free(g->uuid);
  free(g->osname);
  weft_coord_array_free(g->coordinates, g->ncoords);
  memset(g, 0, sizeof(*g));
}
WEFT_DEFINE_ARRAY(geometry, pmix_geometry_t)

#define PMIX_GEOMETRY_CONSTRUCT(m) memset((m), 0, sizeof(pmix_geometry_t))
#define PMIX_GEOMETRY_DESTRUCT(m)  weft_geometry_destruct(m)
#define PMIX_GEOMETRY_CREATE(m, n) (m) = (pmix_geometry_t*)pmix_calloc((n), sizeof(pmix_geometry_t))
#define PMIX_GEOMETRY_FREE(m, n)   WEFT_FREE_WITH(weft_geometry_array_free, m, n)

// An unknown distance is UINT16_MAX, not 0.
static inline void weft_device_dist_construct(pmix_device_distance_t* d) {
  memset(d, 0, sizeof(*d));
  d->mindist = UINT16_MAX;
  d->maxdist = UINT16_MAX;
}

static inline void weft_device_dist_destruct(pmix_device_distance_t* d) {
  free(d->uuid);
  free(d->osname);
  d->uuid = NULL;
  d->osname = NULL;
}
WEFT_DEFINE_ARRAY(device_dist, pmix_device_distance_t)

static inline pmix_device_distance_t* weft_device_dists_create(size_t n) {
  pmix_device_distance_t* array = (pmix_device_distance_t*)calloc(n, sizeof(pmix_device_distance_t));
  for (size_t i = 0; NULL != array && i < n; ++i) {
    weft_device_dist_construct(&array[i]);
  }
  return array;
}

#define PMIX_DEVICE_DIST_CONSTRUCT(m) weft_device_dist_construct(m)
#define PMIX_DEVICE_DIST_DESTRUCT(m)  weft_device_dist_destruct(m)
#define PMIX_DEVICE_DIST_CREATE(m, n) (m) = weft_device_dists_create(n)
#define PMIX_DEVICE_DIST_FREE(m, n)   WEFT_FREE_WITH(weft_device_dist_array_free, m, n)

static inline void weft_device_destruct(pmix_device_t* d) {
  free(d->uuid);
  free(d->osname);
  memset(d, 0, sizeof(*d));
}
WEFT_DEFINE_ARRAY(device, pmix_device_t)

#define PMIX_DEVICE_CONSTRUCT(m) memset((m), 0, sizeof(pmix_device_t))
#define PMIX_DEVICE_DESTRUCT(m)  weft_device_destruct(m)
#define PMIX_DEVICE_CREATE(m, n) (m) = (pmix_device_t*)pmix_calloc((n), sizeof(pmix_device_t))
#define PMIX_DEVICE_FREE(m, n)   WEFT_FREE_WITH(weft_device_array_free, m, n)

#define PMIX_RESOURCE_UNIT_CONSTRUCT(m) memset((m), 0, sizeof(pmix_resource_unit_t))
#define PMIX_RESOURCE_UNIT_DESTRUCT(m)  (void)(m)
#define PMIX_RESOURCE_UNIT_CREATE(m, n) \
  (m) = (pmix_resource_unit_t*)pmix_calloc((n), sizeof(pmix_resource_unit_t))
#define PMIX_RESOURCE_UNIT_FREE(m, n) WEFT_FREE_PLAIN(m, n)

static inline void weft_endpoint_destruct(pmix_endpoint_t* e) {
  free(e->uuid);
  free(e->osname);
  free(e->endpt.bytes);
  memset(e, 0, sizeof(*e));
}
WEFT_DEFINE_ARRAY(endpoint, pmix_endpoint_t)

#define PMIX_ENDPOINT_CONSTRUCT(m) memset((m), 0, sizeof(pmix_endpoint_t))
#define PMIX_ENDPOINT_DESTRUCT(m)  weft_endpoint_destruct(m)
#define PMIX_ENDPOINT_CREATE(m, n) (m) = (pmix_endpoint_t*)pmix_calloc((n), sizeof(pmix_endpoint_t))
#define PMIX_ENDPOINT_FREE(m, n)   WEFT_FREE_WITH(weft_endpoint_array_free, m, n)

// The contents of these two belong to the library that knows the topology, so only it can release them.
#define weft_topology_destruct PMIx_Topology_destruct
#define weft_cpuset_destruct   PMIx_Cpuset_destruct
WEFT_DEFINE_ARRAY(topology, pmix_topology_t)
WEFT_DEFINE_ARRAY(cpuset, pmix_cpuset_t)

#define PMIX_TOPOLOGY_CONSTRUCT(m) memset((m), 0, sizeof(pmix_topology_t))
#define PMIX_TOPOLOGY_DESTRUCT(m)  PMIx_Topology_destruct(m)
#define PMIX_TOPOLOGY_CREATE(m, n) (m) = (pmix_topology_t*)pmix_calloc((n), sizeof(pmix_topology_t))
#define PMIX_TOPOLOGY_FREE(m, n)   WEFT_FREE_WITH(weft_topology_array_free, m, n)

#define PMIX_CPUSET_CONSTRUCT(m) memset((m), 0, sizeof(pmix_cpuset_t))
#define PMIX_CPUSET_DESTRUCT(m)  PMIx_Cpuset_destruct(m)
#define PMIX_CPUSET_CREATE(m, n) (m) = (pmix_cpuset_t*)pmix_calloc((n), sizeof(pmix_cpuset_t))
#define PMIX_CPUSET_FREE(m, n)   WEFT_FREE_WITH(weft_cpuset_array_free, m, n)

#define PMIX_FABRIC_CONSTRUCT(m) memset((m), 0, sizeof(pmix_fabric_t))

/* ---- Processes and resource usage ----
 * The pmix_*_free(array, n) inlines empty n objects but leave the array to the caller.
 */

static inline void weft_proc_info_destruct(pmix_proc_info_t* p) {
  free(p->hostname);
  free(p->executable_name);
  memset(p, 0, sizeof(*p));
}
WEFT_DEFINE_ARRAY(proc_info, pmix_proc_info_t)

#define PMIX_PROC_INFO_CONSTRUCT(m) memset((m), 0, sizeof(pmix_proc_info_t))
#define PMIX_PROC_INFO_DESTRUCT(m)  weft_proc_info_destruct(m)
#define PMIX_PROC_INFO_CREATE(m, n) (m) = (pmix_proc_info_t*)pmix_calloc((n), sizeof(pmix_proc_info_t))
#define PMIX_PROC_INFO_FREE(m, n)   WEFT_FREE_WITH(weft_proc_info_array_free, m, n)
#define PMIX_PROC_INFO_RELEASE(m)   WEFT_FREE_WITH(weft_proc_info_array_free, m, 1)

static inline void weft_proc_stat_destruct(pmix_proc_stats_t* s) {
  free(s->node);
  free(s->cmd);
  memset(s, 0, sizeof(*s));
}
WEFT_DEFINE_ARRAY(proc_stat, pmix_proc_stats_t)
static inline void pmix_proc_stats_free(pmix_proc_stats_t* ps, size_t n) {
  weft_proc_stat_array_destruct(ps, n);
}

#define PMIX_PROC_STATS_CONSTRUCT(m) memset((m), 0, sizeof(pmix_proc_stats_t))
#define PMIX_PROC_STATS_DESTRUCT(m)  weft_proc_stat_destruct(m)
#define PMIX_PROC_STATS_CREATE(m, n) (m) = (pmix_proc_stats_t*)pmix_calloc((n), sizeof(pmix_proc_stats_t))
#define PMIX_PROC_STATS_FREE(m, n)   WEFT_FREE_WITH(weft_proc_stat_array_free, m, n)
#define PMIX_PROC_STATS_RELEASE(m)   WEFT_FREE_WITH(weft_proc_stat_array_free, m, 1)

static inline void weft_disk_stat_destruct(pmix_disk_stats_t* s) {
  free(s->disk);
  memset(s, 0, sizeof(*s));
}
WEFT_DEFINE_ARRAY(disk_stat, pmix_disk_stats_t)
static inline void pmix_disk_stats_free(pmix_disk_stats_t* d, size_t n) {
  weft_disk_stat_array_destruct(d, n);
}

#define PMIX_DISK_STATS_CONSTRUCT(m) memset((m), 0, sizeof(pmix_disk_stats_t))
#define PMIX_DISK_STATS_DESTRUCT(m)  weft_disk_stat_destruct(m)
#define PMIX_DISK_STATS_CREATE(m, n) (m) = (pmix_disk_stats_t*)pmix_calloc((n), sizeof(pmix_disk_stats_t))
#define PMIX_DISK_STATS_FREE(m, n)   WEFT_FREE_WITH(weft_disk_stat_array_free, m, n)
#define PMIX_DISK_STATS_RELEASE(m)   WEFT_FREE_WITH(weft_disk_stat_array_free, m, 1)

static inline void weft_net_stat_destruct(pmix_net_stats_t* s) {
  free(s->net_interface);
  memset(s, 0, sizeof(*s));
}
WEFT_DEFINE_ARRAY(net_stat, pmix_net_stats_t)
static inline void pmix_net_stats_free(pmix_net_stats_t* nst, size_t n) {
  weft_net_stat_array_destruct(nst, n);
}

#define PMIX_NET_STATS_CONSTRUCT(m) memset((m), 0, sizeof(pmix_net_stats_t))
#define PMIX_NET_STATS_DESTRUCT(m)  weft_net_stat_destruct(m)
#define PMIX_NET_STATS_CREATE(m, n) (m) = (pmix_net_stats_t*)pmix_calloc((n), sizeof(pmix_net_stats_t))
#define PMIX_NET_STATS_FREE(m, n)   WEFT_FREE_WITH(weft_net_stat_array_free, m, n)
#define PMIX_NET_STATS_RELEASE(m)   WEFT_FREE_WITH(weft_net_stat_array_free, m, 1)

static inline void weft_node_stat_destruct(pmix_node_stats_t* s) {
  free(s->node);
  weft_disk_stat_array_free(s->diskstats, s->ndiskstats);
  weft_net_stat_array_free(s->netstats, s->nnetstats);
  memset(s, 0, sizeof(*s));
}
WEFT_DEFINE_ARRAY(node_stat, pmix_node_stats_t)
static inline void pmix_node_stats_free(pmix_node_stats_t* nd, size_t n) {
  weft_node_stat_array_destruct(nd, n);
}

#define PMIX_NODE_STATS_CONSTRUCT(m) memset((m), 0, sizeof(pmix_node_stats_t))
#define PMIX_NODE_STATS_DESTRUCT(m)  weft_node_stat_destruct(m)
#define PMIX_NODE_STATS_CREATE(m, n) (m) = (pmix_node_stats_t*)pmix_calloc((n), sizeof(pmix_node_stats_t))
#define PMIX_NODE_STATS_FREE(m, n)   WEFT_FREE_WITH(weft_node_stat_array_free, m, n)
#define PMIX_NODE_STATS_RELEASE(m)   WEFT_FREE_WITH(weft_node_stat_array_free, m, 1)

/* ---- Values ---- */

#define weft_value_destruct PMIx_Value_destruct
WEFT_DEFINE_ARRAY(value, pmix_value_t)

#define PMIX_VALUE_CONSTRUCT(m) memset((m), 0, sizeof(pmix_value_t))
#define PMIX_VALUE_DESTRUCT(m)  PMIx_Value_destruct(m)
#define PMIX_VALUE_CREATE(m, n) (m) = (pmix_value_t*)pmix_calloc((n), sizeof(pmix_value_t))
#define PMIX_VALUE_FREE(m, n)   WEFT_FREE_WITH(weft_value_array_free, m, n)
#define PMIX_VALUE_RELEASE(m)   WEFT_FREE_WITH(weft_value_array_free, m, 1)

#define PMIX_VALUE_LOAD(v, d, t)        PMIx_Value_load((v), (d), (t))
#define PMIX_VALUE_UNLOAD(r, k, d, s)   (r) = PMIx_Value_unload((k), (void**)(d), (s))
#define PMIX_VALUE_XFER_DIRECT(r, v, s) (r) = PMIx_Value_xfer((v), (s))
// Makes v first if it is NULL.
#define PMIX_VALUE_XFER(r, v, s)                                                   \
  do {                                                                             \
    if (NULL == (v)) {                                                             \
      (v) = (pmix_value_t*)pmix_calloc(1, sizeof(pmix_value_t));                   \
    }                                                                              \
    (r) = NULL == (v) ? (pmix_status_t)PMIX_ERR_NOMEM : PMIx_Value_xfer((v), (s)); \
  } while (0)

/// How a value reads as a truth: an undefined value, an empty string, a number other than 0 and the words
/// "true" and "yes" are true; 0, "false" and "no" are false; anything else is no boolean at all.
static inline pmix_boolean_t pmix_check_true(const pmix_value_t* value) {
  if (PMIX_UNDEF == value->type) {
    return PMIX_BOOL_TRUE;
  }
  if (PMIX_BOOL == value->type) {
    return value->data.flag ? PMIX_BOOL_TRUE : PMIX_BOOL_FALSE;
  }
  if (PMIX_STRING != value->type) {
    return PMIX_NON_BOOL;
  }
  const char* text = NULL == value->data.string ? "" : value->data.string;
  while (isspace((unsigned char)*text)) {
    ++text;
  }
  if ('\0' == *text) {
    return PMIX_BOOL_TRUE;
  }
  if (isdigit((unsigned char)*text)) {
    return 0 == atoi(text) ? PMIX_BOOL_FALSE : PMIX_BOOL_TRUE;
  }
  if (weft_same_text_ignoring_case(text, "true") || weft_same_text_ignoring_case(text, "yes")) {
    return PMIX_BOOL_TRUE;
  }
  if (weft_same_text_ignoring_case(text, "false") || weft_same_text_ignoring_case(text, "no")) {
    return PMIX_BOOL_FALSE;
  }
  return PMIX_NON_BOOL;
}

#define PMIX_CHECK_BOOL(v) (PMIX_NON_BOOL != pmix_check_true(v))
#define PMIX_CHECK_TRUE(v) (PMIX_BOOL_TRUE == pmix_check_true(v))

// A number out of a value, wide enough for each of the types that PMIX_VALUE_GET_NUMBER knows.
enum weft_number_kind { WEFT_SIGNED, WEFT_UNSIGNED, WEFT_REAL };
typedef struct {
  enum weft_number_kind kind;
  int64_t i;
  uint64_t u;
  double d;
} weft_number_t;

static inline pmix_status_t weft_value_number(const pmix_value_t* v, weft_number_t* number) {
  weft_number_t n = {WEFT_SIGNED, 0, 0, 0};
  switch (v->type) {
    case PMIX_INT:
      n.i = v->data.integer;
      break;
    case PMIX_INT8:
      n.i = v->data.int8;
      break;
    case PMIX_INT16:
      n.i = v->data.int16;
      break;
    case PMIX_INT32:
      n.i = v->data.int32;
      break;
    case PMIX_INT64:
      n.i = v->data.int64;
      break;
    case PMIX_PID:
      n.i = v->data.pid;
      break;
    case PMIX_SIZE:
      n.kind = WEFT_UNSIGNED;
      n.u = v->data.size;
      break;
    case PMIX_UINT:
      n.kind = WEFT_UNSIGNED;
      n.u = v->data.uint;
      break;
    case PMIX_UINT8:
      n.kind = WEFT_UNSIGNED;
      n.u = v->data.uint8;
      break;
    case PMIX_UINT16:
      n.kind = WEFT_UNSIGNED;
      n.u = v->data.uint16;
      break;
    case PMIX_UINT32:
      n.kind = WEFT_UNSIGNED;
      n.u = v->data.uint32;
      break;
    case PMIX_UINT64:
      n.kind = WEFT_UNSIGNED;
      n.u = v->data.uint64;
      break;
    case PMIX_PROC_RANK:
      n.kind = WEFT_UNSIGNED;
      n.u = v->data.rank;
      break;
    case PMIX_FLOAT:
      n.kind = WEFT_REAL;
      n.d = (double)v->data.fval;
      break;
    case PMIX_DOUBLE:
      n.kind = WEFT_REAL;
      n.d = v->data.dval;
      break;
    default:
      return PMIX_ERR_BAD_PARAM;
  }
  *number = n;
  return PMIX_SUCCESS;
}

// n = the value as a number of type t; left alone, with s = PMIX_ERR_BAD_PARAM, if the value is no number.
#define PMIX_VALUE_GET_NUMBER(s, m, n, t)                             \
  do {                                                                \
    weft_number_t weft_number_;                                       \
    (s) = weft_value_number((m), &weft_number_);                      \
    if (PMIX_SUCCESS == (s)) {                                        \
      (n) = WEFT_REAL == weft_number_.kind       ? (t)weft_number_.d  \
            : WEFT_UNSIGNED == weft_number_.kind ? (t)weft_number_.u  \
                                                 : (t)weft_number_.i; \
    }                                                                 \
  } while (0)

/* ---- Infos ---- */

#define PMIX_INFO_REQUIRED(m)      ((m)->flags |= PMIX_INFO_REQD)
#define PMIX_INFO_OPTIONAL(m)      ((m)->flags &= ~PMIX_INFO_REQD)
#define PMIX_INFO_IS_REQUIRED(m)   (0 != ((m)->flags & PMIX_INFO_REQD))
#define PMIX_INFO_IS_OPTIONAL(m)   (0 == ((m)->flags & PMIX_INFO_REQD))
#define PMIX_INFO_PROCESSED(m)     ((m)->flags |= PMIX_INFO_REQD_PROCESSED)
#define PMIX_INFO_WAS_PROCESSED(m) (0 != ((m)->flags & PMIX_INFO_REQD_PROCESSED))
#define PMIX_INFO_SET_END(m)       ((m)->flags |= PMIX_INFO_ARRAY_END)
#define PMIX_INFO_IS_END(m)        (0 != ((m)->flags & PMIX_INFO_ARRAY_END))
#define PMIX_INFO_SET_QUALIFIER(i) ((i)->flags |= PMIX_INFO_QUALIFIER)
#define PMIX_INFO_IS_QUALIFIER(i)  (0 != ((i)->flags & PMIX_INFO_QUALIFIER))
// A persistent info lends its value: destructing the info leaves the value alone.
#define PMIX_INFO_SET_PERSISTENT(ii) ((ii)->flags |= PMIX_INFO_PERSISTENT)
#define PMIX_INFO_IS_PERSISTENT(ii)  (0 != ((ii)->flags & PMIX_INFO_PERSISTENT))
#define PMIX_INFO_TRUE(m)            PMIX_CHECK_TRUE(&(m)->value)

static inline void weft_info_destruct(pmix_info_t* info) {
  if (!PMIX_INFO_IS_PERSISTENT(info)) {
    PMIx_Value_destruct(&info->value);
  }
}
WEFT_DEFINE_ARRAY(info, pmix_info_t)

// The last element carries the end mark.
static inline pmix_info_t* weft_infos_create(size_t n) {
  pmix_info_t* array = (pmix_info_t*)calloc(n, sizeof(pmix_info_t));
  if (NULL != array && 0 < n) {
    PMIX_INFO_SET_END(&array[n - 1]);
  }
  return array;
}

#define PMIX_INFO_CONSTRUCT(m)     memset((m), 0, sizeof(pmix_info_t))
#define PMIX_INFO_DESTRUCT(m)      weft_info_destruct(m)
#define PMIX_INFO_CREATE(m, n)     (m) = weft_infos_create(n)
#define PMIX_INFO_FREE(m, n)       WEFT_FREE_WITH(weft_info_array_free, m, n)
#define PMIX_INFO_LOAD(i, k, d, t) PMIx_Info_load((i), (k), (d), (t))
#define PMIX_INFO_XFER(d, s)       PMIx_Info_xfer((d), (s))

#define PMIX_INFO_LIST_START(p)           (p) = PMIx_Info_list_start()
#define PMIX_INFO_LIST_ADD(r, p, a, v, t) (r) = PMIx_Info_list_add((p), (a), (v), (t))
#define PMIX_INFO_LIST_INSERT(r, p, i)    (r) = PMIx_Info_list_insert((p), (i))
#define PMIX_INFO_LIST_XFER(r, p, a)      (r) = PMIx_Info_list_xfer((p), (a))
#define PMIX_INFO_LIST_CONVERT(r, p, m)   (r) = PMIx_Info_list_convert((p), (m))
#define PMIX_INFO_LIST_RELEASE(p)         PMIx_Info_list_release(p)

/* ---- Published data, applications, queries, attribute descriptions ---- */

static inline void weft_pdata_destruct(pmix_pdata_t* p) { PMIx_Value_destruct(&p->value); }
WEFT_DEFINE_ARRAY(pdata, pmix_pdata_t)
static inline void pmix_pdata_free(pmix_pdata_t* pd, size_t n) { weft_pdata_array_destruct(pd, n); }

static inline void weft_pdata_load(pmix_pdata_t* m, const pmix_proc_t* p, const char* key, const void* value,
                                   pmix_data_type_t type) {
  memset(m, 0, sizeof(*m));
  memcpy(&m->proc, p, sizeof(m->proc));
  weft_load_name(m->key, key, PMIX_MAX_KEYLEN);
  PMIx_Value_load(&m->value, value, type);
}

static inline void weft_pdata_xfer(pmix_pdata_t* d, const pmix_pdata_t* s) {
  memset(d, 0, sizeof(*d));
  memcpy(&d->proc, &s->proc, sizeof(d->proc));
  weft_load_name(d->key, s->key, PMIX_MAX_KEYLEN);
  PMIx_Value_xfer(&d->value, &s->value);
}

#define PMIX_PDATA_CONSTRUCT(m)        memset((m), 0, sizeof(pmix_pdata_t))
#define PMIX_PDATA_DESTRUCT(m)         weft_pdata_destruct(m)
#define PMIX_PDATA_CREATE(m, n)        (m) = (pmix_pdata_t*)pmix_calloc((n), sizeof(pmix_pdata_t))
#define PMIX_PDATA_FREE(m, n)          WEFT_FREE_WITH(weft_pdata_array_free, m, n)
#define PMIX_PDATA_RELEASE(m)          WEFT_FREE_WITH(weft_pdata_array_free, m, 1)
#define PMIX_PDATA_LOAD(m, p, k, v, t) weft_pdata_load((m), (p), (k), (v), (t))
#define PMIX_PDATA_XFER(d, s)          weft_pdata_xfer((d), (s))

static inline void weft_app_destruct(pmix_app_t* app) {
  free(app->cmd);
  pmix_argv_free(app->argv);
  pmix_argv_free(app->env);
  free(app->cwd);
  weft_info_array_free(app->info, app->ninfo);
  memset(app, 0, sizeof(*app));
}
WEFT_DEFINE_ARRAY(app, pmix_app_t)
static inline void pmix_app_free(pmix_app_t* ap, size_t n) { weft_app_array_destruct(ap, n); }

#define PMIX_APP_CONSTRUCT(m) memset((m), 0, sizeof(pmix_app_t))
#define PMIX_APP_DESTRUCT(m)  weft_app_destruct(m)
#define PMIX_APP_CREATE(m, n) (m) = (pmix_app_t*)pmix_calloc((n), sizeof(pmix_app_t))
#define PMIX_APP_INFO_CREATE(m, n)           \
  do {                                       \
    (m)->ninfo = (n);                        \
    PMIX_INFO_CREATE((m)->info, (m)->ninfo); \
  } while (0)
#define PMIX_APP_FREE(m, n) WEFT_FREE_WITH(weft_app_array_free, m, n)
#define PMIX_APP_RELEASE(m) WEFT_FREE_WITH(weft_app_array_free, m, 1)

static inline void weft_query_destruct(pmix_query_t* q) {
  pmix_argv_free(q->keys);
  weft_info_array_free(q->qualifiers, q->nqual);
  memset(q, 0, sizeof(*q));
}
WEFT_DEFINE_ARRAY(query, pmix_query_t)

#define PMIX_QUERY_CONSTRUCT(m) memset((m), 0, sizeof(pmix_query_t))
#define PMIX_QUERY_DESTRUCT(m)  weft_query_destruct(m)
#define PMIX_QUERY_CREATE(m, n) (m) = (pmix_query_t*)pmix_calloc((n), sizeof(pmix_query_t))
#define PMIX_QUERY_QUALIFIERS_CREATE(m, n)         \
  do {                                             \
    (m)->nqual = (n);                              \
    PMIX_INFO_CREATE((m)->qualifiers, (m)->nqual); \
  } while (0)
#define PMIX_QUERY_FREE(m, n) WEFT_FREE_WITH(weft_query_array_free, m, n)
#define PMIX_QUERY_RELEASE(m) WEFT_FREE_WITH(weft_query_array_free, m, 1)

static inline void weft_regattr_destruct(pmix_regattr_t* a) {
  free(a->name);
  pmix_argv_free(a->description);
  memset(a, 0, sizeof(*a));
}
WEFT_DEFINE_ARRAY(regattr, pmix_regattr_t)

static inline void weft_regattr_load(pmix_regattr_t* a, const char* name, const char* key,
                                     pmix_data_type_t type, const char* description) {
  a->name = weft_strdup(name);
  weft_load_name(a->string, key, PMIX_MAX_KEYLEN);
  a->type = type;
  if (NULL != description) {
    pmix_argv_append_nosize(&a->description, description);
  }
}

static inline void weft_regattr_xfer(pmix_regattr_t* dest, const pmix_regattr_t* src) {
  memset(dest, 0, sizeof(*dest));
  weft_regattr_load(dest, src->name, src->string, src->type, NULL);
  dest->description = pmix_argv_copy(src->description);
}

#define PMIX_REGATTR_CONSTRUCT(a) memset((a), 0, sizeof(pmix_regattr_t))
#define PMIX_REGATTR_DESTRUCT(a)  weft_regattr_destruct(a)
#define PMIX_REGATTR_CREATE(m, n) (m) = (pmix_regattr_t*)pmix_calloc((n), sizeof(pmix_regattr_t))
#define PMIX_REGATTR_FREE(m, n)   WEFT_FREE_WITH(weft_regattr_array_free, m, n)
// Loads into a constructed object; the description is one line, appended to what is there.
#define PMIX_REGATTR_LOAD(a, n, k, t, v) weft_regattr_load((a), (n), (k), (t), (v))
#define PMIX_REGATTR_XFER(a, b)          weft_regattr_xfer((a), (b))

/* ---- Data arrays ---- */

/// Bytes of one element of a data array of that type; 0 for types that no array can hold.
static inline size_t weft_element_size(pmix_data_type_t type) {
  switch (type) {
    case PMIX_BOOL:
      return sizeof(bool);
    case PMIX_BYTE:
    case PMIX_INT8:
    case PMIX_UINT8:
      return 1;
    case PMIX_INT16:
    case PMIX_UINT16:
      return 2;
    case PMIX_INT32:
    case PMIX_UINT32:
      return 4;
    case PMIX_INT64:
    case PMIX_UINT64:
      return 8;
    case PMIX_STRING:
      return sizeof(char*);
    case PMIX_SIZE:
      return sizeof(size_t);
    case PMIX_PID:
      return sizeof(pid_t);
    case PMIX_INT:
    case PMIX_UINT:
      return sizeof(int);
    case PMIX_FLOAT:
      return sizeof(float);
    case PMIX_DOUBLE:
      return sizeof(double);
    case PMIX_TIMEVAL:
      return sizeof(struct timeval);
    case PMIX_TIME:
      return sizeof(time_t);
    case PMIX_STATUS:
      return sizeof(pmix_status_t);
    case PMIX_VALUE:
      return sizeof(pmix_value_t);
    case PMIX_PROC:
      return sizeof(pmix_proc_t);
    case PMIX_APP:
      return sizeof(pmix_app_t);
    case PMIX_INFO:
      return sizeof(pmix_info_t);
    case PMIX_PDATA:
      return sizeof(pmix_pdata_t);
    case PMIX_BYTE_OBJECT:
    case PMIX_COMPRESSED_STRING:
    case PMIX_COMPRESSED_BYTE_OBJECT:
    case PMIX_REGEX:
      return sizeof(pmix_byte_object_t);
    case PMIX_PERSIST:
      return sizeof(pmix_persistence_t);
    case PMIX_POINTER:
      return sizeof(void*);
    case PMIX_SCOPE:
      return sizeof(pmix_scope_t);
    case PMIX_DATA_RANGE:
      return sizeof(pmix_data_range_t);
    case PMIX_INFO_DIRECTIVES:
      return sizeof(pmix_info_directives_t);
    case PMIX_DATA_TYPE:
      return sizeof(pmix_data_type_t);
    case PMIX_PROC_STATE:
      return sizeof(pmix_proc_state_t);
    case PMIX_JOB_STATE:
      return sizeof(pmix_job_state_t);
    case PMIX_PROC_INFO:
      return sizeof(pmix_proc_info_t);
    case PMIX_DATA_ARRAY:
      return sizeof(pmix_data_array_t);
    case PMIX_PROC_RANK:
      return sizeof(pmix_rank_t);
    case PMIX_PROC_NSPACE:
      return sizeof(pmix_nspace_t);
    case PMIX_QUERY:
      return sizeof(pmix_query_t);
    case PMIX_ALLOC_DIRECTIVE:
      return sizeof(pmix_alloc_directive_t);
    case PMIX_IOF_CHANNEL:
      return sizeof(pmix_iof_channel_t);
    case PMIX_ENVAR:
      return sizeof(pmix_envar_t);
    case PMIX_COORD:
      return sizeof(pmix_coord_t);
    case PMIX_REGATTR:
      return sizeof(pmix_regattr_t);
    case PMIX_LINK_STATE:
      return sizeof(pmix_link_state_t);
    case PMIX_PROC_CPUSET:
      return sizeof(pmix_cpuset_t);
    case PMIX_GEOMETRY:
      return sizeof(pmix_geometry_t);
    case PMIX_DEVICE_DIST:
      return sizeof(pmix_device_distance_t);
    case PMIX_ENDPOINT:
      return sizeof(pmix_endpoint_t);
    case PMIX_TOPO:
      return sizeof(pmix_topology_t);
    case PMIX_DEVTYPE:
      return sizeof(pmix_device_type_t);
    case PMIX_LOCTYPE:
      return sizeof(pmix_locality_t);
    case PMIX_PROC_STATS:
      return sizeof(pmix_proc_stats_t);
    case PMIX_DISK_STATS:
      return sizeof(pmix_disk_stats_t);
    case PMIX_NET_STATS:
      return sizeof(pmix_net_stats_t);
    case PMIX_NODE_STATS:
      return sizeof(pmix_node_stats_t);
    case PMIX_DATA_BUFFER:
      return sizeof(pmix_data_buffer_t);
    case PMIX_STOR_MEDIUM:
      return sizeof(pmix_storage_medium_t);
    case PMIX_STOR_ACCESS:
      return sizeof(pmix_storage_accessibility_t);
    case PMIX_STOR_PERSIST:
      return sizeof(pmix_storage_persistence_t);
    case PMIX_STOR_ACCESS_TYPE:
      return sizeof(pmix_storage_access_type_t);
    case PMIX_DEVICE:
      return sizeof(pmix_device_t);
    case PMIX_RESBLOCK_DIRECTIVE:
      return sizeof(pmix_resource_block_directive_t);
    case PMIX_RESOURCE_UNIT:
      return sizeof(pmix_resource_unit_t);
    case PMIX_NODE_PID:
      return sizeof(pmix_node_pid_t);
    case PMIX_REGEX2:
      return sizeof(pmix_regex2_t);
    case PMIX_ALLOC_INHERIT:
      return sizeof(pmix_alloc_inheritance_t);
    default:
      return 0;
  }
}

static inline void weft_data_array_construct(pmix_data_array_t* a, size_t n, pmix_data_type_t type) {
  const size_t element = weft_element_size(type);
  a->type = type;
  a->size = 0 == element ? 0 : n;
  if (PMIX_INFO == type && 0 < n) {
    a->array = weft_infos_create(n);
  } else if (PMIX_DEVICE_DIST == type && 0 < n) {
    a->array = weft_device_dists_create(n);
  } else {
    a->array = 0 == element || 0 == n ? NULL : calloc(n, element);
  }
}

static inline pmix_data_array_t* weft_data_array_create(size_t n, pmix_data_type_t type) {
  pmix_data_array_t* a = (pmix_data_array_t*)calloc(1, sizeof(pmix_data_array_t));
  if (NULL != a) {
    weft_data_array_construct(a, n, type);
  }
  return a;
}

static inline void weft_data_array_free(pmix_data_array_t* a) {
  if (NULL != a) {
    PMIx_Data_array_destruct(a);
    free(a);
  }
}

#define PMIX_DATA_ARRAY_INIT(m, t) \
  do {                             \
    (m)->type = (t);               \
    (m)->size = 0;                 \
    (m)->array = NULL;             \
  } while (0)
#define PMIX_DATA_ARRAY_CONSTRUCT(m, n, t) weft_data_array_construct((m), (n), (t))
#define PMIX_DATA_ARRAY_DESTRUCT(m)        PMIx_Data_array_destruct(m)
#define PMIX_DATA_ARRAY_CREATE(m, n, t)    (m) = weft_data_array_create((n), (t))
#define PMIX_DATA_ARRAY_FREE(m) \
  do {                          \
    weft_data_array_free(m);    \
    (m) = NULL;                 \
  } while (0)

#if defined(__cplusplus)
}
#endif

#endif
