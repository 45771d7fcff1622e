//! Executes the verbs that need Linux.

use super::{mount, record, umount};
use crate::{
    args::{MessageArgs, OnLinux},
    exit::Outcome,
};

pub(crate) fn run(verb: OnLinux, messages: MessageArgs) -> anyhow::Result<Outcome> {
    match verb {
        OnLinux::Mount(mut request) => {
            (request.quiet, request.verbose) = (messages.quiet, messages.verbose);
            mount::run(&request)
        }
        OnLinux::Umount(request) => umount::run(&request),
        OnLinux::Record(request) => record::run(&request, messages),
    }
}
