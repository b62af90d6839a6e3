//! Linux: affinity, nice and class belong to each thread.

use super::{CORES, Class, NICE, REAL_TIME, SettingError, show_cores};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeSet;

/// The right that lifts every limit below.
const SYS_NICE: &str = "CAP_SYS_NICE";

pub(super) fn set_affinity(cores: &BTreeSet<usize>) -> Result<(), SettingError> {
    let mut asked = CpuSet::new();
    cores.iter().for_each(|core| asked.set(*core));
    // The kernel leaves out the cores that it does not give: that is not what was asked for.
    if sched_setaffinity(None, &asked).is_ok() && own_cores() == *cores {
        return Ok(());
    }
    let accepted = format!("some of {}, which this process may use", show_cores(&usable_cores()));
    Err(SettingError::out_of_range("affinity", show_cores(cores), accepted))
}

fn own_cores() -> BTreeSet<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CORES).filter(|core| set.is_set(*core)).collect()
}

/// All that the process could have. Spoils the calling thread's own set, which is about to end.
fn usable_cores() -> BTreeSet<usize> {
    let mut all = CpuSet::new();
    (0..CORES).for_each(|core| all.set(core));
    let _refused = sched_setaffinity(None, &all);
    own_cores()
}

pub(super) fn set_nice(nice: i32) -> Result<(), SettingError> {
    // `None` is the calling thread; its process keeps its own.
    setpriority_process(None, nice).map_err(|_| {
        // RLIMIT_NICE counts from 1 (nice 19) to 40 (nice -20).
        let limit = getrlimit(Resource::Nice).current.unwrap_or(40).min(40) as i32;
        let least = (20 - limit).max(*NICE.start());
        let accepted = match least > *NICE.end() {
            true => format!("what it has already, or more, up to {} (RLIMIT_NICE is {limit})", NICE.end()),
            false => format!("{least} to {} (RLIMIT_NICE is {limit})", NICE.end()),
        };
        SettingError::not_allowed("nice", nice.to_string(), accepted, SYS_NICE)
    })
}

pub(crate) fn set_class(class: Class) -> Result<(), SettingError> {
    let (policy, priority) = match class {
        Class::Normal => (libc::SCHED_OTHER, 0),
        Class::Fifo(priority) => (libc::SCHED_FIFO, priority),
        Class::RoundRobin(priority) => (libc::SCHED_RR, priority),
        Class::Batch => (libc::SCHED_BATCH, 0),
        Class::Idle => (libc::SCHED_IDLE, 0),
    };
    let parameters = libc::sched_param { sched_priority: priority.into() };
    // SAFETY: the call reads one `sched_param`; 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, policy, &parameters) } == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    let asked = format!("{class:?}");
    if error.raw_os_error() != Some(Errno::PERM.raw_os_error()) {
        let accepted = format!("what the kernel takes ({error})");
        return Err(SettingError::out_of_range("class", asked, accepted));
    }
    let limit = getrlimit(Resource::Rtprio).current.unwrap_or(u64::from(*REAL_TIME.end()));
    let accepted = match limit {
        0 => "Normal, Batch, Idle (RLIMIT_RTPRIO is 0)".to_owned(),
        most => format!("Normal, Batch, Idle, Fifo and RoundRobin up to {most} (RLIMIT_RTPRIO)"),
    };
    Err(SettingError::not_allowed("class", asked, accepted, SYS_NICE))
}
