// SPDX-License-Identifier: Apache-2.0
package org.microlith;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * The memory in which a model runs. Methods that two threads call at once wait for each other, {@link #cancel} excepted.
 *
 * <p>Inputs and outputs are bound to direct buffers, which the C library reads and writes in place; or copied, with
 * {@link #setInput} and {@link #output}.
 */
public final class Session implements AutoCloseable {
    private final Model model;
    private final Object life = new Object(); // cancel must not wait for the run that it stops
    private long handle;
    private final ByteBuffer[] boundInputs; // stay reachable as long as they are bound
    private final ByteBuffer[] boundOutputs;

    Session(Model model, SessionOptions options) {
        this.model = model;
        long opened = model.acquire();
        try {
            handle = create(opened, options.threads, options.keepInputs, options.cores);
        } finally {
            if (handle == 0) {
                model.release();
            }
        }
        boundInputs = new ByteBuffer[model.inputs().size()];
        boundOutputs = new ByteBuffer[model.outputs().size()];
    }

    /** A direct buffer in the byte order of this machine, aligned for any element type. */
    public static ByteBuffer newBuffer(long bytes) {
        if (bytes < 0 || bytes > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(bytes + " bytes do not fit into a buffer");
        }
        return ByteBuffer.allocateDirect((int) bytes).order(ByteOrder.nativeOrder());
    }

    /** An input as it is in this session. */
    public synchronized TensorInfo inputInfo(int index) {
        return info(open(), true, index);
    }

    /** An output as it is in this session; of a dynamic model its sizes are those of the last run. */
    public synchronized TensorInfo outputInfo(int index) {
        return info(open(), false, index);
    }

    /** Sets the shapes of all inputs. Buffers are unbound and the values of inputs lost. */
    public synchronized void resize(int[]... shapes) {
        resize(open(), shapes);
        Arrays.fill(boundInputs, null);
        Arrays.fill(boundOutputs, null);
    }

    /** Copies the remaining bytes of any buffer into an input, all of it. The buffer stays as it is. */
    public synchronized void setInput(int index, ByteBuffer values) {
        ByteBuffer source = values.duplicate();
        if (!source.isDirect()) {
            source = newBuffer(values.remaining()).put(source);
            source.flip();
        }
        ByteBuffer slice = source.slice();
        setInput(open(), index, slice, slice.capacity());
    }

    /** Copies elements of an f32 input. */
    public synchronized void setInput(int index, float[] values) {
        require(inputInfo(index), ElementType.F32);
        ByteBuffer buffer = newBuffer(4L * values.length);
        buffer.asFloatBuffer().put(values);
        setInput(open(), index, buffer, buffer.capacity());
    }

    /** Copies elements of an s8, u8 or b8 input. */
    public synchronized void setInput(int index, byte[] values) {
        require(inputInfo(index), ElementType.S8, ElementType.U8, ElementType.B8);
        ByteBuffer buffer = newBuffer(values.length);
        buffer.put(values);
        setInput(open(), index, buffer, buffer.capacity());
    }

    /** A copy of an output. */
    public synchronized ByteBuffer output(int index) {
        ByteBuffer result = newBuffer(outputInfo(index).bytes());
        getOutput(open(), index, result, result.capacity());
        return result;
    }

    /** The elements of an f32 output. */
    public synchronized float[] floats(int index) {
        require(outputInfo(index), ElementType.F32);
        ByteBuffer bytes = output(index);
        float[] result = new float[bytes.capacity() / 4];
        bytes.asFloatBuffer().get(result);
        return result;
    }

    /** Runs read the remaining bytes of a direct buffer from now on, in place; null: no more. */
    public synchronized void bindInput(int index, ByteBuffer buffer) {
        bind(true, index, buffer, boundInputs);
    }

    /** Runs write the remaining bytes of a direct buffer from now on, in place; null: no more. */
    public synchronized void bindOutput(int index, ByteBuffer buffer) {
        if (buffer != null && buffer.isReadOnly()) {
            throw new IllegalArgumentException("an output cannot be bound to a buffer that is read only");
        }
        bind(false, index, buffer, boundOutputs);
    }

    /** Runs the model once. */
    public synchronized void run() {
        run(open());
    }

    /** Runs the model once; its nodes with their times, in order. */
    public synchronized List<Layer> profile() {
        return Collections.unmodifiableList(Arrays.asList(profile(open())));
    }

    /** Sets the state of a streaming model back to its start. */
    public synchronized void reset() {
        reset(open());
    }

    /** Makes the run in progress, or else the next one, fail with {@code CANCELLED}. From any thread. */
    public void cancel() {
        synchronized (life) {
            cancel(open());
        }
    }

    @Override
    public synchronized void close() {
        synchronized (life) {
            if (handle != 0) {
                destroy(handle);
                handle = 0;
                model.release();
            }
        }
    }

    private void bind(boolean input, int index, ByteBuffer buffer, ByteBuffer[] bound) {
        if (buffer != null && !buffer.isDirect()) {
            throw new IllegalArgumentException("only a direct buffer can be bound");
        }
        ByteBuffer slice = buffer == null ? null : buffer.slice();
        bind(open(), input, index, slice, slice == null ? 0 : slice.capacity());
        bound[index] = slice;
    }

    private long open() {
        if (handle == 0) {
            throw new IllegalStateException("the session is closed");
        }
        return handle;
    }

    private static void require(TensorInfo info, ElementType... types) {
        for (ElementType type : types) {
            if (info.type() == type) {
                return;
            }
        }
        throw new IllegalArgumentException("'" + info.name() + "' has elements of type " + info.type());
    }

    private static native long create(long model, int threads, boolean keepInputs, int[] cores);

    private static native void destroy(long handle);

    private static native TensorInfo info(long handle, boolean input, int index);

    private static native void resize(long handle, int[][] shapes);

    private static native void setInput(long handle, int index, ByteBuffer values, long bytes);

    private static native void getOutput(long handle, int index, ByteBuffer values, long bytes);

    private static native void bind(long handle, boolean input, int index, ByteBuffer buffer, long bytes);

    private static native void run(long handle);

    private static native Layer[] profile(long handle);

    private static native void reset(long handle);

    private static native void cancel(long handle);
}
