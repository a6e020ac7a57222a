// SPDX-License-Identifier: Apache-2.0
package org.microlith;

/** A node of a profiled run. */
public final class Layer {
    private final String name;
    private final String op;
    private final String kernel;
    private final long nanoseconds;
    private final long macs;
    private final int parts;

    Layer(String name, String op, String kernel, long nanoseconds, long macs, int parts) {
        this.name = name;
        this.op = op;
        this.kernel = kernel;
        this.nanoseconds = nanoseconds;
        this.macs = macs;
        this.parts = parts;
    }

    public String name() {
        return name;
    }

    public String op() {
        return op;
    }

    /** The C function that ran. */
    public String kernel() {
        return kernel;
    }

    /** 0 when the result is a view of the input and no code ran. */
    public long nanoseconds() {
        return nanoseconds;
    }

    /** Multiply-accumulates. */
    public long macs() {
        return macs;
    }

    /** Into how many parts the work was split. */
    public int parts() {
        return parts;
    }

    @Override
    public String toString() {
        return name + " (" + op + ", " + kernel + "): " + nanoseconds + " ns";
    }
}
