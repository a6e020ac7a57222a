// SPDX-License-Identifier: Apache-2.0
package org.microlith;

/** What every call that fails throws: one sentence that says what is wrong, and where. */
public final class MicrolithException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** As {@code lith_status} of microlith.h. */
    public enum Status {
        OK,
        ARGUMENT,
        MEMORY,
        IO,
        FORMAT,
        VERSION,
        UNSUPPORTED,
        SHAPE,
        CANCELLED
    }

    private final Status status;

    MicrolithException(int status, String message) {
        super(message);
        this.status = Status.values()[status];
    }

    public Status status() {
        return status;
    }
}
