//! `mutate`: proves that the model tests can fail.
//!
//! A model test that passes says little unless it would fail for the bug it is meant to find. So each names mutations of
//! the code that ships ([`crate::mutation`]), and this command
//!
//! 1. copies the workspace (never touching the original),
//! 2. runs every named test unchanged and demands that it passes,
//! 3. applies one mutation at a time and demands that the test *fails*: by an assertion, by a complaint of loom, or by a
//!    crash. A mutation that does not apply or does not compile is an error of the mutation, not a detection; a test
//!    that hangs without having panicked has not noticed anything.
//!
//! Those that are known to be detected ([`crate::known`]) are left out, but for some.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::cargo::{Bench, full_name};
use crate::known::{Known, fingerprint, turn};
use crate::mutation::{self, Found, Mutation};
use crate::verdict::{Exit, Verdict, judge};
use crate::{source, tree};

/// The command line.
#[derive(Debug)]
pub struct Options {
    list: bool,
    only: Option<String>,
    limit: Duration,
    preemptions: u32,
    jobs: usize,
    root: PathBuf,
    work: PathBuf,
    /// The file of those that are known to be detected; without one, all are tried.
    known: Option<PathBuf>,
    /// How many of those are tried again, and what the choice depends on.
    again: usize,
    seed: String,
}

impl Options {
    /// Reads the arguments behind `mutate`.
    pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        // The bound of `ci/loom`: the question is whether that very run would have noticed.
        let preemptions =
            std::env::var("LOOM_MAX_PREEMPTIONS").ok().and_then(|v| v.parse().ok()).unwrap_or(2);
        let jobs = thread::available_parallelism().map_or(1, usize::from).min(2);
        let (list, only, limit) = (false, None, Duration::from_secs(120));
        let (root, work) = (".".into(), "target/mutate".into());
        let (known, again, seed) = (None, 24, String::new());
        let mut options = Self { list, only, limit, preemptions, jobs, root, work, known, again, seed };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--list" => options.list = true,
                "--only" => options.only = Some(value()?),
                "--limit" => options.limit = Duration::from_secs(number(&value()?)?),
                "--preemptions" => options.preemptions = number(&value()?)?,
                "--jobs" => options.jobs = number::<usize>(&value()?)?.max(1),
                "--root" => options.root = value()?.into(),
                "--work" => options.work = value()?.into(),
                "--known" => options.known = Some(value()?.into()),
                "--again" => options.again = number(&value()?)?,
                "--seed" => options.seed = value()?,
                "--all" => options.again = usize::MAX,
                _ => return Err(format!("mutate: unknown option {arg}\n{}", crate::USAGE)),
            }
        }
        Ok(options)
    }

    fn bench(&self, job: usize) -> Result<Bench, String> {
        let work = absolute(&self.work)?;
        let (workspace, target) = (work.join(format!("ws{job}")), work.join(format!("target{job}")));
        tree::mirror(&self.root, &workspace).map_err(|e| format!("copying the workspace: {e}"))?;
        Ok(Bench { workspace, target, preemptions: self.preemptions })
    }

    /// The mutations to try, and those that are known to be detected.
    fn what_to_try(&self, all: Vec<Mutation>) -> Result<(Vec<Mutation>, Vec<Mutation>), String> {
        let Some(path) = self.record() else { return Ok((all, Vec::new())) };
        let (known, mut to_try, mut proven) = (Known::read(path)?, Vec::new(), Vec::new());
        for mutation in all {
            let print = fingerprint(&self.root, &mutation, self.preemptions)?;
            if known.has(&mutation, print) { proven.push((print, mutation)) } else { to_try.push(mutation) }
        }
        proven.sort_by_key(|(print, _)| turn(&self.seed, *print));
        let again = self.again.min(proven.len());
        to_try.extend(proven.drain(..again).map(|(_, mutation)| mutation));
        println!("{} known to be detected; {again} of the known are tried again", proven.len() + again);
        Ok((to_try, proven.into_iter().map(|(_, mutation)| mutation).collect()))
    }

    /// Who asks for some mutations wants to see them tried, and learns nothing of the others.
    fn record(&self) -> Option<&PathBuf> {
        self.known.as_ref().filter(|_| self.only.is_none())
    }

    /// Writes down what is known to be detected now.
    fn remember(&self, detected: &[Mutation]) -> Result<(), String> {
        let Some(path) = self.record() else { return Ok(()) };
        let mut known = Known::default();
        for mutation in detected {
            known.add(mutation, fingerprint(&self.root, mutation, self.preemptions)?);
        }
        known.write(path)
    }

    fn chosen(&self, mutation: &Mutation) -> bool {
        let file = mutation.test_file.to_string_lossy();
        self.only.as_ref().is_none_or(|pattern| mutation.id().contains(pattern) || file.contains(pattern))
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Runs the command; the error is what to print at the end.
pub fn run(options: &Options) -> Result<(), String> {
    let found = scan(&options.root)?;
    if !found.errors.is_empty() {
        return Err(format!("{}\n{} errors: nothing was tried", found.errors.join("\n"), found.errors.len()));
    }
    let mutations: Vec<Mutation> = found.mutations.into_iter().filter(|m| options.chosen(m)).collect();
    if options.list {
        list(&mutations);
        return Ok(());
    }
    if mutations.is_empty() {
        return Err("no mutation was found: nothing was proven".to_string());
    }
    let (to_try, mut known) = options.what_to_try(mutations)?;
    let left_out = known.len();
    let first = options.bench(0)?;
    let plan = Plan::new(&first, &options.root, to_try)?;
    plan.baseline(&first, options.limit)?;
    let results = plan.mutate_all(options, first)?;
    let tried = plan.steps.iter().zip(&results);
    known.extend(
        tried.filter(|(_, (outcome, _))| outcome.is_detection()).map(|(step, _)| step.mutation.clone()),
    );
    options.remember(&known)?;
    report(&plan, &results, left_out)
}

/// What all source files of the repository say.
fn scan(root: &Path) -> Result<Found, String> {
    let mut all = Found::default();
    for path in tree::files(root).map_err(|e| format!("{}: {e}", root.display()))? {
        if path.extension().is_some_and(|ext| ext == "rs") {
            let text =
                fs::read_to_string(root.join(&path)).map_err(|e| format!("{}: {e}", path.display()))?;
            let mut found = mutation::parse(&path, &text);
            found.mutations.iter().filter_map(|m| checked(root, m).err()).for_each(|e| found.errors.push(e));
            all.mutations.append(&mut found.mutations);
            all.errors.append(&mut found.errors);
        }
    }
    Ok(all)
}

/// The mutated file, or why the mutation does not apply.
fn checked(root: &Path, mutation: &Mutation) -> Result<String, String> {
    let says = |why: String| format!("{}: mutation `{}`: {why}", mutation.place(), mutation.name);
    let of_tests = mutation.file.iter().any(|part| part == "tests" || part == "tests.rs");
    if of_tests {
        return Err(says(format!("{} is a test, not what ships", mutation.file.display())));
    }
    let text = fs::read_to_string(root.join(&mutation.file))
        .map_err(|e| says(format!("{}: {e}", mutation.file.display())))?;
    source::replace_once(&text, &mutation.from, &mutation.to)
        .map_err(|why| says(format!("in {}: {why}", mutation.file.display())))
}

fn list(mutations: &[Mutation]) {
    for m in mutations {
        println!("{}\n    {}\n    in {}: `{}` -> `{}`", m.id(), m.place(), m.file.display(), m.from, m.to);
    }
    println!("{} mutations", mutations.len());
}

/// The mutations with the package and the full name of the test of each.
struct Plan {
    steps: Vec<Step>,
}

struct Step {
    mutation: Mutation,
    package: String,
    test: String,
}

/// What became of one mutation.
#[derive(Clone, Debug)]
enum Outcome {
    Detected(String),
    Missed(String),
    Broken(String),
}

impl Outcome {
    fn is_detection(&self) -> bool {
        matches!(self, Self::Detected(_))
    }
}

impl Plan {
    fn new(bench: &Bench, root: &Path, mutations: Vec<Mutation>) -> Result<Self, String> {
        let mut tests: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut steps = Vec::new();
        for mutation in mutations {
            let (package, dir) = tree::package_of(root, &mutation.test_file)?;
            if !tests.contains_key(&package) {
                println!("building the models of {package}");
                let built = bench.build(&package).map_err(|e| format!("{package}, unchanged: {e}"))?;
                tests.insert(package.clone(), bench.tests(&built.executable)?);
            }
            let file = mutation.test_file.strip_prefix(&dir).unwrap_or(&mutation.test_file);
            let test = full_name(&tests[&package], file, &mutation.test)
                .map_err(|why| format!("{}: {why}", mutation.place()))?;
            steps.push(Step { mutation, package, test });
        }
        Ok(Self { steps })
    }

    /// Every named test passes while nothing is changed.
    fn baseline(&self, bench: &Bench, limit: Duration) -> Result<(), String> {
        let mut by_package: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for step in &self.steps {
            let names = by_package.entry(&step.package).or_default();
            if !names.contains(&step.test.as_str()) {
                names.push(&step.test);
            }
        }
        for (package, names) in by_package {
            let start = Instant::now();
            let executable = bench.build(package)?.executable;
            let (exit, output) = bench.run(&executable, &names, limit * names.len() as u32)?;
            let passed = crate::verdict::passed(&output);
            if exit != Exit::Code(0) || passed != names.len() {
                let tests = names.len();
                return Err(format!(
                    "{output}\n{package}, unchanged: {passed} of {tests} tests passed ({exit:?})"
                ));
            }
            println!("{package}, unchanged: {passed} tests pass in {:.1} s", start.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// Applies the mutations, several at a time in copies of their own. The results are in the order of the steps.
    fn mutate_all(&self, options: &Options, first: Bench) -> Result<Vec<(Outcome, Duration)>, String> {
        let mut benches = vec![first];
        for job in 1..options.jobs.min(self.steps.len()) {
            benches.push(options.bench(job)?);
        }
        let next = AtomicUsize::new(0);
        let results = Mutex::new(vec![None; self.steps.len()]);
        thread::scope(|scope| {
            for bench in &benches {
                scope.spawn(|| {
                    while let Some((at, step)) = self.take(&next) {
                        let (outcome, time) = step.perform(bench, options.limit);
                        if !outcome.is_detection() || options.only.is_some() || (at + 1) % 25 == 0 {
                            println!("[{}/{}] {}", at + 1, self.steps.len(), step.line(&outcome, time));
                        }
                        results.lock().expect("no panic under the lock")[at] = Some((outcome, time));
                    }
                });
            }
        });
        let results = results.into_inner().expect("no panic under the lock");
        Ok(results.into_iter().map(|result| result.expect("every step was performed")).collect())
    }

    fn take(&self, next: &AtomicUsize) -> Option<(usize, &Step)> {
        let at = next.fetch_add(1, Ordering::Relaxed);
        self.steps.get(at).map(|step| (at, step))
    }
}

impl Step {
    /// Applies, runs, restores. The time is that of the test alone.
    fn perform(&self, bench: &Bench, limit: Duration) -> (Outcome, Duration) {
        let file = bench.workspace.join(&self.mutation.file);
        let result = fs::read_to_string(&file).map_err(|e| e.to_string()).and_then(|original| {
            let mutated = checked(&bench.workspace, &self.mutation)?;
            fs::write(&file, mutated).map_err(|e| e.to_string())?;
            let result = self.judge(bench, limit);
            fs::write(&file, original).map_err(|e| e.to_string())?;
            result
        });
        result.unwrap_or_else(|why| (Outcome::Broken(why), Duration::ZERO))
    }

    fn judge(&self, bench: &Bench, limit: Duration) -> Result<(Outcome, Duration), String> {
        let built = bench.build(&self.package).map_err(|why| format!("does not compile: {why}"))?;
        if built.fresh {
            return Err(format!("{} is not compiled into {}", self.mutation.file.display(), self.package));
        }
        let start = Instant::now();
        let (exit, output) = bench.run(&built.executable, &[&self.test], limit)?;
        let time = start.elapsed();
        match judge(exit, &output) {
            Verdict::Failed(how) => Ok((Outcome::Detected(how), time)),
            Verdict::Passed => Ok((Outcome::Missed("the test passes".to_string()), time)),
            Verdict::Hung => Ok((Outcome::Missed("the test did not end".to_string()), time)),
            Verdict::NotRun(why) => Err(why),
        }
    }

    fn line(&self, outcome: &Outcome, time: Duration) -> String {
        let (word, detail) = match outcome {
            Outcome::Detected(how) => ("detected", how),
            Outcome::Missed(why) => ("MISSED", why),
            Outcome::Broken(why) => ("BROKEN", why),
        };
        format!("{}: {word} in {:.1} s: {detail}", self.mutation.id(), time.as_secs_f64())
    }
}

fn report(plan: &Plan, results: &[(Outcome, Duration)], left_out: usize) -> Result<(), String> {
    let (mut detected, mut missed, mut broken) = (0, 0, 0);
    for (step, (outcome, time)) in plan.steps.iter().zip(results) {
        *match outcome {
            Outcome::Detected(_) => &mut detected,
            Outcome::Missed(_) => &mut missed,
            Outcome::Broken(_) => &mut broken,
        } += 1;
        if !outcome.is_detection() {
            println!("{}\n    {}", step.line(outcome, *time), step.mutation.place());
        }
    }
    println!(
        "{} mutations: {} detected ({detected} now), {missed} missed, {broken} broken",
        results.len() + left_out,
        detected + left_out
    );
    if missed + broken == 0 {
        Ok(())
    } else {
        Err(format!("{} mutations were not detected", missed + broken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(args: &[&str]) -> Result<Options, String> {
        Options::parse(args.iter().map(|arg| arg.to_string()))
    }

    #[test]
    fn options_are_read() {
        let read = options(&["--only", "ring", "--limit", "7", "--preemptions", "3", "--jobs", "0"]).unwrap();
        assert_eq!((read.limit.as_secs(), read.preemptions, read.jobs), (7, 3, 1));
        assert_eq!(read.only.as_deref(), Some("ring"));
        assert!(options(&["--only"]).unwrap_err().contains("needs a value"));
        assert!(options(&["--speed"]).unwrap_err().contains("unknown option"));
    }

    #[test]
    fn only_chooses_by_test_name_mutation_or_file() {
        let text = "// mutation: pop-relaxed\n// - in x.rs: `a`\n// + `b`\nfn model_steal() {}\n";
        let found = mutation::parse(Path::new("crates/ropewalk/src/sched/ring.rs"), text);
        for (pattern, chosen) in
            [("pop-rel", true), ("model_steal", true), ("sched/ring", true), ("lifo", false)]
        {
            assert_eq!(
                options(&["--only", pattern]).unwrap().chosen(&found.mutations[0]),
                chosen,
                "{pattern}"
            );
        }
    }

    #[test]
    fn this_repository_lists_only_mutations_that_apply() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert_eq!(scan(&root).unwrap().errors, Vec::<String>::new());
    }
}
