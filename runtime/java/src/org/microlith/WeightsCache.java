// SPDX-License-Identifier: Apache-2.0
package org.microlith;

/**
 * Weights in the layouts of kernels, each kept once for all models that were opened with this cache: the same file opened
 * twice, models with a common backbone. Results do not depend on a cache. Any number of threads may use it.
 *
 * <pre>{@code
 * WeightsCache cache = new WeightsCache();
 * Model first = Model.open("a.lith", new ModelOptions().weightsCache(cache));
 * Model second = Model.open("a.lith", new ModelOptions().weightsCache(cache));
 * }</pre>
 */
public final class WeightsCache implements AutoCloseable {
    private long handle;

    public WeightsCache() {
        Model.loadLibrary();
        handle = create();
    }

    /** Bytes of all packed weights that are in use. */
    public synchronized long bytes() {
        return info(open())[0];
    }

    /** Bytes that these would take more if nobody shared them. */
    public synchronized long savedBytes() {
        return info(open())[1];
    }

    /** The number of packed constants. */
    public synchronized long count() {
        return info(open())[2];
    }

    /** No model can be opened with it any more. Those that were keep it as long as they need it. */
    @Override
    public synchronized void close() {
        if (handle != 0) {
            release(handle);
            handle = 0;
        }
    }

    /** For a model that is being opened; the caller holds the lock of this object. */
    long open() {
        if (handle == 0) {
            throw new IllegalStateException("the cache is closed");
        }
        return handle;
    }

    private static native long create();

    private static native void release(long handle);

    private static native long[] info(long handle);
}
