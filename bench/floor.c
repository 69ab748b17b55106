/* The floor under the sampler: floor PID NODES... polls for each line that it gets, and answers with the poll's CPU time in ns.

   It makes the system calls that numascope's sampler makes of a process whose threads neither come nor go, in the same order,
   and keeps what it reads only so far as to know what to read next. It parses run times (the first number of a schedstat) and the newest
   pid; who ran is told by comparing bytes. It makes no numbers of the rest, no columns, nothing that somebody could look at.
   A poll is:

   - /proc/stat, /proc/loadavg, /proc/pressure/cpu; where loadavg names a new newest pid, a listing of /proc, and stat of the
     processes in it that were not there before
   - sched_getaffinity of each thread; fstat of the kept task directory (its link count)
   - the process's clock; where it moved, pread of the kept schedstat of each thread that ran within the last ten polls, and of
     all others where those do not account for the clock; then the clock again
   - stat and sched of those that ran or were runnable when last read, stat of as many others, in turn, as the line says (so many
     the sampler read in its poll of the same second): open below the kept task directory, read, close
   - meminfo and numastat of each node

   Left out: what the sampler reads of a process every ten seconds. Descriptors beyond the limit are not kept, by the sampler neither: those schedstats are opened, read and closed. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROTATION = 10, SMALL = 4096, PIECE = 65536, MOST_PIDS = 1 << 22 };

struct thread {
	int tid, schedstat;
	long last_ran;
	long long run_ns;
	char state, times[128];
};

static struct thread *threads;
static int count, task, root;
static char buffer[PIECE], names[64];
static cpu_set_t mask[64]; /* 65,536 CPUs at most, as the sampler */

static long long clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* As HostRoot.read does it: open below the root, read until nothing comes, close. */
static void read_whole(const char *path)
{
	int file = openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t length, first = -1;

	if (file < 0)
		return;
	while ((length = read(file, first < 0 ? buffer : buffer + SMALL, first < 0 ? PIECE : PIECE - SMALL)) > 0)
		if (first < 0)
			first = length;
	close(file);
	buffer[first < 0 ? 0 : first < PIECE ? first : PIECE - 1] = 0;
}

/* As TaskFiles.read: one read of a small file below the kept directory. */
static ssize_t read_small(int tid, const char *name)
{
	snprintf(names, sizeof names, "%d/%s", tid, name);
	int file = openat(task, names, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -1;
	ssize_t length = read(file, buffer, SMALL - 1);
	close(file);
	buffer[length < 0 ? 0 : length] = 0;
	return length;
}

static int read_times(struct thread *one)
{
	char raw[128];
	ssize_t length;

	if (one->schedstat >= 0) {
		length = pread(one->schedstat, raw, sizeof raw - 1, 0);
		raw[length < 0 ? 0 : length] = 0;
	} else {
		length = read_small(one->tid, "schedstat");
		length = length < 0 ? 0 : length < (ssize_t)sizeof raw ? length : (ssize_t)sizeof raw - 1;
		memcpy(raw, buffer, length);
		raw[length] = 0;
	}
	if (strcmp(raw, one->times) == 0)
		return 0;
	strcpy(one->times, raw);
	one->run_ns = strtoll(raw, NULL, 10);
	return 1;
}

static void read_stat(struct thread *one, int ran)
{
	const char *closed;

	if (read_small(one->tid, "stat") > 0 && (closed = strrchr(buffer, ')')) != NULL)
		one->state = closed[2];
	if (ran)
		read_small(one->tid, "sched");
}

static int by_tid(const void *one, const void *two)
{
	return ((const struct thread *)one)->tid - ((const struct thread *)two)->tid;
}

static int meet(int pid)
{
	struct rlimit limit;
	struct dirent *entry;
	int most = 0;

	snprintf(names, sizeof names, "/proc/%d/task", pid);
	if ((task = open(names, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return 0;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	DIR *listing = opendir(names);
	while ((entry = readdir(listing)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (count == most)
			threads = realloc(threads, (most = 2 * most + 64) * sizeof *threads);
		memset(&threads[count], 0, sizeof *threads);
		threads[count].tid = atoi(entry->d_name);
		threads[count].last_ran = -ROTATION;
		snprintf(names, sizeof names, "%d/schedstat", threads[count].tid);
		threads[count].schedstat = openat(task, names, O_RDONLY | O_CLOEXEC);
		count++;
	}
	closedir(listing);
	qsort(threads, count, sizeof *threads, by_tid);
	for (int at = 0; at < count; at++) {
		read_times(&threads[at]);
		read_stat(&threads[at], 0);
	}
	return 1;
}

/* As ProcessTree does it when somebody was born. */
static void look_for_new(void)
{
	static char known[MOST_PIDS];
	DIR *listing = fdopendir(openat(root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;
	char path[32];

	while ((entry = readdir(listing)) != NULL) {
		int pid = atoi(entry->d_name);

		if (pid > 0 && pid < MOST_PIDS && !known[pid]) {
			known[pid] = 1;
			snprintf(path, sizeof path, "proc/%d/stat", pid);
			read_whole(path);
		}
	}
	closedir(listing);
}

static void poll_once(long number, int sleepers, clockid_t clock, char **nodes)
{
	static long long clock_then, most_dead_ns = -1;
	static char *looked; /* 0: not read, 1: stood still, 2: ran */
	static int turn, newest, newest_then;
	struct stat directory;
	long long now, total = 0, dead;

	if (looked == NULL)
		looked = malloc(count);
	memset(looked, 0, count);
	read_whole("proc/stat");
	read_whole("proc/loadavg");
	if (sscanf(buffer, "%*s %*s %*s %*s %d", &newest) == 1 && newest != newest_then)
		look_for_new();
	newest_then = newest;
	read_whole("proc/pressure/cpu");
	for (int at = 0; at < count; at++)
		sched_getaffinity(threads[at].tid, sizeof mask, mask);
	fstat(task, &directory);
	if ((now = clock_ns(clock)) != clock_then) {
		clock_then = now;
		for (int at = 0; at < count; at++)
			if (threads[at].last_ran > number - ROTATION)
				looked[at] = 1 + read_times(&threads[at]);
		for (int at = 0; at < count; at++)
			total += threads[at].run_ns;
		if (most_dead_ns < 0 || now - most_dead_ns > total)
			for (int at = 0; at < count; at++)
				if (looked[at] == 0)
					looked[at] = 1 + read_times(&threads[at]);
		total = 0;
		for (int at = 0; at < count; at++) {
			total += threads[at].run_ns;
			if (looked[at] == 2)
				threads[at].last_ran = number;
		}
		dead = clock_ns(clock) - total;
		if (most_dead_ns < 0 || dead < most_dead_ns)
			most_dead_ns = dead;
	}
	for (int at = 0; at < count; at++)
		if (looked[at] == 2 || threads[at].state == 'R')
			read_stat(&threads[at], 1);
	for (int left = count; left > 0 && sleepers > 0; left--, turn = (turn + 1) % count) {
		if (looked[turn] != 2) {
			read_stat(&threads[turn], 0);
			sleepers--;
		}
	}
	for (; *nodes != NULL; nodes++) {
		char path[96];

		snprintf(path, sizeof path, "sys/devices/system/node/node%d/meminfo", atoi(*nodes));
		read_whole(path);
		snprintf(path, sizeof path, "sys/devices/system/node/node%d/numastat", atoi(*nodes));
		read_whole(path);
	}
}

int main(int words, char **word)
{
	char line[16];

	if (words < 2)
		return 2;
	int pid = atoi(word[1]);
	clockid_t clock;

	root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (clock_getcpuclockid(pid, &clock) != 0 || !meet(pid))
		return 1;
	for (long number = 1; fgets(line, sizeof line, stdin) != NULL; number++) {
		long long began = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		poll_once(number, atoi(line), clock, word + 2);
		printf("%lld\n", clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
		fflush(stdout);
	}
	return 0;
}
