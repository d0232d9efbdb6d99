/* A stand-in for NVIDIA's libnvidia-ml.so.1: the functions of NVML that the recorder asks, with the prototypes of
 * NVIDIA's nvml.h (docs.nvidia.com/deploy/nvml-api). What it answers is read at each call from the text file that
 * $KERNELDOCTOR_TEST_NVML names, a fact a line:
 *
 *     init 18                                what nvmlInit answers
 *     driver 550.54.14
 *     cuda 12040
 *     cards 2
 *     total.0 25769803776                    of card 0, likewise used, name, utilisation, temperature, power,
 *     throttle.0 32                          ecc, uuid; what is not named the card does not support
 *     process.0 4711 1073741824              process id and bytes; as many as wanted
 *     xid.0 79                               an error event; each line is delivered once
 *     nvmlDeviceGetMemoryInfo 999            this function answers with that error ...
 *     nvmlDeviceGetPowerUsage hang           ... or never
 *
 * With -DOLD_DRIVER it lacks what drivers before 535 lack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, TIMEOUT = 10, MISMATCH = 18, GPU_IS_LOST = 15 };

typedef struct card *device_t;
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned int gpu, memory; } utilization_t;
typedef struct { unsigned int pid; unsigned long long bytes; unsigned int gpu_instance, compute_instance; } process_t;
typedef struct { device_t device; unsigned long long type, data; unsigned int gpu_instance, compute_instance; } event_t;

struct card { unsigned int index; };
static struct card cards[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};

/* The nth fact with this key; returns whether there is one. */
static int fact(const char *key, int nth, char *value, size_t size)
{
    const char *path = getenv("KERNELDOCTOR_TEST_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[256];
    size_t length = strlen(key);
    int found = 0;

    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, key, length) == 0 && line[length] == ' ' && nth-- == 0) {
            snprintf(value, size, "%s", line + length + 1);
            found = 1;
        }
    }
    if (file)
        fclose(file);
    return found;
}

static int number(const char *key, unsigned long long *value)
{
    char text[256];

    if (!fact(key, 0, text, sizeof text))
        return NOT_SUPPORTED;
    *value = strtoull(text, NULL, 0);
    return SUCCESS;
}

static int of_card(const char *name, device_t card, unsigned long long *value)
{
    char key[64];

    snprintf(key, sizeof key, "%s.%u", name, card->index);
    return number(key, value);
}

static int text_of_card(const char *name, device_t card, char *value, unsigned int size)
{
    char key[64];

    snprintf(key, sizeof key, "%s.%u", name, card->index);
    return fact(key, 0, value, size) ? SUCCESS : NOT_SUPPORTED;
}

/* What was ordered for this function: an error, or never to come back. */
static int ordered(const char *function)
{
    char text[256];

    while (fact(function, 0, text, sizeof text) && strcmp(text, "hang") == 0)
        usleep(100000);
    return fact(function, 0, text, sizeof text) ? atoi(text) : SUCCESS;
}

#define OBEY do { int error_ = ordered(__func__); if (error_) return error_; } while (0)

int nvmlInitWithFlags(unsigned int flags)
{
    unsigned long long answer = SUCCESS;

    (void)flags;
    OBEY;
    number("init", &answer);
    return (int)answer;
}

int nvmlShutdown(void) { return SUCCESS; }

const char *nvmlErrorString(int error)
{
    switch (error) {
    case NOT_SUPPORTED: return "Not Supported";
    case GPU_IS_LOST: return "GPU is lost";
    case MISMATCH: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    return fact("driver", 0, version, length) ? SUCCESS : NOT_SUPPORTED;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    unsigned long long value;
    int error = number("cuda", &value);

    if (error == SUCCESS)
        *version = (int)value;
    return error;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
    unsigned long long value = 0;

    OBEY;
    number("cards", &value);
    *count = (unsigned int)value;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, device_t *device)
{
    OBEY;
    *device = &cards[index];
    return SUCCESS;
}

int nvmlDeviceGetIndex(device_t device, unsigned int *index)
{
    *index = device->index;
    return SUCCESS;
}

int nvmlDeviceGetName(device_t device, char *name, unsigned int length)
{
    return text_of_card("name", device, name, length);
}

int nvmlDeviceGetUUID(device_t device, char *uuid, unsigned int length)
{
    return text_of_card("uuid", device, uuid, length);
}

int nvmlDeviceGetMemoryInfo(device_t device, memory_t *memory)
{
    int error;

    OBEY;
    error = of_card("total", device, &memory->total);
    if (error == SUCCESS)
        error = of_card("used", device, &memory->used);
    memory->free = memory->total - memory->used;
    return error;
}

int nvmlDeviceGetUtilizationRates(device_t device, utilization_t *rates)
{
    unsigned long long value = 0;
    int error = of_card("utilisation", device, &value);

    rates->gpu = (unsigned int)value;
    rates->memory = 0;
    return error;
}

int nvmlDeviceGetTemperature(device_t device, unsigned int sensor, unsigned int *degrees)
{
    unsigned long long value = 0;
    int error = of_card("temperature", device, &value);

    (void)sensor;
    *degrees = (unsigned int)value;
    return error;
}

int nvmlDeviceGetPowerUsage(device_t device, unsigned int *milliwatts)
{
    unsigned long long value = 0;
    int error;

    OBEY;
    error = of_card("power", device, &value);
    *milliwatts = (unsigned int)value;
    return error;
}

int nvmlDeviceGetTotalEccErrors(device_t device, unsigned int type, unsigned int counter, unsigned long long *count)
{
    (void)type;
    (void)counter;
    return of_card("ecc", device, count);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(device_t device, unsigned long long *reasons)
{
    return of_card("throttle", device, reasons);
}

static int processes(device_t device, unsigned int *count, process_t *list)
{
    char key[64], text[256];
    unsigned int there = 0, room = *count;

    snprintf(key, sizeof key, "process.%u", device->index);
    while (fact(key, (int)there, text, sizeof text)) {
        if (list && there < room)
            sscanf(text, "%u %llu", &list[there].pid, &list[there].bytes);
        there++;
    }
    *count = there;
    return there > room || (there && !list) ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v2(device_t device, unsigned int *count, process_t *list)
{
    return processes(device, count, list);
}

#ifndef OLD_DRIVER
int nvmlDeviceGetComputeRunningProcesses_v3(device_t device, unsigned int *count, process_t *list)
{
    return processes(device, count, list);
}

int nvmlDeviceGetCurrentClocksEventReasons(device_t device, unsigned long long *reasons)
{
    return of_card("throttle", device, reasons);
}

int nvmlEventSetCreate(void **set)
{
    *set = cards;
    return SUCCESS;
}

int nvmlDeviceRegisterEvents(device_t device, unsigned long long types, void *set)
{
    (void)device;
    (void)types;
    (void)set;
    return SUCCESS;
}

int nvmlEventSetWait_v2(void *set, event_t *event, unsigned int milliseconds)
{
    static int delivered[8];
    char key[64], text[256];
    unsigned int waited, index;

    (void)set;
    for (waited = 0; waited < milliseconds; waited += 20) {
        for (index = 0; index < 8; index++) {
            snprintf(key, sizeof key, "xid.%u", index);
            if (fact(key, delivered[index], text, sizeof text)) {
                delivered[index]++;
                memset(event, 0, sizeof *event);
                event->device = &cards[index];
                event->type = 8; /* nvmlEventTypeXidCriticalError */
                event->data = strtoull(text, NULL, 0);
                return SUCCESS;
            }
        }
        usleep(20000);
    }
    return TIMEOUT;
}
#endif
