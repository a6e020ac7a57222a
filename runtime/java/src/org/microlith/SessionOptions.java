// SPDX-License-Identifier: Apache-2.0
package org.microlith;

/** How a model runs. Methods return the object itself. */
public final class SessionOptions {
    int threads = 1;
    boolean keepInputs = true;
    int[] cores = new int[0];

    /** Threads that share the work of a run; results do not depend on how many. Default: 1, the caller. */
    public SessionOptions threads(int count) {
        threads = count;
        return this;
    }

    /**
     * Whether inputs keep their values after a run. Without that, a run may reuse their memory: it takes less, and every
     * input has to be set before each run. Default: true.
     */
    public SessionOptions keepInputs(boolean kept) {
        keepInputs = kept;
        return this;
    }

    /**
     * Numbers of cores that threads stay on: the library's first thread on the second of them, and so on from the start
     * again; the first is that of the thread that calls {@link Session#run}, which is not moved. Linux and Android.
     * Default, none: the system chooses.
     */
    public SessionOptions cores(int... numbers) {
        cores = numbers.clone();
        return this;
    }
}
