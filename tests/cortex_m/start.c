/* What a program needs to begin on a Cortex-M, and to write text: through semihosting, which the emulator answers.
 *
 * It links without any library: memcpy and memset are here. Source: ARM semihosting, SYS_WRITE0 and SYS_EXIT. */
#include <stddef.h>
#include <stdint.h>

extern uint32_t stack_end[];
int main(void);
void reset(void);
void write_text(const char *text);

static uint32_t semihosting(uint32_t operation, const void *argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void write_text(const char *text) {
  semihosting(0x04, text);
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
  unsigned char *place = to;
  const unsigned char *source = from;
  for (size_t i = 0; i < bytes; ++i) place[i] = source[i];
  return to;
}

void *memset(void *to, int value, size_t bytes) {
  unsigned char *place = to;
  for (size_t i = 0; i < bytes; ++i) place[i] = (unsigned char)value;
  return to;
}

static void fault(void) {
  write_text("fault\n");
  semihosting(0x18, (const void *)0x20023);
  for (;;) {}
}

void reset(void) {
  *(volatile uint32_t *)0xE000ED88 |= 0xFU << 20; /* CPACR: full access to the floating-point unit */
  __asm__ volatile("dsb\n\tisb");
  main();
  semihosting(0x18, (const void *)0x20026); /* ADP_Stopped_ApplicationExit */
  for (;;) {}
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
  (uintptr_t)stack_end, (uintptr_t)reset, (uintptr_t)fault, (uintptr_t)fault,
  (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault,
};
