mod unknown {
    #[ropewalk::main(thread = 4)]
    async fn main() {}
}
mod twice {
    #[ropewalk::main(threads = 4, threads = 4)]
    async fn main() {}
}
mod without_a_value {
    #[ropewalk::main(seed, single)]
    async fn main() {}
}
mod not_a_number {
    #[ropewalk::main(threads = "four")]
    async fn main() {}
}
mod too_many {
    #[ropewalk::main(threads = 70_000)]
    async fn main() {}
}
mod with_a_value {
    #[ropewalk::main(single = true)]
    async fn main() {}
}
mod both {
    #[ropewalk::main(threads = 4, single)]
    async fn main() {}
}
mod paused {
    #[ropewalk::main(paused, threads = 2)]
    async fn main() {}
}
mod not_a_path {
    #[ropewalk::main(crate = "ropewalk")]
    async fn main() {}
}

#[ropewalk::main(paused = 1, nonsense, crate)]
async fn main() {}
