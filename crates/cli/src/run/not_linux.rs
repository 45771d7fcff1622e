//! Refuses the verbs that need Linux.

use crate::{
    args::{MessageArgs, OnLinux},
    exit::Outcome,
};

pub(crate) fn run(verb: OnLinux, _messages: MessageArgs) -> anyhow::Result<Outcome> {
    let what = match verb {
        OnLinux::Mount(_) | OnLinux::Umount(_) => "mounting",
        OnLinux::Record(_) => "recording",
    };
    anyhow::bail!("{what} needs Linux; `lith extract` and `lith tar` work on this system, too")
}
