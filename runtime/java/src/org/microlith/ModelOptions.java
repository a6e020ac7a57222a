// SPDX-License-Identifier: Apache-2.0
package org.microlith;

/** How a model is opened. Methods return the object itself. */
public final class ModelOptions {
    String instructionSets;
    boolean winograd = true;
    WeightsCache weightsCache;

    /** All that kernels may use, such as {@code "c,avx2"}; null, the default: all that this machine has. */
    public ModelOptions instructionSets(String names) {
        instructionSets = names;
        return this;
    }

    /** Whether f32 convolutions may use Winograd's algorithm, which is faster and rounds a little more. Default: true. */
    public ModelOptions winograd(boolean allowed) {
        winograd = allowed;
        return this;
    }

    /** With whose models packed weights are shared; null, the default: with none. */
    public ModelOptions weightsCache(WeightsCache cache) {
        weightsCache = cache;
        return this;
    }
}
