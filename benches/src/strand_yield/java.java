// strand_yield in Java: virtual threads.

final class Main {
    private static final int STRANDS = 2;

    public static void main(String[] args) {
        new Measure(args).measure(Main::yields).print();
    }

    private static void yields(long yields) {
        Thread[] strands = new Thread[STRANDS];
        for (int i = 0; i < STRANDS; i++) {
            strands[i] = Measure.start(() -> yieldsInTurn(yields / STRANDS));
        }
        for (Thread strand : strands) {
            Measure.join(strand);
        }
    }

    private static void yieldsInTurn(long yields) {
        for (long i = 0; i < yields; i++) {
            Thread.yield();
        }
    }
}
