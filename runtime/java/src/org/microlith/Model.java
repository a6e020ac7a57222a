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
        load();
    }

    /** For classes whose native methods may be needed before those of this one. */
    static void loadLibrary() {}

    private static void load() {
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
        return open(path, new ModelOptions());
    }

    /**
     * Opens a file with the kernels of some instruction sets only, such as {@code "c,avx2"}; null: all that this machine
     * has.
     */
    public static Model open(String path, String instructionSets) {
        return open(path, new ModelOptions().instructionSets(instructionSets));
    }

    /** Opens a file. */
    public static Model open(String path, ModelOptions options) {
        if (path == null) {
            throw new NullPointerException("path");
        }
        return open(path, null, options);
    }

    /** Opens the remaining bytes of a direct buffer, which must not change until the model is closed. */
    public static Model open(ByteBuffer bytes) {
        return open(bytes, new ModelOptions());
    }

    /** Opens the remaining bytes of a direct buffer, which must not change until the model is closed. */
    public static Model open(ByteBuffer bytes, ModelOptions options) {
        if (!bytes.isDirect()) {
            throw new IllegalArgumentException("the bytes of a model must lie in a direct buffer");
        }
        return open(null, bytes.slice(), options);
    }

    private static Model open(String path, ByteBuffer bytes, ModelOptions options) {
        long size = bytes == null ? 0 : bytes.capacity();
        WeightsCache cache = options.weightsCache;
        if (cache == null) {
            return new Model(open(path, bytes, size, options.instructionSets, options.winograd, 0), bytes);
        }
        synchronized (cache) { // it is not closed meanwhile
            return new Model(open(path, bytes, size, options.instructionSets, options.winograd, cache.open()), bytes);
        }
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

    /** The position of the input of a name, or -1. */
    public int inputIndex(String name) {
        return index(inputs, name);
    }

    /** The position of the output of a name, or -1. */
    public int outputIndex(String name) {
        return index(outputs, name);
    }

    private static int index(List<TensorInfo> infos, String name) {
        for (int index = 0; index < infos.size(); index++) {
            if (infos.get(index).name().equals(name)) {
                return index;
            }
        }
        return -1;
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
        return newSession(new SessionOptions().threads(threads));
    }

    /** Memory to run in. */
    public Session newSession(SessionOptions options) {
        return new Session(this, options);
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

    private static native long open(
            String path, ByteBuffer bytes, long size, String instructionSets, boolean winograd, long cache);

    private static native void closeModel(long handle);

    private static native int count(long handle, boolean input);

    private static native TensorInfo info(long handle, boolean input, int index);

    private static native String metadata(long handle, String key);
}
