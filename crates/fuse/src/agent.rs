//! Defines [`Agent`], a process that unmounts for a server that can't do it itself any more.

use std::{
    io::{self, Read, Write},
    process::{Child, ChildStdin, ChildStdout},
    sync::{Mutex, PoisonError},
};

/// Unmount it if it is not in use.
pub(crate) const UNMOUNT: u8 = b'u';
/// Detach it.
pub(crate) const DETACH: u8 = b'd';
/// It is unmounted.
pub(crate) const DONE: u8 = b'0';
/// It is not unmounted.
pub(crate) const FAILED: u8 = b'1';

/// A process in which [`watch`](crate::watch) runs: it unmounts on request, and when the server has ended.
#[derive(Debug)]
pub struct Agent(Mutex<(ChildStdin, ChildStdout)>);

impl Agent {
    /// The agent in a process whose standard input and output are pipes; `None` if one isn't.
    pub fn new(process: &mut Child) -> Option<Self> {
        let pipes = process.stdin.take().zip(process.stdout.take());
        pipes.map(|pipes| Self(Mutex::new(pipes)))
    }

    /// Requests one of the above, and waits until it is done.
    pub(crate) fn ask(&self, what: u8) -> io::Result<()> {
        let mut pipes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (to, from) = &mut *pipes;
        to.write_all(&[what])?;
        let mut answer = [0];
        from.read_exact(&mut answer)?;
        match answer {
            [DONE] => Ok(()),
            _ => Err(io::ErrorKind::ResourceBusy.into()),
        }
    }
}
