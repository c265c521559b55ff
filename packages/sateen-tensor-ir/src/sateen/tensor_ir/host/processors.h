/* How many processors a thread may use: its affinity mask, and the quotas of its control groups (Linux, cgroups(7)). */
#ifndef SATEEN_PROCESSORS_H_
#define SATEEN_PROCESSORS_H_

#include "system.h"

enum { MASK_BYTES = 512, MASK_WORDS = MASK_BYTES / 8, PATH_BYTES = 8192, MEMBERSHIP_BYTES = 16384 };

/* Where control groups are mounted, those of version 1 in its folder `cpu`, and the file that lists those of a process. */
SETTING const char *sateen_cgroup_mount = "/sys/fs/cgroup";
SETTING const char *sateen_cgroup_membership = "/proc/self/cgroup";

/* The number of processors in the affinity mask of this thread, which it writes; 1 where that can't be had. */
static uint32_t allowed_processors(uint64_t mask[MASK_WORDS]) {
  __builtin_memset(mask, 0, MASK_BYTES);
  if (sched_getaffinity(0, MASK_BYTES, mask) != 0) return 1;
  uint32_t count = 0;
  for (int word = 0; word < MASK_WORDS; ++word) count += (uint32_t)__builtin_popcountll(mask[word]);
  return count;
}

/* What a file begins with, ended by a zero, in `size` bytes; nothing of one that can't be read. */
static void read_text(const char *path, char *text, size_t size) {
  text[0] = 0;
  int file = open(path, O_RDONLY_CLOEXEC);
  if (file < 0) return;
  size_t length = 0;
  long found;
  while ((found = read(file, text + length, size - 1 - length)) > 0) length += (size_t)found;
  text[length] = 0;
  close(file);
}

/* The first number in a file, and the one after it; 0 for what is missing or no number, such as "max". */
static int64_t numbers_in_file(const char *path, int64_t *second) {
  char text[64], *after;
  read_text(path, text, sizeof text);
  int64_t first = strtol(text, &after, 10);
  *second = strtol(after, NULL, 10);
  return first;
}

/* The least number of processors, rounded up, that the quotas of the control group at `path` allow, of `length` bytes,
 * and of those around it up to the mount; `most` where none sets a quota. */
static uint32_t least_quota(int is_v1, const char *path, int length, uint32_t most) {
  const char *folder = is_v1 ? "/cpu" : "", *name = is_v1 ? "/cpu.cfs_quota_us" : "/cpu.max";
  const char *format = "%s%s%.*s%s";
  char file[PATH_BYTES];
  uint32_t least = most;
  for (;;) {
    int64_t period, unused;
    snprintf(file, sizeof file, format, sateen_cgroup_mount, folder, length, path, name);
    int64_t quota = numbers_in_file(file, &period);
    if (is_v1) {
      snprintf(file, sizeof file, format, sateen_cgroup_mount, folder, length, path, "/cpu.cfs_period_us");
      period = numbers_in_file(file, &unused);
    }
    if (quota > 0 && period > 0) {
      uint64_t allowed = (uint64_t)(quota - 1) / (uint64_t)period + 1;
      if (allowed < least) least = (uint32_t)allowed;
    }
    if (length == 0) return least;
    do --length;
    while (length != 0 && path[length] != '/');
  }
}

/* The processors whose time the process may use: the least that any of its control groups allows; `most` where none
 * sets a quota. A line of the membership is `number:controller,controller:path`, of version 2 `number::path`. The
 * mounts count also without it: that of a container may begin at a group that the path doesn't tell. */
static uint32_t processor_quota(uint32_t most) {
  char text[MEMBERSHIP_BYTES];
  uint32_t least = least_quota(0, "", 0, least_quota(1, "", 0, most));
  read_text(sateen_cgroup_membership, text, sizeof text);
  for (const char *line = text;;) {
    size_t length = strcspn(line, "\n");
    if (length == 0) return least;
    const char *end = line + length, *name_end = line + strcspn(line, ":\n");
    int is_v1, is_v2;
    do {
      const char *name = name_end + 1;
      size_t size = strcspn(name, ",:\n");
      name_end = name + size;
      is_v1 = size == 3 && strncmp(name, "cpu", 3) == 0;
      is_v2 = size == 0;
    } while (!is_v1 && !is_v2 && *name_end == ',');
    if (is_v1 || is_v2) {
      const char *path = name_end + strcspn(name_end, ":\n") + 1;
      if (end > path) least = least_quota(is_v1, path, (int)(end - path), least);
    }
    line = end + (*end != 0);
  }
}

#endif
