//! What a process may have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many descriptors as this process may have. Who needs hundreds asks for them: there are tests beside it that need some, too.
pub fn more_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let _or_it_has_to_do = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
