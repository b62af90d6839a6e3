// mem_strand in Java: parked virtual threads, kept in a table made beforehand. Some come and go first: frames of compiled code
// are smaller. Garbage is collected before each look. The heap figure is what lives in the collected heap, where the frames of a
// parked thread are too.

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

final class Main {
    private static final int WARM = 2_000;
    private static final int WAVE = 100;

    private static final AtomicInteger STARTED = new AtomicInteger();
    private static final AtomicInteger PARKED = new AtomicInteger();
    private static Thread[] strands;
    private static volatile boolean over;

    public static void main(String[] args) {
        Measure run = new Measure(args);
        int count = (int) run.pick(100_000, 10_000);
        strands = new Thread[WARM + count];
        Measure.inside(() -> {
            run.warm(() -> {
                park(WARM);
                letGo();
            });
            park(WARM);
            Footprint before = Footprint.now();
            park(count);
            Footprint.now().since(before, count).print();
            letGo();
        });
    }

    private static void park(int count) {
        for (int i = 0; i < count / WAVE; i++) {
            int goal = PARKED.get() + WAVE;
            for (int j = 0; j < WAVE; j++) {
                Measure.start(Main::stay);
            }
            while (PARKED.get() < goal) {
                Thread.yield();
            }
        }
    }

    private static void stay() {
        strands[STARTED.getAndIncrement()] = Thread.currentThread();
        PARKED.incrementAndGet();
        while (!over) {
            LockSupport.park();
        }
    }

    private static void letGo() {
        over = true;
        for (int i = 0; i < PARKED.get(); i++) {
            LockSupport.unpark(strands[i]);
            Measure.join(strands[i]);
            strands[i] = null;
        }
        STARTED.set(0);
        PARKED.set(0);
        over = false;
    }
}

/** The process's memory at one moment. */
record Footprint(double heap, double resident) {
    static Footprint now() {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return new Footprint(runtime.totalMemory() - runtime.freeMemory(), residentBytes());
    }

    Sample since(Footprint before, long strands) {
        Map<String, Double> extra = Map.of("rss", (resident - before.resident) / strands);
        return new Sample((heap - before.heap) / strands, "B", null, strands, 0.0, extra);
    }

    /** Reads the exact sum over the mappings, as mem_task/mod.rs does. */
    private static double residentBytes() {
        try (var lines = Files.lines(Path.of("/proc/self/smaps_rollup"))) {
            String line = lines.filter(text -> text.startsWith("Rss:")).findFirst().orElseThrow();
            return Double.parseDouble(line.split("\\s+")[1]) * 1024;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
