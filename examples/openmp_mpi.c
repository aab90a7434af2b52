// SPDX-License-Identifier: BSD-3-Clause
// Two programming models in one process that see each other (RFC 0017): Open MPI's library declares itself in
// MPI_Init; this program does for OpenMP what a runtime of OpenMP would do, whose parallel regions then are
// events that the MPI side hears of. Fails unless both sides have seen each other. With a number as argument
// it insists on that many ranks.
//
//   mpicc -O2 -fopenmp -Iinclude openmp_mpi.c -Lbuild/release/lib -lpmix -o openmp_mpi
//   weftrun -n 2 ./openmp_mpi 2
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#include <omp.h>
#include <pmix.h>

enum { text_length = 64, threads = 4 };

// The record of what one side has heard of the other. Handlers run in a thread of the library.
struct side {
  const char* name;
  char model[text_length], library[text_length];
  unsigned long entered, exited, threads;
};
static struct side openmp = {.name = "OpenMP"}, mpi = {.name = "MPI"};

static void fail(const char* what, int status) {
  fprintf(stderr, "openmp_mpi: %s: %s\n", what, PMIx_Error_string(status));
  exit(1);
}

static void copy_text(char* out, const pmix_value_t* value) {
  if (value->type == PMIX_STRING) snprintf(out, text_length, "%s", value->data.string);
}

// The side comes back as what it registered with, PMIX_EVENT_RETURN_OBJECT.
static void on_model(size_t handler, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[],
                     size_t ninfo, pmix_info_t* results, size_t nresults,
                     pmix_event_notification_cbfunc_fn_t done, void* token) {
  (void)handler, (void)source, (void)results, (void)nresults;
  struct side* side = NULL;
  char model[text_length] = "", library[text_length] = "";
  unsigned long count = 0;
  for (size_t i = 0; i < ninfo; ++i) {
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_RETURN_OBJECT)) side = infos[i].value.data.ptr;
    if (PMIX_CHECK_KEY(&infos[i], PMIX_PROGRAMMING_MODEL)) copy_text(model, &infos[i].value);
    if (PMIX_CHECK_KEY(&infos[i], PMIX_MODEL_LIBRARY_NAME)) copy_text(library, &infos[i].value);
    if (PMIX_CHECK_KEY(&infos[i], PMIX_MODEL_NUM_THREADS)) count = infos[i].value.data.uint64;
  }
#pragma omp critical(heard)
  if (side != NULL && code == PMIX_MODEL_DECLARED &&
      strcmp(model, side->name) != 0) {  // not the own declaration
    strcpy(side->model, model);
    strcpy(side->library, library);
  } else if (side != NULL && code == PMIX_OPENMP_PARALLEL_ENTERED) {
    ++side->entered;
    side->threads = count;
  } else if (side != NULL && code == PMIX_OPENMP_PARALLEL_EXITED) {
    ++side->exited;
  }
  done(PMIX_SUCCESS, NULL, 0, NULL, NULL, token);
}

static void listen_as(struct side* side, pmix_status_t* codes, size_t count) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_EVENT_RETURN_OBJECT, side, PMIX_POINTER);
  const pmix_status_t reference = PMIx_Register_event_handler(codes, count, &info, 1, on_model, NULL, NULL);
  if (reference < 0) fail("PMIx_Register_event_handler", reference);
}

// Does what a runtime of OpenMP would do: says what it is, and listens for other models.
static pmix_proc_t start_openmp(void) {
  pmix_proc_t me;
  pmix_info_t infos[4];
  char version[text_length];
  snprintf(version, sizeof version, "%d", _OPENMP);
  PMIX_INFO_LOAD(&infos[0], PMIX_PROGRAMMING_MODEL, "OpenMP", PMIX_STRING);
  PMIX_INFO_LOAD(&infos[1], PMIX_MODEL_LIBRARY_NAME, "libgomp", PMIX_STRING);
  PMIX_INFO_LOAD(&infos[2], PMIX_MODEL_LIBRARY_VERSION, version, PMIX_STRING);
  PMIX_INFO_LOAD(&infos[3], PMIX_THREADING_MODEL, "pthread", PMIX_STRING);
  const pmix_status_t status = PMIx_Init(&me, infos, 4);
  if (status != PMIX_SUCCESS) fail("PMIx_Init", status);
  for (int i = 0; i < 4; ++i) PMIX_INFO_DESTRUCT(&infos[i]);
  pmix_status_t declared = PMIX_MODEL_DECLARED;
  listen_as(&openmp, &declared, 1);
  return me;
}

// Within this process: PMIX_RANGE_LOCAL would tell its node, PMIX_RANGE_NAMESPACE the job.
static void tell(const pmix_proc_t* me, pmix_status_t code) {
  pmix_info_t infos[3];
  const unsigned long count = threads;
  const bool yes = true;
  PMIX_INFO_LOAD(&infos[0], PMIX_MODEL_NUM_THREADS, &count, PMIX_UINT64);
  PMIX_INFO_LOAD(&infos[1], PMIX_MODEL_PHASE_NAME, "sum", PMIX_STRING);
  PMIX_INFO_LOAD(&infos[2], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
  PMIx_Notify_event(code, me, PMIX_RANGE_PROC_LOCAL, infos, 3, NULL, NULL);
  for (int i = 0; i < 3; ++i) PMIX_INFO_DESTRUCT(&infos[i]);
}

// Waits until both sides have heard all there is; 10 s say that something is lost.
static int have_met(void) {
  for (int i = 0; i < 1000; ++i) {
    int met = 0;
#pragma omp critical(heard)
    met = openmp.model[0] != '\0' && mpi.model[0] != '\0' && mpi.entered == 1 && mpi.exited == 1;
    if (met) return 1;
    const double start = omp_get_wtime();
    while (omp_get_wtime() - start < 0.01) {
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  const pmix_proc_t me = start_openmp();
  int rank, size, level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && size != atoi(argv[1])) {
    fprintf(stderr, "openmp_mpi: %d ranks, should be %s\n", size, argv[1]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  // The handler comes after OpenMP's declaration, and hears it nevertheless.
  pmix_status_t codes[] = {PMIX_MODEL_DECLARED, PMIX_OPENMP_PARALLEL_ENTERED, PMIX_OPENMP_PARALLEL_EXITED};
  listen_as(&mpi, codes, 3);

  long sum = 0, total = 0;
  tell(&me, PMIX_OPENMP_PARALLEL_ENTERED);
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
  for (int i = 0; i < 1000; ++i) sum += i;
  tell(&me, PMIX_OPENMP_PARALLEL_EXITED);
  MPI_Reduce(&sum, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);

  const int met = have_met();
  printf("rank %d: OpenMP sees %s (%s); MPI sees %s (%s), %lu parallel region of %lu threads\n", rank,
         openmp.model, openmp.library, mpi.model, mpi.library, mpi.entered, mpi.threads);
  fflush(stdout);
  if (!met) {
    fprintf(stderr, "openmp_mpi: the two sides do not see each other\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && total == size * 499500L) printf("ok openmp %d\n", size);
  MPI_Finalize();
  PMIx_Finalize(NULL, 0);
  return 0;
}
