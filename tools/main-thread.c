/* Auditor of the dynamic linker (man 7 rtld-audit) for tools/main-thread.R: counts the calls of R, BLAS and LAPACK from
 * the package's core, and those of them that are not on the main thread. */
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long calls, astray;

unsigned la_version(unsigned version) { return version; }

unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie) {
  const char *libraries[] = {"/libR.so", "/libRblas", "/libRlapack", "blas", "lapack"};
  (void)id;
  (void)cookie;
  if (strstr(map->l_name, "/calibrisk.so")) return LA_FLG_BINDFROM;
  for (int i = 0; i < 5; ++i) {
    if (strstr(map->l_name, libraries[i])) return LA_FLG_BINDTO;
  }
  return 0;
}

Elf64_Addr la_x86_64_gnu_pltenter(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                                  La_x86_64_regs *registers, unsigned *flags, const char *name, long *frame) {
  (void)index, (void)from, (void)to, (void)registers, (void)flags, (void)frame;
  __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  if (syscall(SYS_gettid) != getpid()) {
    if (__atomic_add_fetch(&astray, 1, __ATOMIC_RELAXED) <= 20) fprintf(stderr, "off: %s\n", name);
  }
  return symbol->st_value;
}

/* processes without the package say nothing */
__attribute__((destructor)) static void report(void) {
  if (calls > 0) fprintf(stderr, "%ld calls of R, BLAS and LAPACK, %ld off the main thread\n", calls, astray);
}
