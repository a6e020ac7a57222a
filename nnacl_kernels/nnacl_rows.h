/* SPDX-License-Identifier: Apache-2.0 */
/* How the words of a kernels.def become C, for who makes a table of its rows. */
#ifndef NNACL_ROWS_H
#define NNACL_ROWS_H

#include "nnacl_base.h"
#include "nnacl_isa.h"

#define NNACL_DTYPE_f32 NNACL_F32
#define NNACL_DTYPE_f16 NNACL_F16
#define NNACL_DTYPE_s8 NNACL_S8
#define NNACL_DTYPE_u8 NNACL_U8
#define NNACL_DTYPE_s16 NNACL_S16
#define NNACL_DTYPE_s32 NNACL_S32
#define NNACL_DTYPE_s64 NNACL_S64
#define NNACL_DTYPE_b8 NNACL_B8
#define NNACL_DTYPE_f64 NNACL_F64
#define NNACL_DTYPE_u16 NNACL_U16
#define NNACL_DTYPE_u32 NNACL_U32
#define NNACL_DTYPE_u64 NNACL_U64
#define NNACL_DTYPE_any NNACL_ANY

#define NNACL_ISA_c NNACL_ISA_C
#define NNACL_ISA_sse41 NNACL_ISA_SSE41
#define NNACL_ISA_avx2 NNACL_ISA_AVX2
#define NNACL_ISA_avx512 NNACL_ISA_AVX512
#define NNACL_ISA_vnni NNACL_ISA_VNNI
#define NNACL_ISA_vbmi NNACL_ISA_VBMI
#define NNACL_ISA_avxvnni NNACL_ISA_AVXVNNI
#define NNACL_ISA_avx512bf16 NNACL_ISA_AVX512BF16
#define NNACL_ISA_bf16 NNACL_ISA_BF16
#define NNACL_ISA_neon NNACL_ISA_NEON
#define NNACL_ISA_dotprod NNACL_ISA_DOTPROD
#define NNACL_ISA_i8mm NNACL_ISA_I8MM
#define NNACL_ISA_fp16 NNACL_ISA_FP16
#define NNACL_ISA_dsp NNACL_ISA_DSP
#define NNACL_ISA_mve NNACL_ISA_MVE
#define NNACL_ISA_vfp NNACL_ISA_VFP

/* The build defines NNACL_BUILD_<ISA> for each instruction set whose files it compiles. */
#define NNACL_RUN_c(symbol) symbol
#ifdef NNACL_BUILD_SSE41
#define NNACL_RUN_sse41(symbol) symbol
#else
#define NNACL_RUN_sse41(symbol) NULL
#endif
#ifdef NNACL_BUILD_AVX2
#define NNACL_RUN_avx2(symbol) symbol
#else
#define NNACL_RUN_avx2(symbol) NULL
#endif
#ifdef NNACL_BUILD_AVX512
#define NNACL_RUN_avx512(symbol) symbol
#else
#define NNACL_RUN_avx512(symbol) NULL
#endif
#ifdef NNACL_BUILD_VBMI
#define NNACL_RUN_vbmi(symbol) symbol
#else
#define NNACL_RUN_vbmi(symbol) NULL
#endif
#ifdef NNACL_BUILD_VNNI
#define NNACL_RUN_vnni(symbol) symbol
#else
#define NNACL_RUN_vnni(symbol) NULL
#endif
#ifdef NNACL_BUILD_AVXVNNI
#define NNACL_RUN_avxvnni(symbol) symbol
#else
#define NNACL_RUN_avxvnni(symbol) NULL
#endif
#ifdef NNACL_BUILD_AVX512BF16
#define NNACL_RUN_avx512bf16(symbol) symbol
#else
#define NNACL_RUN_avx512bf16(symbol) NULL
#endif
#ifdef NNACL_BUILD_BF16
#define NNACL_RUN_bf16(symbol) symbol
#else
#define NNACL_RUN_bf16(symbol) NULL
#endif
#ifdef NNACL_BUILD_NEON
#define NNACL_RUN_neon(symbol) symbol
#else
#define NNACL_RUN_neon(symbol) NULL
#endif
#ifdef NNACL_BUILD_DOTPROD
#define NNACL_RUN_dotprod(symbol) symbol
#else
#define NNACL_RUN_dotprod(symbol) NULL
#endif
#ifdef NNACL_BUILD_I8MM
#define NNACL_RUN_i8mm(symbol) symbol
#else
#define NNACL_RUN_i8mm(symbol) NULL
#endif
#ifdef NNACL_BUILD_FP16
#define NNACL_RUN_fp16(symbol) symbol
#else
#define NNACL_RUN_fp16(symbol) NULL
#endif
#ifdef NNACL_BUILD_DSP
#define NNACL_RUN_dsp(symbol) symbol
#else
#define NNACL_RUN_dsp(symbol) NULL
#endif
#ifdef NNACL_BUILD_MVE
#define NNACL_RUN_mve(symbol) symbol
#else
#define NNACL_RUN_mve(symbol) NULL
#endif
#ifdef NNACL_BUILD_VFP
#define NNACL_RUN_vfp(symbol) symbol
#else
#define NNACL_RUN_vfp(symbol) NULL
#endif

#endif
