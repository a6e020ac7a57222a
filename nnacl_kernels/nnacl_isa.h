/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sets: one bit each. The name of a bit is also the suffix of the files that use it, the column of
 * kernels.def, the argument of --isa and the entry of a target row. */
#ifndef NNACL_ISA_H
#define NNACL_ISA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NNACL_ISA_C 0x1
#define NNACL_ISA_SSE41 0x2
#define NNACL_ISA_AVX2 0x4
#define NNACL_ISA_AVX512 0x8
#define NNACL_ISA_VNNI 0x10
/* Vectors as every AArch64 has them; those of Armv7 are less. */
#define NNACL_ISA_NEON 0x20
#define NNACL_ISA_DOTPROD 0x40
#define NNACL_ISA_I8MM 0x80
#define NNACL_ISA_FP16 0x100
#define NNACL_ISA_DSP 0x200
#define NNACL_ISA_MVE 0x400
/* A floating-point unit of single precision with 32 registers beside Thumb-2: FPv4, FPv5. */
#define NNACL_ISA_VFP 0x800
#define NNACL_ISA_VBMI 0x1000
/* The instructions of VNNI for vectors of AVX2, which processors without AVX-512 have. */
#define NNACL_ISA_AVXVNNI 0x2000
#define NNACL_ISA_AVX512BF16 0x4000
/* Of AArch64. */
#define NNACL_ISA_BF16 0x8000

/* The instruction sets of the machine that runs this, as a mask. Stores nothing. */
uint32_t nnacl_isa_detect(void);

/* The name of one bit ("c", "avx2", ...), or NULL. */
const char *nnacl_isa_name(uint32_t bit);

/* The bit of a name, or 0. */
uint32_t nnacl_isa_bit(const char *name);

#ifdef __cplusplus
}
#endif

#endif
