/* SPDX-License-Identifier: Apache-2.0 */
/* Other names for the functions of this library: none. A generated project replaces this file by one that puts the name
 * of its model in front of each, so that two models do not clash in one program. */
#ifndef NNACL_NAMES_H
#define NNACL_NAMES_H

#define NNACL_LABEL "" /* before the names of functions in assembly */

struct nnacl_ctx; /* C wants a declaration in every file */

#endif
