// SPDX-License-Identifier: Apache-2.0
package org.microlith;

import java.util.Arrays;

/** An input or output. */
public final class TensorInfo {
    private final String name;
    private final ElementType type;
    private final int[] shape;
    private final String[] symbols;
    private final long bytes;
    private final float[] scales;
    private final int[] zeroPoints;
    private final int quantizedAxis;

    // Called from microlith_jni.c.
    TensorInfo(
            String name,
            int type,
            int[] shape,
            String[] symbols,
            long bytes,
            float[] scales,
            int[] zeroPoints,
            int quantizedAxis) {
        this.name = name;
        this.type = ElementType.values()[type];
        this.shape = shape;
        this.symbols = symbols;
        this.bytes = bytes;
        this.scales = scales;
        this.zeroPoints = zeroPoints;
        this.quantizedAxis = quantizedAxis;
    }

    public String name() {
        return name;
    }

    public ElementType type() {
        return type;
    }

    /** Sizes of the dimensions; -1: not known yet. */
    public int[] shape() {
        return shape.clone();
    }

    /** For each dimension the name of its size if that is known at run time only, else "". */
    public String[] symbols() {
        return symbols.clone();
    }

    /** Bytes of the whole tensor; 0 as long as a size is not known. */
    public long bytes() {
        return bytes;
    }

    /** real = scale * (q - zeroPoint): no entry (not quantized), one, or one for each slice along {@link #quantizedAxis}. */
    public float[] scales() {
        return scales.clone();
    }

    /** As many as {@link #scales}. */
    public int[] zeroPoints() {
        return zeroPoints.clone();
    }

    /** -1: one scale for the whole tensor. */
    public int quantizedAxis() {
        return quantizedAxis;
    }

    @Override
    public String toString() {
        return name + ": " + type + Arrays.toString(shape);
    }
}
