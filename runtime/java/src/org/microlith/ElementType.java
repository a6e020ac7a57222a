// SPDX-License-Identifier: Apache-2.0
package org.microlith;

/** Element types, in the order of their numbers in the file format. */
public enum ElementType {
    F32(4),
    F16(2),
    S8(1),
    U8(1),
    S16(2),
    S32(4),
    S64(8),
    B8(1),
    F64(8),
    U16(2),
    U32(4),
    U64(8);

    private final int bytes;

    ElementType(int bytes) {
        this.bytes = bytes;
    }

    /** Bytes of one element. */
    public int bytes() {
        return bytes;
    }
}
