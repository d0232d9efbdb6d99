/* A program that calls itself Python: it notes under which user id it runs, and waits. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
    int log = open(LOG, O_WRONLY | O_CREAT | O_APPEND, 0666);
    dprintf(log, "%d\n", (int) geteuid());
    sleep(60);
    return 0;
}
