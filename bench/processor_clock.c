/* Replaces the monotonic clock by the CPU time of this process and of its waited-for children.
 *
 *   cc -O2 -shared -fPIC -o processor_clock.so processor_clock.c -ldl
 *   LD_PRELOAD=./processor_clock.so build-release/bench/paper/paper --threads 1 ...
 *
 * A single-threaded program then does not notice other load: its time limits, its seconds and the
 * prices that it measures are about those of an idle machine (caches are still shared). The library
 * also hides the system's record of how long threads waited for a core, because by this clock they
 * did not wait. Do not use it for programs of several threads, whose CPU times add up, or for
 * programs that sleep until a point in time, which they never reach by this clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

/* CPU nanoseconds of the waited-for children. */
static _Atomic long long children;

static long long nanoseconds(struct timeval t) {
  return t.tv_sec * 1000000000LL + t.tv_usec * 1000LL;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  if (clock != CLOCK_MONOTONIC) return real(clock, now);
  int failed = real(CLOCK_PROCESS_CPUTIME_ID, now);
  long long all = now->tv_sec * 1000000000LL + now->tv_nsec + atomic_load(&children);
  now->tv_sec = all / 1000000000LL;
  now->tv_nsec = all % 1000000000LL;
  return failed;
}

pid_t waitpid(pid_t process, int* status, int options) {
  static pid_t (*real)(pid_t, int*, int);
  if (!real) real = (pid_t(*)(pid_t, int*, int))dlsym(RTLD_NEXT, "waitpid");
  pid_t ended = real(process, status, options);
  struct rusage used;
  if (ended > 0 && getrusage(RUSAGE_CHILDREN, &used) == 0)
    atomic_store(&children, nanoseconds(used.ru_utime) + nanoseconds(used.ru_stime));
  return ended;
}

typedef int (*Open)(const char*, int, ...);

/* Opens a file, but reports /proc/.../schedstat, the time spent waiting for a core, as missing. */
static int open_but_waits(Open real, const char* path, int flags, mode_t mode) {
  const char* name = strrchr(path, '/');
  if (strncmp(path, "/proc/", 6) != 0 || !name || strcmp(name, "/schedstat") != 0)
    return real(path, flags, mode);
  errno = ENOENT;
  return -1;
}

#define OPEN(name)                                                                                 \
  int name(const char* path, int flags, ...) {                                                     \
    static Open real;                                                                              \
    if (!real) real = (Open)dlsym(RTLD_NEXT, #name);                                               \
    va_list rest;                                                                                  \
    va_start(rest, flags);                                                                         \
    int creates = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;                             \
    mode_t mode = creates ? va_arg(rest, mode_t) : 0;                                              \
    va_end(rest);                                                                                  \
    return open_but_waits(real, path, flags, mode);                                                \
  }
OPEN(open)
OPEN(open64)
