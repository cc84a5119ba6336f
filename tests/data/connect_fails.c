/* Fails connections of one process, by the lines of a file: begin of an address, errno. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    static int (*real)(int, const struct sockaddr *, socklen_t);
    char text[INET_ADDRSTRLEN] = "", begin[64];
    int number = 0, found = 0;
    if (!real)
        real = dlsym(RTLD_NEXT, "connect");
    const char *path = getenv("CONNECT_FAILS");
    FILE *file = path && address->sa_family == AF_INET ? fopen(path, "r") : NULL;
    if (file) {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text, sizeof text);
        while (!found && fscanf(file, "%63s %d", begin, &number) == 2)
            found = strncmp(text, begin, strlen(begin)) == 0;
        fclose(file);
    }
    if (found) {
        errno = number;
        return -1;
    }
    return real(fd, address, length);
}
