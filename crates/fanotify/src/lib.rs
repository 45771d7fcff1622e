//! How does the kernel mount a file whose bytes arrive as they are read?
//!
//! Linux 6.14 has events of fanotify(7) that precede a read (`FAN_PRE_ACCESS`): the reader waits until one is answered. With
//! them the kernel's own EROFS mounts a sparse file that is filled meanwhile ([`attach`]).
//!
//! When the last descriptor of such a group is closed, the kernel lets all readers go on, and they see the zeros of the sparse
//! file. So three kinds of processes share the work. A [`Guard`] takes the events, passes them on to a worker ([`work`]), and
//! starts another worker when that dies; what the dead one hadn't answered is passed on again. The worker fills the file, and
//! holds a descriptor of the group too: it becomes the guard when that dies.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod attach;
mod event;
mod group;
mod guard;
mod message;
mod probe;
mod waiting;
mod worker;

pub use attach::{Place, attach};
pub use event::{RANGES, RawEvent};
pub use group::Group;
pub use guard::{Ending, Guard, Start};
pub use probe::reports_metadata;
pub use worker::{Filler, Left, work};
