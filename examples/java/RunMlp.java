// Runs a network that sateen exported as a shared library from Java, by JNA 5:
// java -cp jna.jar -DMLP_WORKSPACE_BYTES=... -DMLP_PARAMETER_BYTES=... RunMlp.java libmlp.so
//
// The sizes of blocks are those of the header beside the library.

import com.sun.jna.Library;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import java.util.Locale;

public class RunMlp {
    public interface Network extends Library {
        int mlp_sateen_run(Pointer host, Tensor[] arguments, int count);

        Pointer mlp_sateen_parameters();

        String mlp_sateen_status_message(int status);
    }

    /** DLPack's DLTensor: a compact array in the processor's memory. */
    @Structure.FieldOrder({
        "data", "deviceType", "deviceId", "rank", "code", "bits", "lanes", "shape", "strides", "byteOffset"
    })
    public static class Tensor extends Structure implements Structure.ByReference {
        static final byte UNSIGNED = 1;
        static final byte FLOAT = 2;

        public Pointer data;
        public int deviceType = 1;
        public int deviceId;
        public int rank;
        public byte code;
        public byte bits;
        public short lanes = 1;
        public Pointer shape;
        public Pointer strides;
        public long byteOffset;

        Tensor(Pointer data, byte code, int bits, long... shape) {
            this.data = data;
            this.code = code;
            this.bits = (byte) bits;
            this.rank = shape.length;
            this.shape = new Memory(8L * shape.length);
            this.shape.write(0, shape, 0, shape.length);
        }
    }

    public static void main(String[] arguments) {
        Network network = Native.load(arguments[0], Network.class);
        long workspaceBytes = Long.getLong("MLP_WORKSPACE_BYTES");
        Memory workspace = new Memory(workspaceBytes + 64).align(64);
        Memory data = new Memory(4 * 784);
        Memory probabilities = new Memory(4 * 10);
        for (int i = 0; i < 784; i++) {
            data.setFloat(4 * i, (i % 17) / 16f);
        }

        Tensor[] tensors = {
            new Tensor(data, Tensor.FLOAT, 32, 1, 784),
            new Tensor(probabilities, Tensor.FLOAT, 32, 1, 10),
            new Tensor(network.mlp_sateen_parameters(), Tensor.UNSIGNED, 8, Long.getLong("MLP_PARAMETER_BYTES")),
            new Tensor(workspace, Tensor.UNSIGNED, 8, workspaceBytes),
        };
        int status = network.mlp_sateen_run(null, tensors, tensors.length);
        if (status != 0) {
            System.err.println("mlp: " + network.mlp_sateen_status_message(status));
            System.exit(1);
        }
        for (float value : probabilities.getFloatArray(0, 10)) {
            System.out.printf(Locale.ROOT, " %.6f", value);
        }
        System.out.println();
    }
}
