// SPDX-License-Identifier: Apache-2.0
package org.microlith;

import java.io.File;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * An open .lith file. Any number of threads may use it.
 *
 * <pre>{@code
 * try (Model model = Model.open("model.lith");
 *         Session session = model.newSession(1)) {
 *     ByteBuffer image = Session.newBuffer(model.inputs().get(0).bytes());
 *     session.bindInput(0, image); // direct buffers: no copies
 *     image.asFloatBuffer().put(pixels);
 *     session.run();
 *     float[] scores = new float[1000];
 *     session.output(0).asFloatBuffer().get(scores);
 * }
 * }</pre>
 */
public final class Model implements AutoCloseable {
    static {
        String path = System.getProperty("microlith.library");
        if (path == null) {
            System.loadLibrary("microlith_jni");
        } else {
            System.load(new File(path).getAbsolutePath());
        }
    }

    private long handle;
    private int users; // sessions, and this object until it is closed
    private boolean closed;
    private final ByteBuffer memory; // stays reachable as long as the model is open
    private final List<TensorInfo> inputs;
    private final List<TensorInfo> outputs;

    private Model(long handle, ByteBuffer memory) {
        this.handle = handle;
        this.memory = memory;
        this.users = 1;
        this.inputs = infos(true);
        this.outputs = infos(false);
    }

    /** Opens a file; where the system can, it is mapped. */
    public static Model open(String path) {
        return open(path, null);
    }

    /**
     * Opens a file with the kernels of some instruction sets only, such as {@code "c,avx2"}; null: all that this machine
     * has.
     */
    public static Model open(String path, String instructionSets) {
        if (path == null) {
            throw new NullPointerException("path");
        }
        return new Model(openFile(path, instructionSets), null);
    }

    /** Opens the remaining bytes of a direct buffer, which must not change until the model is closed. */
    public static Model open(ByteBuffer bytes) {
        if (!bytes.isDirect()) {
            throw new IllegalArgumentException("the bytes of a model must lie in a direct buffer");
        }
        ByteBuffer slice = bytes.slice();
        return new Model(openMemory(slice, slice.capacity(), null), slice);
    }

    /** The version of the C library. */
    public static native String version();

    /** The inputs as the file declares them. */
    public List<TensorInfo> inputs() {
        return inputs;
    }

    /** The outputs as the file declares them. */
    public List<TensorInfo> outputs() {
        return outputs;
    }

    /** What the converter noted under a key, or null. */
    public synchronized String metadata(String key) {
        if (closed) {
            throw new IllegalStateException("the model is closed");
        }
        return metadata(handle, key);
    }

    /** Memory to run in, and as many threads; results do not depend on how many. */
    public Session newSession(int threads) {
        return new Session(this, threads);
    }

    /** Closes the file as soon as no session uses it any more. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            release();
        }
    }

    /** For a session: the handle, which stays valid until {@link #release}. */
    synchronized long acquire() {
        if (closed) {
            throw new IllegalStateException("the model is closed");
        }
        users++;
        return handle;
    }

    synchronized void release() {
        if (--users == 0) {
            closeModel(handle);
            handle = 0;
        }
    }

    private List<TensorInfo> infos(boolean input) {
        List<TensorInfo> result = new ArrayList<>();
        for (int index = 0; index < count(handle, input); index++) {
            result.add(info(handle, input, index));
        }
        return Collections.unmodifiableList(result);
    }

    private static native long openFile(String path, String instructionSets);

    private static native long openMemory(ByteBuffer bytes, long size, String instructionSets);

    private static native void closeModel(long handle);

    private static native int count(long handle, boolean input);

    private static native TensorInfo info(long handle, boolean input, int index);

    private static native String metadata(long handle, String key);
}
