// The measuring loop of meter.rs for the Java programs: the same batches, the same medians, the same line of JSON, but for the
// context switches, which Java cannot tell. What is measured runs often enough beforehand to be compiled.

import com.sun.management.OperatingSystemMXBean;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongConsumer;

/** What the program was asked to measure. */
final class Measure {
    private static final int MIN_BATCHES = 3;
    private static final long START_OPS = 2_000;
    private static final MethodHandle START = startVirtualThread();

    private final boolean quick;

    /** Reads the arguments PROBLEM WORKERS full|quick. The workers are for the harness, which makes properties of them. */
    Measure(String[] args) {
        if (args.length != 3) {
            System.err.println("usage: PROBLEM WORKERS full|quick");
            System.exit(2);
        }
        quick = args[2].equals("quick");
    }

    /** `full` or, in a quick run, `quick`. */
    long pick(long full, long quick) {
        return this.quick ? quick : full;
    }

    private long measuringTime() {
        return pick(400, 40) * 1_000_000;
    }

    /** Measures `batch`, which runs as many operations as it is told to their end, in a virtual thread. */
    Sample measure(LongConsumer batch) {
        warm(() -> timed(batch, START_OPS));
        long ops = START_OPS;
        while (timed(batch, ops) < measuringTime() / 10) {
            ops *= 2;
        }
        for (long start = System.nanoTime(); System.nanoTime() - start < measuringTime() / 4; ) {
            timed(batch, ops);
        }
        List<Long> times = new ArrayList<>();
        long total = 0;
        long cpu = cpuTime();
        while (total < measuringTime() || times.size() < MIN_BATCHES) {
            long took = timed(batch, ops);
            total += took;
            times.add(took);
        }
        cpu = cpuTime() - cpu;
        long all = ops * times.size();
        Map<String, Double> extra = Map.of("mean_ns_per_op", (double) total / all);
        return new Sample(median(times) / ops, "ns", (double) cpu / all, all, total / 1e9, extra);
    }

    /** Runs `body` again and again, until it is compiled. */
    void warm(Runnable body) {
        for (long start = System.nanoTime(); System.nanoTime() - start < measuringTime() * 5; ) {
            body.run();
        }
    }

    private static long timed(LongConsumer batch, long ops) {
        long start = System.nanoTime();
        inside(() -> batch.accept(ops));
        return System.nanoTime() - start;
    }

    private static double median(List<Long> times) {
        times.sort(null);
        int n = times.size();
        return (times.get((n - 1) / 2) + times.get(n / 2)) / 2.0;
    }

    /** The CPU time of all threads in nanoseconds. */
    private static long cpuTime() {
        return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime();
    }

    /** Runs `body` in a virtual thread, while this one waits. */
    static void inside(Runnable body) {
        join(start(body));
    }

    /** Thread.startVirtualThread, for compilers that do not know it. A constant handle costs nothing once compiled. */
    static Thread start(Runnable body) {
        try {
            return (Thread) START.invokeExact(body);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static MethodHandle startVirtualThread() {
        try {
            MethodType type = MethodType.methodType(Thread.class, Runnable.class);
            return MethodHandles.lookup().findStatic(Thread.class, "startVirtualThread", type);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError("virtual threads need Java 21", e);
        }
    }
}

/** One measurement. */
record Sample(double value, String unit, Double cpu, long ops, double seconds, Map<String, Double> extra) {
    /** Prints the line that the driver reads. */
    void print() {
        List<String> fields = new ArrayList<>();
        extra.forEach((name, figure) -> fields.add(String.format(Locale.ROOT, "\"%s\":%f", name, figure)));
        String cpuField = cpu == null ? "" : String.format(Locale.ROOT, "\"cpu_ns_per_op\":%f,", cpu);
        System.out.printf(
                Locale.ROOT,
                "{\"value\":%f,\"unit\":\"%s\",%s\"ops\":%d,\"seconds\":%f,\"extra\":{%s}}%n",
                value, unit, cpuField, ops, seconds, String.join(",", fields));
    }
}
