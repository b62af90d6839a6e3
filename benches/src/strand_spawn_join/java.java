// strand_spawn_join in Java: virtual threads.

final class Main {
    public static void main(String[] args) {
        new Measure(args).measure(Main::pairs).print();
    }

    private static void pairs(long pairs) {
        for (long i = 0; i < pairs; i++) {
            Measure.join(Measure.start(() -> {}));
        }
    }
}
