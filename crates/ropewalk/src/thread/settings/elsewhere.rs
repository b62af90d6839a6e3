//! Systems where a thread's cores and class cannot be set this way: every request is an error.

use super::{Class, SettingError, show_cores};
use std::collections::BTreeSet;
use std::io::ErrorKind;

pub(super) fn set_affinity(cores: &BTreeSet<usize>) -> Result<(), SettingError> {
    refuse("affinity", show_cores(cores))
}

pub(super) fn set_nice(nice: i32) -> Result<(), SettingError> {
    refuse("nice", nice.to_string())
}

pub(crate) fn set_class(class: Class) -> Result<(), SettingError> {
    refuse("class", format!("{class:?}"))
}

fn refuse(setting: &'static str, asked: String) -> Result<(), SettingError> {
    let accepted = "no value on this system".to_owned();
    Err(SettingError { setting, asked, accepted, missing: None, kind: ErrorKind::Unsupported })
}
