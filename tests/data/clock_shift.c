/* Shifts the time of day of one process by the seconds that a file says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
    static int (*real)(struct timeval *, void *);
    if (!real)
        real = dlsym(RTLD_NEXT, "gettimeofday");
    int result = real(tv, tz);
    const char *path = getenv("CLOCK_SHIFT");
    FILE *file = path ? fopen(path, "r") : NULL;
    long secs = 0;
    if (file) {
        if (fscanf(file, "%ld", &secs) == 1)
            tv->tv_sec += secs;
        fclose(file);
    }
    return result;
}
