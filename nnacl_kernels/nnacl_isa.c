/* SPDX-License-Identifier: Apache-2.0 */
#include "nnacl_isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#endif

typedef struct isa_row {
    uint32_t bit;
    const char *name;
} isa_row;

static const isa_row rows[] = {
    {NNACL_ISA_C, "c"},           {NNACL_ISA_SSE41, "sse41"},     {NNACL_ISA_AVX2, "avx2"},
    {NNACL_ISA_AVX512, "avx512"}, {NNACL_ISA_VNNI, "vnni"},       {NNACL_ISA_VBMI, "vbmi"},
    {NNACL_ISA_NEON, "neon"},     {NNACL_ISA_DOTPROD, "dotprod"}, {NNACL_ISA_I8MM, "i8mm"},
    {NNACL_ISA_FP16, "fp16"},     {NNACL_ISA_DSP, "dsp"},         {NNACL_ISA_MVE, "mve"},
    {NNACL_ISA_VFP, "vfp"},       {NNACL_ISA_AVXVNNI, "avxvnni"}, {NNACL_ISA_AVX512BF16, "avx512bf16"},
    {NNACL_ISA_BF16, "bf16"},
};

#define ROW_COUNT (sizeof rows / sizeof rows[0])

const char *nnacl_isa_name(uint32_t bit) {
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].bit == bit) {
            return rows[i].name;
        }
    }
    return NULL;
}

uint32_t nnacl_isa_bit(const char *name) {
    for (size_t i = 0; name && i < ROW_COUNT; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return rows[i].bit;
        }
    }
    return 0;
}

#if defined(__x86_64__) || defined(__i386__)

static bool has(uint32_t word, uint32_t bits) {
    return (word & bits) == bits;
}

/* The register states that the operating system saves (XCR0). */
static uint32_t saved_states(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Register eax of leaf 7, subleaf 1. */
static uint32_t further_features(void) {
    uint32_t eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) ? eax : 0;
}

uint32_t nnacl_isa_detect(void) {
    uint32_t eax, ebx, ecx, edx, mask = NNACL_ISA_C;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) {
        return mask;
    }
    if (has(ecx, bit_SSE4_1)) {
        mask |= NNACL_ISA_SSE41;
    }
    const bool avx_family = has(ecx, bit_AVX | bit_FMA | bit_F16C);
    if (!avx_family || !has(ecx, bit_OSXSAVE) || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        return mask;
    }
    const uint32_t states = saved_states();
    if (has(states, 0x6) && has(ebx, bit_AVX2)) { /* xmm, ymm */
        mask |= NNACL_ISA_AVX2;
        const uint32_t further = eax >= 1 ? further_features() : 0;
        mask |= has(further, 1u << 4) ? NNACL_ISA_AVXVNNI : 0u;
        const uint32_t avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
        if (has(states, 0xe6) && has(ebx, avx512)) { /* and opmask, zmm */
            mask |= NNACL_ISA_AVX512;
            if (has(ecx, bit_AVX512VNNI)) {
                mask |= NNACL_ISA_VNNI;
            }
            mask |= has(further, 1u << 5) ? NNACL_ISA_AVX512BF16 : 0u;
            if (has(ecx, bit_AVX512VBMI)) {
                mask |= NNACL_ISA_VBMI;
            }
        }
    }
    return mask;
}

#elif defined(__aarch64__)

uint32_t nnacl_isa_detect(void) {
    uint32_t mask = NNACL_ISA_C | NNACL_ISA_NEON;
#if defined(__linux__)
    const unsigned long capabilities = getauxval(AT_HWCAP), capabilities2 = getauxval(AT_HWCAP2);
    mask |= capabilities & (1UL << 20) ? NNACL_ISA_DOTPROD : 0u; /* HWCAP_ASIMDDP */
    mask |= capabilities & (1UL << 10) ? NNACL_ISA_FP16 : 0u;    /* HWCAP_ASIMDHP */
    mask |= capabilities2 & (1UL << 13) ? NNACL_ISA_I8MM : 0u;   /* HWCAP2_I8MM */
    mask |= capabilities2 & (1UL << 14) ? NNACL_ISA_BF16 : 0u;   /* HWCAP2_BF16 */
#else
#if defined(__ARM_FEATURE_DOTPROD)
    mask |= NNACL_ISA_DOTPROD;
#endif
#if defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
    mask |= NNACL_ISA_FP16;
#endif
#if defined(__ARM_FEATURE_MATMUL_INT8)
    mask |= NNACL_ISA_I8MM;
#endif
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    mask |= NNACL_ISA_BF16;
#endif
#endif
    return mask;
}

#else

/* Without an operating system to ask, the compiler's target is the machine. */
uint32_t nnacl_isa_detect(void) {
    uint32_t mask = NNACL_ISA_C;
#if defined(__ARM_FEATURE_DSP)
    mask |= NNACL_ISA_DSP;
#endif
#if defined(__ARM_FEATURE_MVE)
    mask |= NNACL_ISA_MVE;
#endif
#if defined(__ARM_FP) && defined(__thumb2__)
    mask |= NNACL_ISA_VFP;
#endif
    return mask;
}

#endif
