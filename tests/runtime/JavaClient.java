// A client of org.microlith: java JavaClient MODEL, an MLP with an input x [2, 24] and an output scores [2, 5].

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Arrays;
import org.microlith.ElementType;
import org.microlith.MicrolithException;
import org.microlith.MicrolithException.Status;
import org.microlith.Model;
import org.microlith.Session;
import org.microlith.TensorInfo;

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
        refused(Status.ARGUMENT, () -> model.newSession(-1));

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

        session.cancel();
        refused(Status.CANCELLED, session::run);
        session.setInput(0, ByteBuffer.wrap(bytesOf(x)));
        session.reset();
        session.run();
        require(Arrays.equals(scores, session.floats(0)), "a run after a cancelled one");
        session.close();
        session.close();
        refused(IllegalStateException.class, session::run);
        refused(IllegalStateException.class, session::cancel);

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

    private static byte[] bytesOf(float[] values) {
        ByteBuffer buffer = Session.newBuffer(4L * values.length);
        buffer.asFloatBuffer().put(values);
        byte[] result = new byte[buffer.capacity()];
        buffer.get(result);
        return result;
    }
}
