// A client of org.microlith: java JavaClient MODEL, an MLP with an input x [2, 24] and an output scores [2, 5].

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.microlith.ElementType;
import org.microlith.Layer;
import org.microlith.MicrolithException;
import org.microlith.MicrolithException.Status;
import org.microlith.Model;
import org.microlith.ModelOptions;
import org.microlith.Session;
import org.microlith.SessionOptions;
import org.microlith.TensorInfo;
import org.microlith.WeightsCache;

public final class JavaClient {
    private static void require(boolean fine, String what) {
        if (!fine) {
            throw new AssertionError(what);
        }
    }

    private static void refused(Status status, Runnable call) {
        try {
            call.run();
        } catch (MicrolithException error) {
            require(error.status() == status && !error.getMessage().isEmpty(), error.status() + ": " + error.getMessage());
            return;
        }
        throw new AssertionError("not refused: " + status);
    }

    private static void refused(Class<? extends RuntimeException> kind, Runnable call) {
        try {
            call.run();
        } catch (RuntimeException error) {
            require(kind.isInstance(error), error.toString());
            return;
        }
        throw new AssertionError("not refused: " + kind);
    }

    public static void main(String[] arguments) throws Exception {
        refused(Status.IO, () -> Model.open("no such file.lith"));
        refused(Status.FORMAT, () -> Model.open(Session.newBuffer(64)));
        refused(Status.ARGUMENT, () -> Model.open(arguments[0], "mmx"));
        refused(Status.ARGUMENT, () -> Model.open(arguments[0], new ModelOptions().instructionSets("mmx")));
        refused(IllegalArgumentException.class, () -> Model.open(ByteBuffer.allocate(64)));

        float[] x = new float[48];
        for (int i = 0; i < x.length; i++) {
            x[i] = i / 48f;
        }
        Model model = Model.open(arguments[0]);
        TensorInfo input = model.inputs().get(0);
        require(input.name().equals("x") && input.type() == ElementType.F32 && input.bytes() == 192, "an input");
        require(Arrays.equals(input.shape(), new int[] {2, 24}) && input.scales().length == 0, input.toString());
        require(model.outputs().get(0).name().equals("scores") && model.metadata("no such key") == null, "a model");
        require(!Model.version().isEmpty(), "the version");
        require(model.inputIndex("x") == 0 && model.outputIndex("scores") == 0, "names");
        require(model.inputIndex("scores") == -1 && model.outputIndex("") == -1, "unknown names");
        refused(Status.ARGUMENT, () -> model.newSession(-1));
        refused(Status.ARGUMENT, () -> model.newSession(new SessionOptions().threads(2).cores(0, 100000)));

        Session session = model.newSession(2);
        model.close(); // sessions keep it open
        refused(IllegalStateException.class, () -> model.newSession(1));
        session.setInput(0, x);
        session.run();
        float[] scores = session.floats(0);
        for (float score : scores) {
            System.out.println(score);
        }

        refused(Status.ARGUMENT, () -> session.setInput(0, new float[47]));
        refused(Status.ARGUMENT, () -> session.setInput(1, Session.newBuffer(192)));
        refused(Status.ARGUMENT, () -> session.inputInfo(-1));
        refused(Status.SHAPE, () -> session.resize(new int[] {2, 25}));
        refused(Status.SHAPE, () -> session.resize(new int[9]));
        refused(Status.ARGUMENT, () -> session.resize());
        refused(IllegalArgumentException.class, () -> session.setInput(0, new byte[192]));
        refused(IllegalArgumentException.class, () -> session.bindInput(0, ByteBuffer.allocate(192)));
        refused(IllegalArgumentException.class, () -> session.bindOutput(0, Session.newBuffer(40).asReadOnlyBuffer()));

        // In place, from buffers that nothing else holds.
        ByteBuffer place = Session.newBuffer(192);
        place.asFloatBuffer().put(x);
        ByteBuffer result = Session.newBuffer(40);
        session.bindInput(0, place);
        session.bindOutput(0, result);
        place = null;
        for (int i = 0; i < 20; i++) {
            System.gc();
            session.run();
        }
        float[] again = new float[10];
        result.asFloatBuffer().get(again);
        require(Arrays.equals(scores, again), "bound buffers");
        session.bindInput(0, null);
        session.bindOutput(0, null);

        List<Layer> layers = session.profile();
        require(!layers.isEmpty() && layers.get(0).op().equals("dense") && layers.get(0).macs() > 0, "layers");
        require(layers.get(0).nanoseconds() > 0 && layers.get(0).kernel().startsWith("nnacl_"), layers.toString());

        session.cancel();
        refused(Status.CANCELLED, session::run);
        session.cancel();
        refused(Status.CANCELLED, session::profile);
        session.setInput(0, ByteBuffer.wrap(bytesOf(x)));
        session.reset();
        session.run();
        require(Arrays.equals(scores, session.floats(0)), "a run after a cancelled one");
        session.close();
        session.close();
        refused(IllegalStateException.class, session::run);
        refused(IllegalStateException.class, session::cancel);

        weights(arguments[0], x, scores);
        try (FileChannel file = FileChannel.open(Path.of(arguments[0]))) {
            ByteBuffer mapped = file.map(FileChannel.MapMode.READ_ONLY, 0, file.size());
            try (Model same = Model.open(mapped);
                    Session other = same.newSession(1)) {
                other.setInput(0, x);
                other.run();
                require(Arrays.equals(scores, other.floats(0)), "a model in memory");
            }
        }
    }

    /** Models that share packed weights, whose cache is closed before them. */
    private static void weights(String path, float[] x, float[] scores) {
        WeightsCache cache = new WeightsCache();
        ModelOptions options = new ModelOptions().weightsCache(cache);
        try (Model first = Model.open(path, options);
                Model second = Model.open(path, options)) {
            require(cache.bytes() > 0 && cache.savedBytes() == cache.bytes() && cache.count() > 0, "shared weights");
            cache.close();
            cache.close();
            refused(IllegalStateException.class, cache::bytes);
            refused(IllegalStateException.class, () -> Model.open(path, options));
            for (Model model : new Model[] {first, second}) {
                try (Session session = model.newSession(new SessionOptions().keepInputs(false).threads(2).cores(0))) {
                    session.setInput(0, x);
                    session.run();
                    require(Arrays.equals(scores, session.floats(0)), "a model with shared weights");
                }
            }
        }
    }

    private static byte[] bytesOf(float[] values) {
        ByteBuffer buffer = Session.newBuffer(4L * values.length);
        buffer.asFloatBuffer().put(values);
        byte[] result = new byte[buffer.capacity()];
        buffer.get(result);
        return result;
    }
}
