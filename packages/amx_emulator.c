/* AMX where the processor has none: linked into a program, it executes tile instructions that the processor refuses, as
 * volume 2 of Intel's Software Developer's Manual defines them. As on a real machine, the program must have asked Linux
 * for tile registers, and each thread must have configured them; otherwise it ends, and says why. With
 * NO_TILES in the environment the request is refused, on a processor with AMX, too. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
enum { NO_PREFIX, PREFIX_66, PREFIX_F3, PREFIX_F2 };
static const int REGISTERS[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static volatile int permitted;
static _Thread_local unsigned char tiles[8][16][64], columns[8], rows[8];
static _Thread_local int configured;

static void fail(const char *reason)
{
    printf("tile instruction: %s", reason);
    fflush(stdout);
    _exit(0);
}

static float narrow(float x) { return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x; }

static float bfloat16(const unsigned char *place)
{
    uint16_t half;
    memcpy(&half, place, 2);
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, 4);
    return narrow(value);
}

static void multiply_bytes(int out, int a, int b, int a_is_signed, int b_is_signed)
{
    for (int m = 0; m < rows[out]; ++m)
        for (int n = 0; n < columns[out] / 4; ++n) {
            uint32_t sum;
            memcpy(&sum, &tiles[out][m][4 * n], 4);
            for (int k = 0; k < columns[a]; ++k) {
                int x = tiles[a][m][k], y = tiles[b][k / 4][4 * n + k % 4];
                sum += (uint32_t)((a_is_signed ? (int8_t)x : x) * (b_is_signed ? (int8_t)y : y));
            }
            memcpy(&tiles[out][m][4 * n], &sum, 4);
        }
}

static void multiply_bfloat16(int out, int a, int b)
{
    for (int m = 0; m < rows[out]; ++m)
        for (int n = 0; n < columns[out] / 4; ++n) {
            float parts[2] = {0, 0}, sum;
            for (int k = 0; k < columns[a] / 2; ++k) {
                float x = bfloat16(&tiles[a][m][2 * k]), y = bfloat16(&tiles[b][k / 2][4 * n + k % 2 * 2]);
                parts[k % 2] = narrow(fmaf(x, y, parts[k % 2]));
            }
            memcpy(&sum, &tiles[out][m][4 * n], 4);
            sum = narrow(narrow(sum) + narrow(parts[0] + parts[1]));
            memcpy(&tiles[out][m][4 * n], &sum, 4);
        }
}

static void configure(const unsigned char *table)
{
    if (table[0] != 1) fail("expected palette 1");
    memset(tiles, 0, sizeof tiles);
    for (int i = 0; i < 8; ++i) {
        columns[i] = table[16 + 2 * i];
        rows[i] = table[48 + i];
        if (columns[i] > 64 || rows[i] > 16 || table[17 + 2 * i]) fail("a tile of more than 16 rows of 64 bytes");
    }
    configured = 1;
}

static void move(int number, int is_store, char *place, int64_t stride)
{
    for (int i = 0; i < rows[number]; ++i) {
        if (is_store) memcpy(place + i * stride, tiles[number][i], columns[number]);
        else memcpy(tiles[number][i], place + i * stride, columns[number]);
    }
}

/* VEX.128.0F38.W0, volume 2, 2.3: C4, inverted R X B and the map, W vvvv L and the prefix, opcode, ModRM, SIB, offset. */
static void execute(int signal, siginfo_t *information, void *context)
{
    (void)signal, (void)information;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *code = (const unsigned char *)registers[REG_RIP], *next = code + 5;
    int prefix = code[2] & 3, other = ~code[2] >> 3 & 15, opcode = code[3], operand = code[4] >> 3 & 7, mode = code[4] >> 6;
    if (code[0] != 0xc4 || (code[1] & 31) != 2 || code[2] & 0x84) fail("no instruction of AMX");
    if (!permitted) fail("Linux was not asked for tile registers");
    char *place = 0;
    int64_t stride = 0;
    int memory = code[4] & 7;
    if (mode != 3) {
        int has_index = memory == 4, base = memory;
        if (has_index) {
            int index = (*next >> 3 & 7) | (code[1] & 0x40 ? 0 : 8);
            base = *next & 7;
            if (index != 4) stride = registers[REGISTERS[index]] << (*next >> 6);
            ++next;
        }
        if (mode == 0 && base == 5) fail("an address without base");
        place = (char *)registers[REGISTERS[base | (code[1] & 0x20 ? 0 : 8)]];
        int32_t offset = 0;
        if (mode == 1) offset = (int8_t)*next++;
        if (mode == 2) memcpy(&offset, next, 4), next += 4;
        place += offset;
    }
    if (opcode == 0x49 && mode != 3 && prefix == NO_PREFIX) configure((unsigned char *)place + stride);
    else if (!configured) fail("this thread has not configured its tile registers");
    else if (opcode == 0x49 && prefix == NO_PREFIX) configured = 0;
    else if (opcode == 0x49 && prefix == PREFIX_F2) memset(tiles[operand], 0, sizeof tiles[operand]);
    else if (opcode == 0x4b && mode != 3 && prefix >= PREFIX_F3) move(operand, prefix == PREFIX_F3, place, stride);
    else if (opcode == 0x5c && prefix == PREFIX_F3) multiply_bfloat16(operand, memory, other);
    else if (opcode == 0x5e)
        multiply_bytes(operand, memory, other, prefix >= PREFIX_F3, prefix == PREFIX_F2 || prefix == PREFIX_66);
    else fail("an unknown one");
    registers[REG_RIP] = (greg_t)next;
}

static void permit(int signal, siginfo_t *information, void *context)
{
    (void)signal, (void)information;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    permitted = registers[REG_RSI] == XFEATURE_XTILEDATA && !getenv("NO_TILES");
    registers[REG_RAX] = permitted ? 0 : -EPERM;
}

/* Threads that block signals would end at the first one of the processor's. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t left;
    if (!set) return sigprocmask(how, set, old) ? errno : 0;
    left = *set;
    sigdelset(&left, SIGILL);
    sigdelset(&left, SIGSYS);
    return sigprocmask(how, &left, old) ? errno : 0;
}

__attribute__((constructor)) static void install(void)
{
    struct sigaction refused = {.sa_sigaction = execute, .sa_flags = SA_SIGINFO};
    struct sigaction asked = {.sa_sigaction = permit, .sa_flags = SA_SIGINFO};
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_REQ_XCOMP_PERM, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (!__builtin_cpu_supports("amx-tile")) sigaction(SIGILL, &refused, 0);
    else if (!getenv("NO_TILES")) return;
    sigaction(SIGSYS, &asked, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        fail("no seccomp to answer the request for tile registers");
}
