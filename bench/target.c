/* A process of many threads to look at: target THREADS WORKING BURST_US

   The first WORKING threads beside the main one wake up once a second, spread over it, and use the CPU for BURST_US each;
   the others sleep. It prints "ready" and ends with its standard input. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long working, burst_ns;
static struct timespec began;

static long since_ns(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - then->tv_sec) * 1000000000L + now.tv_nsec - then->tv_nsec;
}

static void *work(void *number)
{
	long offset_ns = began.tv_nsec + (long)number * (1000000000L / working);
	struct timespec next = { began.tv_sec + 1 + offset_ns / 1000000000L, offset_ns % 1000000000L };

	for (;; next.tv_sec++) {
		struct timespec woken;

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		clock_gettime(CLOCK_MONOTONIC, &woken);
		while (since_ns(&woken) < burst_ns)
			;
	}
	return NULL;
}

static void *rest(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

int main(int count, char **words)
{
	pthread_attr_t small;
	char end;

	if (count != 4)
		return 2;
	long threads = atol(words[1]);
	working = atol(words[2]);
	burst_ns = 1000 * atol(words[3]);
	clock_gettime(CLOCK_MONOTONIC, &began);
	began.tv_sec += threads / 5000; /* none works before all are there */
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (long number = 0; number < threads - 1; number++) {
		pthread_t one;

		if (pthread_create(&one, &small, number < working ? work : rest, (void *)number) != 0) {
			perror("pthread_create");
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &end, 1) > 0)
		;
	return 0;
}
