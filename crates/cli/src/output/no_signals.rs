//! Leaves signals as they are, on systems other than Unix: temporary files of a program that is ended stay.

pub(crate) fn remove_files_on_signals() {}

pub(crate) fn end_if_signalled() {}
