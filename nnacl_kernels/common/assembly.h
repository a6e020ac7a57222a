/* SPDX-License-Identifier: Apache-2.0 */
/* Functions written wholly in assembly, at file scope. */
#ifndef NNACL_ASSEMBLY_H
#define NNACL_ASSEMBLY_H

#include "nnacl_base.h"

/* A function in a section of its own: __asm__(NNACL_FUNCTION("f") "bx lr\n" NNACL_FUNCTION_END("f")); */
#define NNACL_FUNCTION(name)                                                                                           \
    ".syntax unified\n.thumb\n.section .text." NNACL_LABEL name                                                        \
    ",\"ax\",%progbits\n.balign 4\n.global " NNACL_LABEL name "\n.type " NNACL_LABEL name                              \
    ", %function\n.thumb_func\n" NNACL_LABEL name ":\n"
#define NNACL_FUNCTION_END(name) ".size " NNACL_LABEL name ", . - " NNACL_LABEL name "\n.text\n"

#endif
